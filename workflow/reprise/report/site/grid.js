"use strict";

/* The list of items: one row an item, drawn by Tabulator only where it is seen. */
reprise.grid = (() => {
  const { make, given } = reprise.dom;
  const [ROW_HEIGHT, WIDTH] = [52, 92];
  const place = document.getElementById("grid");
  const labels = { a: letter("A"), b: letter("B") };
  let view = null;
  let table = null;
  let ready = null;
  let listed = null;

  /** Show the items of a view, the open one marked. */
  async function show(next) {
    const before = view;
    view = next;
    ready ||= build();
    await ready;
    if (view !== next) {
      return;
    }
    if (listed !== next.order) {
      listed = next.order;
      titles();
      await table.setData(next.order.map((n) => ({ n })));
    } else {
      [before.item, next.item].forEach(redraw);
    }
    reveal();
  }

  async function build() {
    await reprise.run("assets/vendor/tabulator/tabulator.min.js"); // as large as all else together, so not before the first clip
    table = new Tabulator(place, {
      data: [],
      index: "n",
      layout: "fitColumns",
      height: "100%",
      rowHeight: ROW_HEIGHT,
      headerSort: false,
      placeholder: () => make("p", {}, "No item passes these filters."),
      columnDefaults: { headerSort: false, resizable: false },
      columns: [
        { title: "Item", field: "n", formatter: item },
        { title: "A", field: "a", formatter: (cell) => result(cell, "columns"), titleFormatter: () => labels.a, width: WIDTH },
        { title: "B", field: "b", formatter: (cell) => result(cell, "otherColumns"), titleFormatter: () => labels.b, width: WIDTH },
      ],
      rowFormatter: (row) => row.getElement().classList.toggle("current", row.getData().n === view.item),
    });
    table.on("rowClick", (_, row) => open(row.getData().n));
    await new Promise((resolve) => table.on("tableBuilt", resolve));
    place.querySelector(".tabulator-tableholder").removeAttribute("tabindex"); // the open item's link is its stop of the tab key
  }

  function titles() {
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

  /** The head of a column; whose it is stands above the list. */
  function letter(name) {
    return make("span", { class: "letter" }, name);
  }

  /** What tells an item from others; a link, so that it can be opened beside. */
  function item(cell) {
    const { n } = cell.getData();
    const { index, benchmark, state } = view;
    const address = reprise.hash.format({ ...state, item: index.id[n] });
    const stop = view.order.includes(view.item) ? view.item : view.order[0];
    const short = given("span", "", { class: "short" });
    reprise.entry(benchmark, "short", n).then((text) => short.append(text), ({ message }) => short.append(message));
    return make("a", { href: address, tabindex: n === stop ? "0" : "-1" },
      short,
      make("span", { class: "where" }, given("span", benchmark.tasks[index.task[n]]), " · ", given("span", index.id[n])));
  }

  function result(cell, name) {
    const columns = view[name];
    return columns ? reprise.outcome.badge(reprise.outcome.shown(columns, view.metric, cell.getData().n)) : "";
  }

  function redraw(n) {
    const row = n >= 0 && table.getRow(n);
    if (row) {
      row.reformat();
    }
  }

  /** Scroll to the open item, if it is not in sight. */
  function reveal() {
    if (view.item >= 0 && view.order.includes(view.item)) {
      table.scrollToRow(view.item, "center", false).catch(() => undefined); // a list that is not shown does not scroll
    }
  }

  function open(n) {
    reprise.hash.go({ item: view.index.id[n] });
  }

  /** The item a number of places from the open one, in the list's order; the first where none of the list is open. */
  function step(by) {
    if (!view) {
      return; // the first item is not shown yet
    }
    const { order, index } = view;
    const here = order.indexOf(view.item);
    const next = here < 0 ? 0 : Math.min(order.length - 1, Math.max(0, here + by));
    if (order.length) {
      reprise.hash.go({ item: index.id[order[next]] }, { replace: here >= 0 });
    }
  }

  return { show, step, focus: () => place.focus() };
})();
