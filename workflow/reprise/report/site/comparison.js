"use strict";

/* Two models on the items that the filters of test, group and words leave: who is better on how many, and by chance or not. */
reprise.comparison = (() => {
  const { make, count, counted } = reprise.dom;
  const place = document.getElementById("comparison");

  /** Show the counts; nothing where no second model is chosen. */
  function show(view) {
    const { columns, otherColumns, metric, run, other } = view;
    place.hidden = !(columns && otherColumns);
    if (place.hidden) {
      return;
    }
    const counts = reprise.filter.comparison(view.candidates, view);
    const same = metric === reprise.outcome.RATING ? ["both with the best rating", "the same lower rating"] : ["both right", "both wrong"];
    const who = make("p", {}, "A: ", ...named(run), ". B: ", ...named(other), ". ");
    place.replaceChildren(make("div", { class: "who" }, who, reprise.conditions.of(view)));
    if (!counts.of) {
      who.append(`No item counts for both by ${metric || "any measure"}.`);
      return;
    }
    who.append(`By ${metric}, of ${count(counts.of)} items that count for both:`);
    const numbers = [
      link("better", `A better: ${count(counts.better)}`, view),
      link("worse", `B better: ${count(counts.worse)}`, view),
      make("span", {}, `${same[0]}: ${count(counts.right)}`),
      make("span", {}, `${same[1]}: ${count(counts.rest)}`),
      link("disagree", `where they differ: ${count(counts.better + counts.worse)}`, view),
      make("span", {}, difference(counts)),
    ];
    place.append(bar(counts), make("p", { class: "counts" }, ...numbers));
  }

  /** The mean difference in points of 100, and whether chance could make it. */
  function difference({ difference: mean, samples, units, p }) {
    const points = 100 * mean;
    const signed = `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`;
    return `A minus B: ${signed} percentage points on ${counted(samples, "sample")}; p ${reprise.paired.inWords(p)} (sign flips over ${counted(units, "video")})`;
  }

  function named({ label, protocol, sampling }) {
    return [make("strong", { dir: "auto" }, label), ` (${protocol}, ${sampling})`];
  }

  function link(kind, text, { state }) {
    const address = reprise.hash.format({ ...state, show: kind });
    return make("a", { href: address, "aria-current": state.show === kind ? "true" : null }, text);
  }

  /** The counts as lengths; the text beside it says the same. */
  function bar(counts) {
    const parts = ["better", "right", "rest", "worse"].map((name) => {
      const part = make("span", { class: name });
      part.style.flexGrow = counts[name];
      return part;
    });
    return make("div", { class: "shares", "aria-hidden": "true" }, ...parts);
  }

  return { show };
})();
