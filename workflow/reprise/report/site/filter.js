"use strict";

/* The filters of the list. Each is a predicate on an item's index; the columns are strings with one sign per item. */
reprise.filter = (() => {
  // Kinds of items. `a` and `b` map an item to its value in the first and the second run, or to null if it does not count.
  // `rated` replaces `label` if the metric is a rating; `needs` is what a kind requires (see `choices`).
  const ALL = "all";
  const KINDS = {
    "": { label: "counted", needs: "", test: ({ columns, metric }) => (item) => !columns || reprise.outcome.isCounted(columns, metric, item) },
    [ALL]: { label: "all, also those not requested", needs: "run", test: () => () => true },
    requested: { label: "requested", needs: "run", test: ({ columns }) => (item) => "afu".includes(columns.state[item]) },
    right: { label: "right", rated: "with the best rating", needs: "run", test: ({ a }) => (item) => a(item) === best(a) },
    wrong: { label: "wrong", rated: "with a lower rating", needs: "run", test: ({ a }) => (item) => a(item) !== null && a(item) < best(a) },
    disagree: { label: "models disagree", needs: "other", test: ({ a, b }) => (item) => countsForBoth(a, b, item) && a(item) !== b(item) },
    better: { label: "only the model right", rated: "the model better", needs: "other", test: ({ a, b }) => (item) => countsForBoth(a, b, item) && a(item) > b(item) },
    worse: { label: "only the other right", rated: "the other better", needs: "other", test: ({ a, b }) => (item) => countsForBoth(a, b, item) && a(item) < b(item) },
    temporal: { label: "right only in the planned order", rated: "better only in the planned order", needs: "temporal", test: ({ temporal }) => (item) => temporal[item] === "1" },
    extractors: { label: "extractors disagree", needs: "run", test: ({ runs }) => (item) => runs.some((run) => run.extractors_differ[item] === "1") },
    failed: { label: "failed", needs: "run", test: ({ runs }) => (item) => runs.some((run) => run.state[item] === "f") },
    unparsed: { label: "unparsed", needs: "run", test: ({ runs }) => (item) => runs.some((run) => run.state[item] === "u") },
    missing: { label: "clip missing", needs: "", test: ({ index }) => (item) => index.missing[index.clip[item]] === "1" },
  };

  function best(values) {
    return values.best;
  }

  function countsForBoth(a, b, item) {
    return a(item) !== null && b(item) !== null;
  }

  /** Return a function from an item to its value in a run by its own answers; its property `best` is the best value. */
  function values(columns, metric) {
    return Object.assign((item) => reprise.outcome.value(columns, metric, item), {
      metric, best: metric === reprise.outcome.RATING ? columns.max_rating : 1,
    });
  }

  /** Return the kinds of items to show, with those that the chosen runs make possible. */
  function choices({ columns, otherColumns, metric }) {
    const available = { "": true, run: columns, other: columns && otherColumns, temporal: columns && (columns.temporal || {})[metric] };
    const isRating = metric === reprise.outcome.RATING;
    return Object.entries(KINDS).map(([name, { label, rated, needs }]) => ({
      name, label: (isRating && rated) || (name || columns ? label : ALL), possible: Boolean(available[needs]),
    }));
  }

  /** Return the predicates of task, group and search words, which also select the items of a comparison. */
  function itemTests({ index, benchmark, state, texts }) {
    const tests = [];
    const task = benchmark.tasks.indexOf(state.task);
    const group = benchmark.groups.indexOf(state.group);
    if (task >= 0) {
      tests.push((item) => index.task[item] === task);
    }
    if (group >= 0) {
      tests.push((item) => index.group_sets[index.group_set[item]].includes(group));
    }
    for (const word of state.q.toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push((item) => texts.text[item].includes(word) || index.id[item].toLowerCase().includes(word));
    }
    return tests;
  }

  /** Return the predicate on the outcomes of the items in the chosen runs. */
  function outcomeTests(view) {
    const { index, state, columns, otherColumns, metric } = view;
    if (!choices(view).some(({ name, possible }) => possible && name === state.show)) {
      return [];
    }
    const a = columns && values(columns, metric);
    const b = otherColumns && values(otherColumns, metric);
    return [KINDS[state.show].test({ index, columns, metric, a, b, temporal: columns && (columns.temporal || {})[metric], runs: [columns, otherColumns].filter(Boolean) })];
  }

  /** Return the items that pass every test, in the order of the annotations. */
  function select(count, tests) {
    const items = [];
    for (let item = 0; item < count; item += 1) {
      if (tests.every((test) => test(item))) {
        items.push(item);
      }
    }
    return items;
  }

  /** Compare two runs on the items that count for both. */
  function compare(items, { columns, otherColumns, metric }) {
    const [a, b] = [values(columns, metric), values(otherColumns, metric)];
    const both = items.filter((item) => countsForBoth(a, b, item));
    const better = both.filter((item) => a(item) > b(item)).length;
    const worse = both.filter((item) => a(item) < b(item)).length;
    const right = both.filter((item) => a(item) === b(item) && a(item) === best(a)).length;
    const bothLower = both.length - better - worse - right;
    return { total: both.length, better, worse, right, bothLower };
  }

  return { choices, itemTests, outcomeTests, select, compare };
})();
