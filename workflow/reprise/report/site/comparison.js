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
    if (view.leading) {
      place.append(make("p", { class: "leading" }, ahead(view.leading)));
    }
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

  /** The number that the tables lead with, of all items: the words of `reprise compare`. */
  function ahead({ metric, of, level, difference: mean, low, high, n_items: samples, n_clusters: units, p }) {
    const interval = low === null ? "" : ` (${100 * level} % interval ${signed(low)} to ${signed(high)})`;
    return `The number that the tables lead with, ${metric}, ${of}: A minus B: ${signed(mean)} percentage points${interval} on `
      + `${counted(samples, "sample")}; p ${reprise.paired.inWords(p)} (sign flips over ${counted(units, "video")}).`;
  }

  function signed(share) {
    const points = 100 * share;
    return `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`;
  }

  /** The mean difference in points of 100, and whether chance could make it. */
  function difference({ difference: mean, samples, units, p }) {
    return `A minus B: ${signed(mean)} percentage points on ${counted(samples, "sample")}; p ${reprise.paired.inWords(p)} (sign flips over ${counted(units, "video")})`;
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
