"use strict";

/* Find the words in which texts differ. */
reprise.diff = (() => {
  const MAX_CELLS = 4e6; // longer texts get no marks, because the table of their words would freeze the page
  const MIN_SHARED = 0.3; // texts that share less are not variants of each other

  /** Split a text into words, spaces and punctuation. */
  function words(text) {
    return text.match(/[\p{L}\p{N}\p{M}_'’-]+|\s+|[^\p{L}\p{N}\p{M}\s]/gu) || [];
  }

  /** Return for each word of two lists whether it is outside their longest common subsequence; null for too long lists. */
  function findDifferences(left, right) {
    let start = 0; // number of equal words at the start
    while (start < left.length && start < right.length && left[start] === right[start]) {
      start += 1;
    }
    let end = 0; // number of equal words at the end
    while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) {
      end += 1;
    }
    const [a, b] = [left, right].map((list) => list.slice(start, list.length - end));
    if ((a.length + 1) * (b.length + 1) > MAX_CELLS) {
      return null;
    }
    const [onlyA, onlyB] = findUnshared(a, b, commonLengths(a, b));
    const marks = (list, unique) => list.map((_, position) => unique.has(position - start));
    return [marks(left, onlyA), marks(right, onlyB)];
  }

  /** Return, for each pair of positions, the length of the longest common subsequence of the words from there on. */
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

  /** Return the positions in each list that are outside a longest common subsequence. */
  function findUnshared(a, b, lengths) {
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

  /** Split texts into segments {text, differs}: each text is compared with all others that are variants of it. */
  function segments(texts) {
    const tokenLists = texts.map(words);
    const marks = tokenLists.map((tokens) => tokens.map(() => false));
    const pairs = tokenLists.flatMap((_, first) => tokenLists.slice(first + 1).map((__, offset) => [first, first + 1 + offset]));
    for (const pair of pairs) {
      const differences = findDifferences(...pair.map((index) => tokenLists[index]));
      if (differences && areVariants(differences)) {
        pair.forEach((index, side) => differences[side].forEach((differs, position) => (marks[index][position] ||= differs)));
      }
    }
    return tokenLists.map((tokens, index) => mergeNeighbours(tokens, marks[index]));
  }

  function areVariants(differences) {
    const shared = differences.map((marks) => marks.filter((differs) => !differs).length / Math.max(1, marks.length));
    return Math.min(...shared) >= MIN_SHARED;
  }

  /** Merge neighbouring words into segments; the space between two marked words is marked too. */
  function mergeNeighbours(tokens, marks) {
    const merged = [];
    tokens.forEach((text, position) => {
      const isGap = /^\s+$/.test(text);
      const differs = isGap ? Boolean(marks[position - 1] && marks[position + 1]) : marks[position];
      if (merged.length && merged.at(-1).differs === differs) {
        merged.at(-1).text += text;
      } else {
        merged.push({ text, differs });
      }
    });
    return merged;
  }

  return { segments };
})();
