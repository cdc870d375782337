"use strict";

/* The pairs or videos that a metric counts: each is right if all of its items are. */
reprise.samples = (() => {
  const NOUNS = { clip_id: "video", pair: "pair" };
  const COLUMNS = { clip_id: "clip", pair: "pair" }; // column of the items -> list of the index

  /** Return the samples of a run's metric among items, or null if the metric counts single items. */
  function find(view, columns, items) {
    const { index, state, metric } = view;
    if (!columns || !reprise.outcome.countsSamples(columns, metric)) {
      return null;
    }
    const sampleColumn = columns.samples[metric];
    const getKey = (item) => index[COLUMNS[sampleColumn]][item];
    const samples = new Map();
    for (const item of items) {
      if (reprise.outcome.isCounted(columns, metric, item)) {
        const sample = samples.get(getKey(item)) || { noun: NOUNS[sampleColumn], members: [], isRight: true };
        sample.members.push(item);
        samples.set(getKey(item), sample);
      }
    }
    // A group may contain only some questions of a video. Its number then counts only these.
    const isPartial = sampleColumn === "clip_id" && Boolean(state.group);
    const isWrong = (item) => Boolean(columns.item_right) && columns.item_right[item] !== "1";
    for (const sample of samples.values()) {
      sample.wrong = sample.members.filter(isWrong);
      sample.isRight = isPartial ? !sample.wrong.length : reprise.outcome.sampleValue(columns, metric, sample.members[0]) === 1;
    }
    return { noun: NOUNS[sampleColumn], all: [...samples.values()], of: (item) => samples.get(getKey(item)) || null };
  }

  /** Return items with the wrong ones first: wrong pairs or videos before right ones, and in each the wrong items first. */
  function sortWrongFirst(view, items, samples) {
    const { columns, metric } = view;
    if (!columns) {
      return items;
    }
    const ranks = new Map(items.map((item, position) => [item, rank(item, position)]));
    return [...items].sort((a, b) => compare(ranks.get(a), ranks.get(b)));

    function rank(item, position) {
      const sample = samples && samples.of(item);
      const value = reprise.outcome.isCounted(columns, metric, item) ? Number(reprise.outcome.value(columns, metric, item)) : Infinity;
      return sample ? [Number(sample.isRight), sample.members[0], value, position] : [value, position];
    }
  }

  function compare(a, b) {
    const position = a.findIndex((number, index) => number !== b[index]);
    return position < 0 ? 0 : a[position] - b[position];
  }

  return { find, sortWrongFirst };
})();
