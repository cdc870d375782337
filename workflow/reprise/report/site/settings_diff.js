"use strict";

/* The settings, frames and items in which two runs differ. */
reprise.settingsDiff = (() => {
  const { make, count } = reprise.dom;

  // Settings in the order of their rows; all others follow.
  const FIRST = ["sampling", "settings", "frames", "prompt", "form", "request_type", "max_tokens", "dtype", "attention", "extractor", "model", "versions"];
  const MAX_INDICES = 16;
  const [KNOWN, UNKNOWN, NONE] = ["known", "unknown", "(none)"];

  /** Create a closed list of the differences, which is filled once the data are loaded. */
  function create(view) {
    const summary = make("summary", {}, "Settings that differ ...");
    const element = make("details", { class: "settings-diff" }, summary);
    findDifferences(view).then(
      (rows) => fill(element, summary, rows),
      (error) => (summary.textContent = error.message),
    );
    return element;
  }

  /** Return rows of a name and both values, the most important settings first. */
  async function findDifferences(view) {
    const { benchmark, run, other } = view;
    const settings = await reprise.load(`${benchmark.name}/settings`);
    const [first, second] = [settings[run.index], settings[other.index]];
    const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].filter((name) => first[name] !== second[name]);
    const settingRows = names.map((name) => [name, first[name] ?? placeholder(run, first, name), second[name] ?? placeholder(other, second, name)]);
    const rows = [...settingRows, ...(await frameRows(view)), ...requestRows(view)];
    return rows.sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  }

  /** Return the first part of a dotted name. */
  const head = (name) => name.split(".")[0];

  /** Return the text for a setting that a run does not have; for imported predictions it is unknown. */
  function placeholder({ imported }, settings, name) {
    return imported && !Object.keys(settings).some((key) => head(key) === head(name)) ? UNKNOWN : NONE;
  }

  function rank(name) {
    const position = FIRST.indexOf(name.split(/[ .]/)[0]);
    return position < 0 ? FIRST.length : position;
  }

  /** Return a row with the number of clips whose frames differ, and the frames of the first of them. */
  async function frameRows({ benchmark, run, other }) {
    if (run.imported !== other.imported) {
      return [["frames", ...[run, other].map(({ imported }) => (imported ? UNKNOWN : KNOWN))]];
    }
    const samplings = [run.sampling, other.sampling];
    if (run.imported || samplings[0] === samplings[1] || !samplings.every((name) => benchmark.samplings.includes(name))) {
      return [];
    }
    const [first, second] = await Promise.all(samplings.map((name) => reprise.load(`${benchmark.name}/indices/${name}`)));
    const differing = first.map((_, clip) => clip).filter((clip) => first[clip].join() !== second[clip].join());
    if (!differing.length) {
      return [];
    }
    const [clip] = differing;
    const { id } = await reprise.entry(benchmark, "clips", clip);
    const name = `frames: different on ${count(differing.length)} of ${count(first.length)} clips; those of ${id}`;
    return [[name, formatIndices(first[clip]), formatIndices(second[clip])]];
  }

  function formatIndices(indices) {
    const more = indices.length > MAX_INDICES ? ` and ${indices.length - MAX_INDICES} more` : "";
    return `${indices.slice(0, MAX_INDICES).join(", ") || "none"}${more} (${indices.length})`;
  }

  /** Return a row with the numbers of items that only one of the runs has; the other run may lack clips or cover a subset. */
  function requestRows({ columns, otherColumns }) {
    const isRequested = (sign) => "afu".includes(sign);
    const countOnly = (first, second) => [...first.state].filter((sign, item) => isRequested(sign) && !isRequested(second.state[item])).length;
    const counts = [countOnly(columns, otherColumns), countOnly(otherColumns, columns)];
    return counts.some(Boolean) ? [["items that only this run has, for example because of missing clips", ...counts.map(count)]] : [];
  }

  function fill(element, summary, rows) {
    summary.textContent = rows.length ? `Settings that differ: ${rows.map(([name]) => name).join(", ")}` : "No settings differ.";
    if (rows.length) {
      const headRow = make("tr", {}, ...["Setting", "A", "B"].map((name) => make("th", { scope: "col" }, name)));
      const table = make("table", {}, make("thead", {}, headRow), make("tbody", {}, ...rows.map((texts) => tableRow(...texts))));
      element.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Settings that differ" }, table));
    }
  }

  function tableRow(name, ...texts) {
    const isUnknown = texts.includes(UNKNOWN); // then the other text is not marked as a change
    const segmentLists = isUnknown ? texts.map((text) => [{ text, differs: false }]) : reprise.diff.segments(texts);
    const cells = segmentLists.map((segments) => make("td", { dir: "auto" }, ...segments.map(mark)));
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  }

  function mark({ text, differs }) {
    return differs ? make("mark", {}, text) : text;
  }

  return { create };
})();
