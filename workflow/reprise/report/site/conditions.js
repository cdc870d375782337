"use strict";

/* Why two runs may differ before any answer is looked at: what they were asked and shown, and what they were made with. */
reprise.conditions = (() => {
  const { make } = reprise.dom;

  /** What shaped the answers of two runs differently, folded; it fills itself when the data are there. */
  function of({ benchmark, run, other }) {
    const summary = make("summary", {}, "Settings that differ ...");
    const place = make("details", { class: "conditions" }, summary);
    reprise.load(`${benchmark.name}/settings`).then(
      (all) => fill(place, summary, all[run.n], all[other.n]),
      (error) => (summary.textContent = error.message),
    );
    return place;
  }

  function fill(place, summary, one, another) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(another)])];
    const differing = names.filter((name) => one[name] !== another[name]).sort();
    summary.textContent = differing.length ? `Settings that differ: ${differing.join(", ")}` : "No setting differs.";
    if (differing.length) {
      const head = make("tr", {}, ...["Setting", "A", "B"].map((name) => make("th", { scope: "col" }, name)));
      const rows = differing.map((name) => row(name, one[name], another[name]));
      const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
      place.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings that differ" }, table));
    }
  }

  function row(name, one, another) {
    const texts = [one ?? "(none)", another ?? "(none)"];
    const cells = reprise.diff.pieces(texts).map((pieces) => make("td", { dir: "auto" }, ...pieces.map(marked)));
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  }

  function marked({ text, differs }) {
    return differs ? make("mark", {}, text) : text;
  }

  return { of };
})();
