"use strict";

/* The list of items, one row per item. Tabulator draws only the visible rows. */
reprise.grid = (() => {
  const { make, makeText } = reprise.dom;
  const [ROW_HEIGHT, WIDTH] = [52, 92];
  const container = document.getElementById("grid");
  const labels = { a: letter("A"), b: letter("B") };
  let view = null;
  let table = null;
  let ready = null;
  let listedItems = null;
  let drawnItem = -1; // the item that is marked as open

  /** Show the items of a view, with the open one marked. */
  async function show(next) {
    view = next;
    ready ||= build();
    await ready;
    if (view !== next) {
      return;
    }
    if (listedItems !== next.order) {
      listedItems = next.order;
      updateColumns();
      await table.setData(next.order.map((index) => ({ index })));
    } else {
      [drawnItem, next.item].forEach(redraw);
    }
    drawnItem = next.item;
    reveal();
  }

  async function build() {
    await reprise.loadScript("assets/vendor/tabulator/tabulator.min.js"); // loaded late, because it is as large as all other scripts together
    table = new Tabulator(container, {
      data: [],
      index: "index",
      layout: "fitColumns",
      height: "100%",
      rowHeight: ROW_HEIGHT,
      headerSort: false,
      placeholder: () => make("p", {}, "No item passes these filters."),
      columnDefaults: { headerSort: false, resizable: false },
      columns: [
        { title: "Item", field: "index", formatter: itemLink },
        { title: "A", field: "a", formatter: (cell) => resultBadge(cell, "columns"), titleFormatter: () => labels.a, width: WIDTH },
        { title: "B", field: "b", formatter: (cell) => resultBadge(cell, "otherColumns"), titleFormatter: () => labels.b, width: WIDTH },
      ],
      rowFormatter: (row) => row.getElement().classList.toggle("current", row.getData().index === view.item),
    });
    table.on("rowClick", (_, row) => open(row.getData().index));
    await new Promise((resolve) => table.on("tableBuilt", resolve));
    container.querySelector(".tabulator-tableholder").removeAttribute("tabindex"); // the tab key stops at the link of the open item instead
  }

  /** Show a column of results for each chosen run, with the label of the run as its tooltip. */
  function updateColumns() {
    for (const [field, run] of [["a", view.run], ["b", view.other]]) {
      const column = table.getColumn(field);
      if (run) {
        labels[field].title = run.label;
        column.show();
      } else {
        column.hide();
      }
    }
  }

  /** Create the head of a column; the comparison above the list explains the letters. */
  function letter(name) {
    return make("span", { class: "letter" }, name);
  }

  /** Create the label of an item. It is a link, which can be opened in another tab. */
  function itemLink(cell) {
    const { index: item } = cell.getData();
    const { index, benchmark, state } = view;
    const address = reprise.hash.format({ ...state, item: index.id[item] });
    const tabStop = view.order.includes(view.item) ? view.item : view.order[0];
    const label = makeText("span", "", { class: "label" });
    reprise.entry(benchmark, "labels", item).then((segments) => label.append(...segments.map(segmentElement)), ({ message }) => label.append(message));
    const models = reprise.outcome.describeModels(view, item);
    return make("a", { href: address, tabindex: item === tabStop ? "0" : "-1" },
      label,
      make("span", { class: "where" }, models ? `${models} · ` : "", makeText("span", benchmark.tasks[index.task[item]]), " · ", makeText("span", reprise.dom.shortenId(index.id[item]))));
  }

  /** Create a segment of a label; every second one is a difference to a variant of the text. */
  function segmentElement(text, position) {
    return position % 2 ? make("mark", {}, text) : text;
  }

  function resultBadge(cell, name) {
    const columns = view[name];
    const item = cell.getData().index;
    const badge = columns ? reprise.outcome.badge(reprise.outcome.describe(columns, view.metric, item)) : "";
    const samples = view.samples[name === "columns" ? 0 : 1];
    const sample = samples && samples.of(item);
    return sample ? make("span", {}, badge, make("span", { class: "where" }, `${sample.noun} ${sample.isRight ? "right" : "wrong"}`)) : badge;
  }

  function redraw(item) {
    if (view.order.includes(item)) {
      table.getRow(item).reformat();
    }
  }

  /** Scroll to the open item, if it is not visible. */
  function reveal() {
    if (view.item >= 0 && view.order.includes(view.item)) {
      table.scrollToRow(view.item, "center", false).catch(() => undefined); // a hidden list does not scroll
    }
  }

  function open(item) {
    reprise.hash.go({ item: view.index.id[item] });
  }

  /** Open the item at an offset from the open one in the list; the first item if none is open. */
  function step(offset) {
    if (!view) {
      return; // no item has been shown yet
    }
    const { order, index } = view;
    const position = order.indexOf(view.item);
    const next = position < 0 ? 0 : Math.min(order.length - 1, Math.max(0, position + offset));
    if (order.length) {
      reprise.hash.go({ item: index.id[order[next]] }, { replace: position >= 0 });
    }
  }

  return { show, step, focus: () => container.focus() };
})();
