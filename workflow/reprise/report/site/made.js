"use strict";

/* Where the numbers of a run come from: the number that led here, the tables that show it, and every step behind it back to the release. */
reprise.made = (() => {
  const { make, given, count } = reprise.dom;
  const place = document.getElementById("made");
  const COUNTS = [["asked", "asked"], ["scored", "scored"], ["failed", "failed"], ["unparsed", "unread"], ["missing", "missing"]];
  let shown = "";

  /** A folded part that fills itself when it is opened; a cell of a table leads here with it open. */
  function show(view) {
    const { run, state } = view;
    const key = run ? JSON.stringify([run.name, state.metric, state.group || state.task, state.made]) : "";
    place.hidden = !run;
    if (!run || key === shown) {
      return;
    }
    shown = key;
    const body = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Where the numbers come from" }, "Loading ...");
    const part = make("details", {}, make("summary", {}, "Where the numbers of ", given("strong", run.label), ` (${run.protocol}, ${run.sampling}) come from`), body);
    part.addEventListener("toggle", () => part.open && fill(body, view));
    part.open = Boolean(state.made);
    place.replaceChildren(part);
  }

  async function fill(body, { run, state }) {
    try {
      const { version, numbers, cells, chain } = await reprise.load(run.made);
      const isAsked = asked(state);
      const steps = make("ol", {}, ...chain.map(step));
      body.replaceChildren(
        ...numbers.filter(isAsked).map((one) => number(one, cells.filter((cell) => isOf(cell, one)))),
        make("p", {}, make("a", { href: run.page }, "All numbers of this run"), `. Reprise ${version}. Made from, the release first:`), steps,
      );
    } catch (error) {
      body.textContent = error.message;
    }
  }

  /** Whether a number is the one of the cell that led here, else of the measure and group that are chosen. */
  function asked({ made, metric, group, task }) {
    if (made.includes("/")) {
      return (one) => `${one.metric}/${one.group || ""}` === made;
    }
    return (one) => (!metric || one.metric === metric) && (one.group || "") === (group || task || "all");
  }

  function isOf(cell, { metric, group }) {
    return cell.metric === metric && (cell.group || "") === (group || "");
  }

  function number(one, cells) {
    const { metric, group, value, low, high, authors } = one;
    const ends = low === undefined ? "" : ` (${printed(low)} to ${printed(high)})`;
    const counts = COUNTS.map(([name, label]) => `${count(one[name] || 0)} ${label}`).join(", ");
    const tables = cells.map(({ table, row, column, published }) => {
      const paper = published === undefined ? "" : `; the paper has ${printed(published)}`;
      return given("li", `${table}, row “${row || ""}”, column “${column || ""}”${paper}`);
    });
    return make("div", {},
      given("p", `${metric}${group ? `, ${group}` : ""}: ${printed(value)}${ends}; by the authors’ convention ${printed(authors)}; ${counts}.`),
      tables.length ? make("ul", {}, ...tables) : null);
  }

  function printed(value) {
    return value === undefined || value === null ? "no number" : String(+value.toFixed(4));
  }

  function step({ name, file, more, facts, settings }) {
    const text = more ? ` and ${more} more` : "";
    return make("li", {}, make("strong", {}, name), ": ", make("code", {}, file), text, list(facts), ...settings.map(used));
  }

  function used({ name, settings }) {
    return make("div", {}, "settings ", make("code", {}, name), list(settings));
  }

  function list(pairs) {
    return pairs.length ? make("dl", {}, ...pairs.flatMap(([name, text]) => [given("dt", name), given("dd", text)])) : null;
  }

  return { show };
})();
