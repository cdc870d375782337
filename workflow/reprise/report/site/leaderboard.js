// Sort the leaderboard by a column, and pin models to its top. Pins are kept in this browser, for each suite.
"use strict";

(() => {
  const table = document.querySelector("table.leaderboard");
  if (!table) return;
  const [pinnedBody, rankedBody, restBody] = table.tBodies; // Rows of the rest have no number in the column.
  const headers = [...table.tHead.rows[0].cells];
  const storageKey = `reprise.pins.${table.dataset.suite}`;

  /** Return the pinned models that this browser remembers, or null without any record. */
  function readPins() {
    try {
      const pins = JSON.parse(localStorage.getItem(storageKey));
      return Array.isArray(pins) ? pins : null;
    } catch {
      return null; // The browser blocks storage, or the record is damaged.
    }
  }

  function writePins() {
    const pins = listRows(pinnedBody).map((row) => row.dataset.key);
    try {
      localStorage.setItem(storageKey, JSON.stringify(pins));
    } catch {
      // Without storage, pins last until the page is closed.
    }
  }

  /** Return the rows of models in a part of the table, without its title. */
  function listRows(part) {
    return [...part.querySelectorAll("tr[data-key]")];
  }

  function setTitle(body, title) {
    body.querySelector(".section span").textContent = title;
  }

  /** Return a comparison of two rows by a column; rows without a number come last in both directions. */
  function compareBy(index, isDescending) {
    if (index === 0) {
      const order = new Intl.Collator(undefined, { numeric: true }).compare;
      return (a, b) => order(a.cells[0].innerText, b.cells[0].innerText) * (isDescending ? -1 : 1);
    }
    return (a, b) => {
      const [first, second] = [a, b].map((row) => row.cells[index].dataset.value);
      if (first === undefined || second === undefined) return (first === undefined) - (second === undefined);
      return (first - second) * (isDescending ? -1 : 1);
    };
  }

  function sort(index, isDescending) {
    const compare = compareBy(index, isDescending);
    const hasNumber = (row) => index === 0 || row.cells[index].dataset.value !== undefined;
    const others = [rankedBody, restBody].flatMap(listRows).sort(compare);
    pinnedBody.append(...listRows(pinnedBody).sort(compare));
    rankedBody.append(...others.filter(hasNumber));
    restBody.append(...others.filter((row) => !hasNumber(row)));
    const title = headers[index].querySelector(".title").textContent;
    setTitle(rankedBody, `By ${title}${index === 0 ? "" : isDescending ? ", best first" : ", worst first"}`);
    setTitle(restBody, `Without a number on ${title}`);
    headers.forEach((header) => header.removeAttribute("aria-sort"));
    headers[index].setAttribute("aria-sort", isDescending ? "descending" : "ascending");
  }

  function sortAgain() {
    const index = headers.findIndex((header) => header.hasAttribute("aria-sort"));
    sort(index, headers[index].getAttribute("aria-sort") === "descending");
  }

  /** Move a row to the pinned models or back to the others. */
  function setPinned(row, isPinned) {
    (isPinned ? pinnedBody : rankedBody).append(row); // Sorting moves it to its place.
    row.querySelector("button.pin").setAttribute("aria-pressed", String(isPinned));
  }

  for (const [index, header] of headers.entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      // Numbers start with the best, names with the first letter.
      const order = header.getAttribute("aria-sort");
      sort(index, order ? order === "ascending" : index > 0);
    });
  }

  for (const row of listRows(table)) {
    const button = document.createElement("button");
    const label = row.cells[0].innerText;
    button.type = "button";
    button.className = "pin";
    button.setAttribute("aria-label", `Pin ${label}`);
    button.setAttribute("aria-pressed", String(row.parentElement === pinnedBody));
    row.cells[0].prepend(button);
    button.addEventListener("click", () => {
      setPinned(row, row.parentElement !== pinnedBody);
      sortAgain();
      writePins();
      button.focus();
    });
  }

  const pins = readPins();
  if (pins !== null) {
    for (const row of listRows(table)) setPinned(row, pins.includes(row.dataset.key));
  }

  /** Sort by the column that the address names, or else by the first benchmark, and show it beside the models. */
  function followAddress() {
    const name = location.hash.slice(1); // names of columns need no decoding
    const index = headers.findIndex((header) => header.dataset.sort === name);
    const column = index > 0 ? index : 1;
    sort(column, true);
    const [modelBox, columnBox] = [headers[0], headers[column]].map((header) => header.getBoundingClientRect());
    table.parentElement.scrollLeft += columnBox.left - modelBox.right;
  }

  followAddress();
  window.addEventListener("hashchange", followAddress);
})();
