"use strict";

/* The provenance of a run's numbers: the selected number, the tables that show it, and every stage back to the release. */
reprise.provenance = (() => {
  const { make, makeText, count } = reprise.dom;
  const container = document.getElementById("provenance");
  const COUNTS = ["requested", "scored", "failed", "unparsed", "missing"];
  let shownKey = "";

  /** Show a closed section, which is filled when it is opened. */
  function show(view) {
    const { run, state } = view;
    const key = run ? JSON.stringify([run.name, state.metric, state.group || state.task, state.provenance]) : "";
    container.hidden = !run;
    if (!run || key === shownKey) {
      return;
    }
    shownKey = key;
    const body = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Where the numbers come from" }, "Loading ...");
    const section = make("details", {}, make("summary", {}, "Where the numbers of ", makeText("strong", run.label), ` (${run.title}) come from`), body);
    section.addEventListener("toggle", () => section.open && fill(body, view));
    container.replaceChildren(section);
  }

  async function fill(body, { run, state }) {
    try {
      const { version, numbers, cells, stages } = await reprise.load(run.provenance);
      body.replaceChildren(
        ...numbers.filter(selection(state)).map((number) => numberElement(number, cells.filter((cell) => isCellOf(cell, number)))),
        make("p", {}, make("a", { href: run.page }, "All numbers of this run"), `. Reprise ${version}. Stages, the release first:`),
        make("ol", {}, ...stages.map(stageElement)),
      );
    } catch (error) {
      body.textContent = error.message;
    }
  }

  /** Return a predicate that selects the number of the linked cell, else those of the chosen metric and group. */
  function selection({ provenance, metric, group, task }) {
    if (provenance.includes("/")) {
      return (number) => `${number.metric}/${number.group || ""}` === provenance;
    }
    return (number) => (!metric || number.metric === metric) && (number.group || "") === (group || task || "all");
  }

  function isCellOf(cell, { metric, group }) {
    return cell.metric === metric && (cell.group || "") === (group || "");
  }

  function numberElement(number, cells) {
    const { metric, group, value, low, high, authors } = number;
    const interval = low === undefined ? "" : ` (${formatNumber(low)} to ${formatNumber(high)})`;
    const counts = COUNTS.map((name) => `${count(number[name] || 0)} ${name}`).join(", ");
    const tables = cells.map(({ table, row, column, published }) => {
      const paper = published === undefined ? "" : `; the paper has ${formatNumber(published)}`;
      return makeText("li", `${table}, row “${row || ""}”, column “${column || ""}”${paper}`);
    });
    return make("div", {},
      makeText("p", `${metric}${group ? `, ${group}` : ""}: ${formatNumber(value)}${interval}; by the authors’ convention ${formatNumber(authors)}; ${counts}.`),
      tables.length ? make("ul", {}, ...tables) : null);
  }

  function formatNumber(value) {
    return value === undefined || value === null ? "no number" : String(+value.toFixed(4));
  }

  function stageElement({ name, file, other_files: others, details, settings }) {
    const text = others ? ` and ${others} more` : "";
    return make("li", {}, make("strong", {}, name), ": ", make("code", {}, file), text, definitions(details), ...settings.map(settingsElement));
  }

  function settingsElement({ name, settings }) {
    return make("div", {}, "settings ", make("code", {}, name), definitions(settings));
  }

  function definitions(pairs) {
    return pairs.length ? make("dl", {}, ...pairs.flatMap(([name, text]) => [makeText("dt", name), makeText("dd", text)])) : null;
  }

  return { show };
})();
