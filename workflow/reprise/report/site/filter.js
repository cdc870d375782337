"use strict";

/* Which items are shown: each filter is a test of an item's number over columns that are strings of one sign an item. */
reprise.filter = (() => {
  const SHOWN = {
    right: { label: "right", rated: "with the best rating", needs: "run", test: ({ a }) => (item) => a(item) === best(a) },
    wrong: { label: "wrong", rated: "with a lower rating", needs: "run", test: ({ a }) => (item) => a(item) !== null && a(item) < best(a) },
    disagree: { label: "models disagree", needs: "other", test: ({ a, b }) => (item) => compared(a, b, item) && a(item) !== b(item) },
    better: { label: "only the model right", rated: "the model better", needs: "other", test: ({ a, b }) => (item) => compared(a, b, item) && a(item) > b(item) },
    worse: { label: "only the other right", rated: "the other better", needs: "other", test: ({ a, b }) => (item) => compared(a, b, item) && a(item) < b(item) },
    time: { label: "right only with time", needs: "time", test: ({ time }) => (item) => time[item] === "1" },
    readers: { label: "readers disagree", needs: "run", test: ({ runs }) => (item) => runs.some((run) => run.differ[item] === "1") },
    failed: { label: "failed", needs: "run", test: ({ runs }) => (item) => runs.some((run) => run.state[item] === "f") },
    unread: { label: "unread", needs: "run", test: ({ runs }) => (item) => runs.some((run) => run.state[item] === "u") },
    missing: { label: "clip missing", needs: "", test: ({ index }) => (item) => index.gone[index.clip[item]] === "1" },
  };

  function best(values) {
    return values.best;
  }

  function compared(a, b, item) {
    return a(item) !== null && b(item) !== null;
  }

  /** Item -> the value of a run's measure. */
  function values(columns, metric) {
    return Object.assign((item) => reprise.outcome.value(columns, metric, item), {
      metric, best: metric === reprise.outcome.RATING ? columns.highest : 1,
    });
  }

  /** What may be shown, given which runs are chosen. */
  function choices({ columns, otherColumns, metric }) {
    const there = { "": true, run: columns, other: columns && otherColumns, time: columns && (columns.time || {})[metric] };
    const isRating = metric === reprise.outcome.RATING;
    return Object.entries(SHOWN).map(([name, { label, rated, needs }]) => ({
      name, label: (isRating && rated) || label, possible: Boolean(there[needs]),
    }));
  }

  /** Tests of task, group and words: the items that a comparison counts. */
  function ofItems({ index, benchmark, state, texts }) {
    const tests = [];
    const task = benchmark.tasks.indexOf(state.task);
    const group = benchmark.groups.indexOf(state.group);
    if (task >= 0) {
      tests.push((item) => index.task[item] === task);
    }
    if (group >= 0) {
      tests.push((item) => index.sets[index.groups[item]].includes(group));
    }
    for (const word of state.q.toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push((item) => texts.text[item].includes(word) || index.id[item].toLowerCase().includes(word));
    }
    return tests;
  }

  /** The test of what became of the items in the chosen runs. */
  function ofOutcomes(view) {
    const { index, state, columns, otherColumns, metric } = view;
    if (!choices(view).some(({ name, possible }) => possible && name === state.show)) {
      return [];
    }
    const a = columns && values(columns, metric);
    const b = otherColumns && values(otherColumns, metric);
    return [SHOWN[state.show].test({ index, a, b, time: columns && (columns.time || {})[metric], runs: [columns, otherColumns].filter(Boolean) })];
  }

  /** The numbers of the items that pass every test, in the order of the annotations. */
  function passing(count, tests) {
    const found = [];
    for (let item = 0; item < count; item += 1) {
      if (tests.every((test) => test(item))) {
        found.push(item);
      }
    }
    return found;
  }

  /** How two runs compare on items that both were counted on. */
  function comparison(items, { index, columns, otherColumns, metric }) {
    const [a, b] = [values(columns, metric), values(otherColumns, metric)];
    const both = items.filter((item) => compared(a, b, item));
    const better = both.filter((item) => a(item) > b(item)).length;
    const worse = both.filter((item) => a(item) < b(item)).length;
    const right = both.filter((item) => a(item) === b(item) && a(item) === best(a)).length;
    const rest = both.length - better - worse - right;
    return { of: both.length, better, worse, right, rest, ...tested(both, index, columns, a, b) };
  }

  /** The mean difference of two runs, as a share of the best value, and its p: a sample of several items counts once. */
  function tested(both, index, columns, a, b) {
    const sample = { clip_id: (item) => index.clip[item], unit: (item) => index.unit[item] }[(columns.samples || {})[a.metric]];
    const samples = sample ? [...new Map(both.map((item) => [sample(item), item])).values()] : both;
    const sums = reprise.paired.sums(samples, index.unit, a, b);
    const difference = sums.reduce((before, sum) => before + sum, 0) / (samples.length * best(a));
    return { samples: samples.length, units: sums.length, difference, p: reprise.paired.p(sums) };
  }

  return { choices, ofItems, ofOutcomes, passing, comparison };
})();
