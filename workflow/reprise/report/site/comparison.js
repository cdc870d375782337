"use strict";

/* The comparison of two runs on the items that pass the filters of test, group and search. */
reprise.comparison = (() => {
  const { make, count, countNoun } = reprise.dom;
  const container = document.getElementById("comparison");

  /** Show the comparison, or hide it if no second run is chosen. */
  function show(view) {
    const { columns, otherColumns, metric, run, other } = view;
    container.hidden = !(columns && otherColumns);
    if (container.hidden) {
      return;
    }
    const counts = reprise.filter.compare(view.candidates, view);
    const tieLabels = metric === reprise.outcome.RATING ? ["both with the best rating", "the same lower rating"] : ["both right", "both wrong"];
    const names = make("p", {}, "A: ", ...describeRun(run), ". B: ", ...describeRun(other), ". ");
    container.replaceChildren(make("div", { class: "who" }, names, reprise.settingsDiff.create(view)));
    if (view.difference) {
      container.append(make("p", { class: "leading" }, `A minus B: ${view.difference}`));
    }
    if (!counts.total) {
      names.append(`No item counts for both by ${metric || "any metric"}.`);
      return;
    }
    names.append(`By ${metric}, of ${count(counts.total)} items that count for both:`);
    const numbers = [
      link("better", `A better: ${count(counts.better)}`, view),
      link("worse", `B better: ${count(counts.worse)}`, view),
      make("span", {}, `${tieLabels[0]}: ${count(counts.right)}`),
      make("span", {}, `${tieLabels[1]}: ${count(counts.bothLower)}`),
      link("disagree", `verdicts differ: ${count(counts.better + counts.worse)}`, view),
    ];
    container.append(bar(counts), make("p", { class: "counts" }, ...numbers));
  }

  function describeRun({ label, title }) {
    return [make("strong", { dir: "auto" }, label), ` (${title})`];
  }

  function link(kind, text, { state }) {
    const address = reprise.hash.format({ ...state, show: kind });
    return make("a", { href: address, "aria-current": state.show === kind ? "true" : null }, text);
  }

  /** Create a bar of the counts, which the text below repeats. */
  function bar(counts) {
    const parts = ["better", "right", "bothLower", "worse"].map((name) => {
      const part = make("span", { class: name });
      part.style.flexGrow = counts[name];
      return part;
    });
    return make("div", { class: "shares", "aria-hidden": "true" }, ...parts);
  }

  return { show };
})();
