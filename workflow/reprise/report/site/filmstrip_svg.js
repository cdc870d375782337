"use strict";

/* Draw a filmstrip as an SVG: texts with marked differences, and for each sampling the answers above the frames. */
reprise.filmstripSvg = (() => {
  const [WIDTH, MARGIN, GAP] = [1280, 24, 6];
  const [FONT_SIZE, LINE, NAME_WIDTH] = [17, 26, 110];
  const FONT = "Arial, Helvetica, sans-serif";
  const MIN_COLUMNS = 8; // fewer frames do not fill the width, which would make them very high
  const [INK, MARK, LIGHT, DARK] = ["#1c1e21", "#ffe38a", [217, 221, 227], [11, 87, 164]];
  const context = document.createElement("canvas").getContext("2d");

  /** Return the SVG of a title, texts {name, segments} and strips {titles, numbers, count, pictures}. */
  function draw({ title, texts, strips }) {
    const parts = [];
    let y = MARGIN + FONT_SIZE;
    const write = (segments, x) => {
      const { elements, height } = paragraph(segments, x, y);
      parts.push(...elements);
      y += height;
    };
    write([{ text: title, isBold: true }], MARGIN);
    for (const { name, segments } of texts) {
      parts.push(text(name, MARGIN, y, {}));
      write(segments, MARGIN + NAME_WIDTH);
    }
    for (const { titles, ...strip } of strips) {
      y += LINE / 3;
      titles.forEach((line) => write([{ text: line }], MARGIN));
      const { elements, height } = grid(strip, y - FONT_SIZE);
      parts.push(...elements);
      y += height + LINE / 2;
    }
    const height = Math.ceil(y - FONT_SIZE + MARGIN / 2);
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="${FONT}" font-size="${FONT_SIZE}" fill="${INK}">`
      + `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>${parts.join("")}</svg>`;
  }

  /** Wrap segments {text, differs, isBold} into lines; those that differ get a mark behind them. */
  function paragraph(segments, left, top) {
    const elements = [];
    let [x, y] = [left, top];
    for (const { text: content, differs, isBold } of segments) {
      for (const word of content.match(/\s+|\S+/g) || []) {
        const width = measure(word, isBold || differs);
        const isGap = !word.trim();
        if (x + width > WIDTH - MARGIN && !isGap) {
          [x, y] = [left, y + LINE];
        }
        if (differs && !(isGap && x === left)) {
          elements.push(`<rect x="${round(x)}" y="${round(y - FONT_SIZE + 1)}" width="${round(width)}" height="${FONT_SIZE + 4}" fill="${MARK}"/>`);
        }
        if (!isGap) {
          elements.push(text(word, x, y, { isBold: isBold || differs }));
        }
        x += width;
      }
    }
    return { elements, height: y - top + LINE };
  }

  /** Place the frames on lines of equal length, each with its number in the planned order and a bar that darkens with it. */
  function grid({ numbers, count, pictures }, top) {
    const columns = Math.max(MIN_COLUMNS, reprise.frames.columnCount(numbers.length));
    const width = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns;
    const height = (width * pictures.height) / pictures.width;
    const elements = pictures.addresses.flatMap((address, position) => {
      const x = MARGIN + (position % columns) * (width + GAP);
      const y = top + Math.floor(position / columns) * (height + 6 + GAP);
      const label = String(numbers[position]);
      return [
        `<image x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" href="${address}"/>`,
        `<rect x="${round(x)}" y="${round(y + height)}" width="${round(width)}" height="6" fill="${shade(numbers[position] / count)}"/>`,
        `<rect x="${round(x)}" y="${round(y + height - 22)}" width="${round(measure(label, true) + 12)}" height="22" fill="#ffffff"/>`,
        text(label, x + 6, y + height - 5, { isBold: true }),
      ];
    });
    return { elements, height: Math.ceil(numbers.length / columns) * (height + 6 + GAP) + FONT_SIZE };
  }

  function shade(share) {
    return `rgb(${LIGHT.map((light, channel) => Math.round(light + (DARK[channel] - light) * share)).join(",")})`;
  }

  function measure(content, isBold) {
    context.font = `${isBold ? "bold " : ""}${FONT_SIZE}px ${FONT}`;
    return context.measureText(content).width;
  }

  function text(content, x, y, { isBold }) {
    return `<text x="${round(x)}" y="${round(y)}"${isBold ? ' font-weight="bold"' : ""}>${escape(content)}</text>`;
  }

  /** Escape markup, and drop characters that XML does not allow. */
  function escape(content) {
    const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
    return content.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "").replace(/[&<>]/g, (sign) => ENTITIES[sign]);
  }

  function round(number) {
    return Math.round(10 * number) / 10;
  }

  return { draw };
})();
