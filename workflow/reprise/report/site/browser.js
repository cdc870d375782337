"use strict";

/* The page: every change is a new address; an address is looked up in the data, and what it says is shown. */
reprise.browser = (() => {
  const { count, counted } = reprise.dom;
  const found = document.getElementById("found");
  const trouble = document.getElementById("trouble");
  let latest = 0;
  let lists = {};

  /** Look up what an address names: a benchmark, runs, a measure, an item. */
  async function look(state) {
    const catalog = await reprise.load("catalog");
    const benchmark = named(catalog.benchmarks, state.b) || catalog.benchmarks[0];
    if (!benchmark) {
      throw new Error("This report has no benchmark with items.");
    }
    const run = named(benchmark.runs, state.run) || usual(benchmark.runs);
    const other = named(benchmark.runs, state.other);
    const columnsOf = (one) => (one ? reprise.load(`${benchmark.name}/runs/${one.n}`) : null);
    const isLed = run && other && run.compared.includes(other.n);
    const [index, columns, otherColumns, texts, compared] = await Promise.all([
      reprise.load(`${benchmark.name}/index`), columnsOf(run), columnsOf(other), state.q ? reprise.load(`${benchmark.name}/texts`) : null,
      isLed ? reprise.load(`${benchmark.name}/compared/${run.n}`) : null,
    ]);
    const metrics = run ? reprise.outcome.metrics(run, columns) : [];
    const metric = [state.metric, benchmark.metric].find((one) => metrics.includes(one)) || metrics[0] || "";
    const item = state.item ? index.id.indexOf(state.item) : -1;
    return { catalog, benchmark, run, other, index, columns, otherColumns, texts, leading: compared && compared[other.n], metrics, metric, item, state: tidied(state, benchmark) };
  }

  function named(all, name) {
    return all.find((one) => one.name === name) || null;
  }

  /** The run that is shown where none is asked for: of real models the first of the protocol and sampling that most runs have. */
  function usual(all) {
    const real = all.filter(({ reference }) => !reference);
    const runs = real.length ? real : all;
    const alike = ({ protocol, sampling }) => runs.filter((run) => run.protocol === protocol && run.sampling === sampling).length;
    return runs.reduce((best, run) => (best && alike(best) >= alike(run) ? best : run), null);
  }

  /** An address that says at most a benchmark opens on its most telling item. */
  async function openFirst({ b, ...others }) {
    const { benchmarks } = await reprise.load("catalog");
    const { opened = {} } = named(benchmarks, b) || (!b && benchmarks[0]) || {};
    const isOpen = Object.values(others).some(Boolean) || !opened.item;
    if (!isOpen) {
      reprise.hash.go(opened, { replace: true });
    }
    return !isOpen;
  }

  /** Cells of tables name a test or a group by `group`; "all" is no filter. */
  function tidied(state, { name, tasks, groups }) {
    const group = state.group === "all" ? "" : state.group;
    const isTask = !groups.includes(group) && tasks.includes(group);
    return { ...state, b: name, group: isTask ? "" : group, task: isTask ? group : state.task };
  }

  /** The view with the items that its filters leave; the same lists where only another item is open. */
  function filtered(view) {
    const { b, task, group, q, show: kind } = view.state;
    const key = JSON.stringify([b, task, group, q, kind, view.run && view.run.name, view.other && view.other.name, view.metric]);
    if (key !== lists.key) {
      const candidates = reprise.filter.passing(view.index.id.length, reprise.filter.ofItems(view));
      const tests = reprise.filter.ofOutcomes(view);
      lists = { key, candidates, order: candidates.filter((item) => tests.every((test) => test(item))) };
    }
    return { ...view, candidates: lists.candidates, order: lists.order };
  }

  /** What an address names that this report does not have. */
  function unknown({ benchmark, run, other, metric, item, state }, asked) {
    const checks = [
      [asked.b && asked.b !== benchmark.name, `benchmark “${asked.b}”`],
      [asked.run && (!run || run.name !== asked.run), `run “${asked.run}”`],
      [asked.other && !other, `run “${asked.other}”`],
      [asked.metric && asked.metric !== metric, `measure “${asked.metric}” of single items for this run`],
      [state.group && !benchmark.groups.includes(state.group), `test or group “${state.group}”`],
      [state.task && !benchmark.tasks.includes(state.task), `test “${state.task}”`],
      [asked.item && item < 0, `item “${asked.item}”`],
    ];
    const missing = checks.filter(([isMissing]) => isMissing).map(([, name]) => name);
    return missing.length ? `This report has no ${missing.join(", no ")}.` : "";
  }

  function say(text) {
    trouble.textContent = text;
    trouble.hidden = !text;
  }

  async function show() {
    latest += 1;
    const turn = latest;
    const asked = reprise.hash.state();
    try {
      if (await openFirst(asked)) {
        return;
      }
      const view = filtered(await look(asked));
      if (turn !== latest) {
        return;
      }
      header(view);
      say(unknown(view, asked));
      document.body.classList.toggle("reading", view.item >= 0);
      reprise.controls.show(view);
      reprise.made.show(view);
      reprise.comparison.show(view);
      await reprise.item.show(view);
      await reprise.grid.show(view);
      document.body.dataset.shown = turn;
    } catch (error) {
      say(error.message);
      throw error;
    }
  }

  function header({ catalog, benchmark, index, order }) {
    document.title = `Items of ${benchmark.title}: ${catalog.title}`;
    document.getElementById("title").textContent = `Items of ${benchmark.title}`;
    const notice = document.getElementById("notice");
    notice.textContent = [catalog.notice, benchmark.passing_on].filter(Boolean).join(" ");
    notice.hidden = !notice.textContent;
    found.textContent = `${count(order.length)} of ${counted(index.id.length, "item")}`;
  }

  async function copyLink({ target }) {
    const before = target.textContent;
    try {
      await navigator.clipboard.writeText(location.href);
      target.textContent = "Copied";
    } catch {
      target.textContent = "Copy the address above"; // a browser may refuse the clipboard; the address bar has the link
    }
    setTimeout(() => (target.textContent = before), 2000);
  }

  window.addEventListener("hashchange", show);
  document.getElementById("copy-link").addEventListener("click", copyLink);
  document.querySelector("a.skip").addEventListener("click", (event) => {
    event.preventDefault(); // the part after # is the page's state
    reprise.item.focus();
  });
  show();

  return {};
})();
