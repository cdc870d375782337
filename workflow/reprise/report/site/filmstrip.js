"use strict";

/* Save what the models saw and answered as a picture, for a talk or a paper. */
reprise.filmstrip = (() => {
  const { make } = reprise.dom;
  const SCALE = 2; // pixels of the PNG per unit of the SVG
  const [PICTURE_HEIGHT, JPEG_QUALITY] = [144, 0.85];

  /** Create the buttons that save the section with the open item's frames, or a note why a page on disk cannot save them. */
  function buttons(view, loaded, getSection) {
    const plans = loaded.frames.filter((plan) => plan && plan.times.length);
    if (!plans.length || !loaded.clip.media) {
      return null;
    }
    if (location.protocol === "file:" && !plans.every((plan) => hasPictures(view, loaded, plan))) {
      return make("span", { class: "note" }, "Saving these frames as a picture needs a web server (",
        make("code", {}, "python -m http.server"), ").");
    }
    const button = (kind) => make("button", { type: "button", click: ({ currentTarget }) => save(kind, view, loaded, getSection()).catch(({ message }) => (currentTarget.textContent = message)) }, `Save as ${kind.toUpperCase()}`);
    return make("span", { class: "buttons" }, button("png"), button("svg"));
  }

  /** Return whether the report contains pictures of a plan's frames. */
  function hasPictures({ benchmark }, { clipIndex }, { planned, times, otherClip }) {
    return benchmark.strips.includes(clipIndex) && !otherClip && times.every((time) => planned.includes(time));
  }

  async function save(kind, view, loaded, section) {
    const { benchmark, index, item } = view;
    const texts = [...section.querySelectorAll(":scope > .texts dt")].map((term) => ({ name: term.textContent, segments: segmentsOf(term.nextElementSibling) }));
    const strips = [];
    let titles = [];
    for (const element of section.children) { // the verdicts on the runs of a sampling precede its frames
      if (element.matches(".why")) {
        titles.push(element.firstElementChild.textContent);
      } else if (element.plan) {
        const { times, planned, otherClip } = element.plan;
        const numbers = times.map((time, position) => (otherClip ? position : planned.indexOf(time)) + 1);
        strips.push({ titles, numbers, count: otherClip ? times.length : planned.length, pictures: await loadPictures(view, loaded, element.plan) });
        titles = [];
      }
    }
    const svg = reprise.filmstripSvg.draw({ title: `${benchmark.title}: ${index.id[item]}`, texts, strips });
    const name = `${benchmark.name}.${index.id[item].replace(/[^\p{L}\p{N}._-]+/gu, "-")}.${kind}`;
    download(name, kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await rasterize(svg));
  }

  function segmentsOf(element) {
    return [...element.childNodes].map((node) => ({ text: node.textContent, differs: node.nodeName === "MARK" }));
  }

  /** Return the frames of a plan as data URIs of JPEGs, with their size. */
  async function loadPictures(view, loaded, plan) {
    return hasPictures(view, loaded, plan) ? cutStrip(view, loaded, plan) : capture(plan, (plan.otherClip || loaded.clip).media);
  }

  /** Cut the pictures of frames from the strip that the report contains. */
  async function cutStrip({ benchmark }, { clipIndex }, { times, planned }) {
    const { picture, width, height } = await reprise.load(`${benchmark.name}/strips/${clipIndex}`);
    const image = await loadImage(picture);
    const addresses = times.map((time) => {
      const canvas = make("canvas", { width, height });
      canvas.getContext("2d").drawImage(image, planned.indexOf(time) * width, 0, width, height, 0, 0, width, height);
      return canvas.toDataURL("image/jpeg", JPEG_QUALITY);
    });
    return { addresses, width, height };
  }

  /** Draw the frames of a clip, which a page on disk may not read. */
  async function capture({ times }, source) {
    const video = await reprise.frames.loadVideo(source);
    const addresses = [];
    for (const time of times) {
      const canvas = make("canvas", { height: PICTURE_HEIGHT });
      await reprise.frames.drawFrame(video, time, canvas);
      addresses.push(canvas.toDataURL("image/jpeg", JPEG_QUALITY));
    }
    return { addresses, width: video.videoWidth, height: video.videoHeight };
  }

  async function loadImage(address) {
    const image = new Image();
    image.src = address;
    await image.decode();
    return image;
  }

  async function rasterize(svg) {
    const image = await loadImage(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`);
    const canvas = make("canvas", { width: image.width * SCALE, height: image.height * SCALE });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  function download(name, blob) {
    const address = URL.createObjectURL(blob);
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  return { buttons };
})();
