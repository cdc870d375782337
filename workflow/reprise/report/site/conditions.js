"use strict";

/* Why two runs may differ before any answer is looked at: what they were asked and shown, and what they were made with. */
reprise.conditions = (() => {
  const { make, count } = reprise.dom;

  const FIRST = ["sampling", "settings", "frames", "prompt", "form", "ask", "max_tokens", "dtype", "attention", "reader", "model", "versions"];
  const MOST = 16;
  const [KNOWN, NOT_KNOWN, NONE] = ["known", "not known", "(none)"];

  /** What shaped the answers of two runs differently, folded; it fills itself when the data are there. */
  function of(view) {
    const summary = make("summary", {}, "Settings that differ ...");
    const place = make("details", { class: "conditions" }, summary);
    compared(view).then(
      (rows) => fill(place, summary, rows),
      (error) => (summary.textContent = error.message),
    );
    return place;
  }

  /** Rows of name and both texts, in the order in which people ask: settings, frames, then clips. */
  async function compared(view) {
    const { benchmark, run, other } = view;
    const all = await reprise.load(`${benchmark.name}/settings`);
    const [one, another] = [all[run.n], all[other.n]];
    const names = [...new Set([...Object.keys(one), ...Object.keys(another)])].filter((name) => one[name] !== another[name]);
    const rows = names.map((name) => [name, one[name] ?? absent(run, one, name), another[name] ?? absent(other, another, name)]);
    const found = [...rows, ...(await frames(view)), ...answered(view)];
    return found.sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  }

  const head = (name) => name.split(".")[0];

  /** What stands for a setting that a run does not have: of answers that were made elsewhere nobody knows it. */
  function absent({ imported }, settings, name) {
    return imported && !Object.keys(settings).some((own) => head(own) === head(name)) ? NOT_KNOWN : NONE;
  }

  function rank(name) {
    const place = FIRST.indexOf(name.split(/[ .]/)[0]);
    return place < 0 ? FIRST.length : place;
  }

  /** On how many clips other frames are shown, and which on the first of them. */
  async function frames({ benchmark, run, other }) {
    if (run.imported !== other.imported) {
      return [["frames", ...[run, other].map(({ imported }) => (imported ? NOT_KNOWN : KNOWN))]];
    }
    const samplings = [run.sampling, other.sampling];
    if (run.imported || samplings[0] === samplings[1] || !samplings.every((name) => benchmark.samplings.includes(name))) {
      return [];
    }
    const [one, another] = await Promise.all(samplings.map((name) => reprise.load(`${benchmark.name}/indices/${name}`)));
    const differing = one.map((_, clip) => clip).filter((clip) => one[clip].join() !== another[clip].join());
    if (!differing.length) {
      return [];
    }
    const [clip] = differing;
    const { id } = await reprise.entry(benchmark, "clips", clip);
    const name = `frames: others on ${count(differing.length)} of ${count(one.length)} clips; of ${id}`;
    return [[name, listed(one[clip]), listed(another[clip])]];
  }

  function listed(indices) {
    const more = indices.length > MOST ? ` and ${indices.length - MOST} more` : "";
    return `${indices.slice(0, MOST).join(", ") || "none"}${more} (${indices.length})`;
  }

  /** The items that only one of them was asked about: the other's clip is missing, or it was asked about a part. */
  function answered({ columns, otherColumns }) {
    const isAsked = (sign) => "afu".includes(sign);
    const alone = (one, another) => [...one.state].filter((sign, item) => isAsked(sign) && !isAsked(another.state[item])).length;
    const counts = [alone(columns, otherColumns), alone(otherColumns, columns)];
    return counts.some(Boolean) ? [["items that the other was not asked, such as those of missing clips", ...counts.map(count)]] : [];
  }

  function fill(place, summary, rows) {
    summary.textContent = rows.length ? `Settings that differ: ${rows.map(([name]) => name).join(", ")}` : "No setting differs.";
    if (rows.length) {
      const head = make("tr", {}, ...["Setting", "A", "B"].map((name) => make("th", { scope: "col" }, name)));
      const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows.map((one) => row(...one))));
      place.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings that differ" }, table));
    }
  }

  function row(name, one, another) {
    const texts = [one, another];
    const isHalf = texts.includes(NOT_KNOWN); // the other text is then no change
    const pieces = isHalf ? texts.map((text) => [{ text, differs: false }]) : reprise.diff.pieces(texts);
    const cells = pieces.map((ours) => make("td", { dir: "auto" }, ...ours.map(marked)));
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  }

  function marked({ text, differs }) {
    return differs ? make("mark", {}, text) : text;
  }

  return { of };
})();
