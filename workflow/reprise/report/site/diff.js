"use strict";

/* The words by which texts differ. */
reprise.diff = (() => {
  const MOST_CELLS = 4e6; // longer texts are shown without marks: a table of their words would stop the page
  const LEAST_SHARED = 0.3; // texts with less in common are different texts, not variants of one

  /** Words and what stands between them. */
  function words(text) {
    return text.match(/[\p{L}\p{N}\p{M}_'’-]+|\s+|[^\p{L}\p{N}\p{M}\s]/gu) || [];
  }

  /** Of two lists of words, which of each the other does not have in the same order; null where there are too many. */
  function differing(left, right) {
    let start = 0;
    while (start < left.length && start < right.length && left[start] === right[start]) {
      start += 1;
    }
    let end = 0;
    while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) {
      end += 1;
    }
    const [a, b] = [left, right].map((all) => all.slice(start, all.length - end));
    if ((a.length + 1) * (b.length + 1) > MOST_CELLS) {
      return null;
    }
    const [onlyA, onlyB] = walk(a, b, commonLengths(a, b));
    const placed = (all, only) => all.map((_, place) => only.has(place - start));
    return [placed(left, onlyA), placed(right, onlyB)];
  }

  /** Length of the longest common sequence from each pair of places on. */
  function commonLengths(a, b) {
    const width = b.length + 1;
    const lengths = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        const here = i * width + j;
        lengths[here] = a[i] === b[j] ? lengths[here + width + 1] + 1 : Math.max(lengths[here + width], lengths[here + 1]);
      }
    }
    return lengths;
  }

  function walk(a, b, lengths) {
    const width = b.length + 1;
    const [onlyA, onlyB] = [new Set(), new Set()];
    let [i, j] = [0, 0];
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) {
        [i, j] = [i + 1, j + 1];
      } else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
        onlyA.add(i++);
      } else {
        onlyB.add(j++);
      }
    }
    return [onlyA, onlyB];
  }

  /** Texts as lists of pieces {text, differs}: by what each differs from the first, and the first from any. */
  function pieces(texts) {
    const all = texts.map(words);
    const marks = all.map((one) => one.map(() => false));
    all.slice(1).forEach((one, place) => {
      const found = differing(all[0], one);
      if (found && alike(found)) {
        found[0].forEach((differs, word) => (marks[0][word] ||= differs));
        marks[place + 1] = found[1];
      }
    });
    return all.map((one, place) => joined(one, marks[place]));
  }

  function alike(found) {
    const shared = found.map((marks) => marks.filter((differs) => !differs).length / Math.max(1, marks.length));
    return Math.min(...shared) >= LEAST_SHARED;
  }

  /** Neighbours of one kind as one piece; the space between two marked words is marked too. */
  function joined(all, marks) {
    const found = [];
    all.forEach((text, place) => {
      const isGap = /^\s+$/.test(text);
      const differs = isGap ? Boolean(marks[place - 1] && marks[place + 1]) : marks[place];
      if (found.length && found.at(-1).differs === differs) {
        found.at(-1).text += text;
      } else {
        found.push({ text, differs });
      }
    });
    return found;
  }

  return { pieces };
})();
