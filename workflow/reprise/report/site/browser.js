"use strict";

/* The page of the item browser. Its address contains its state, and the page shows the data that the address selects. */
reprise.browser = (() => {
  const { count, countNoun } = reprise.dom;
  const itemCount = document.getElementById("item-count");
  const outcomeCount = document.getElementById("outcome-count");
  const errorLine = document.getElementById("error");
  let latestCallNumber = 0; // number of the latest call of `show`; earlier calls stop
  let cachedList = {};
  let isFirstView = true;

  /** Load the benchmark, runs, metric and item that a state selects. */
  async function loadView(state) {
    const catalog = await reprise.load("catalog");
    const benchmark = findNamed(catalog.benchmarks, state.b) || catalog.benchmarks[0];
    if (!benchmark) {
      throw new Error("This report has no benchmark with items.");
    }
    const run = findNamed(benchmark.runs, state.run) || defaultRun(benchmark.runs);
    const other = findNamed(benchmark.runs, state.other);
    const loadColumns = (selected) => (selected ? reprise.load(`${benchmark.name}/runs/${selected.index}`) : null);
    const isComparable = run && other && run.comparable.includes(other.index);
    const setting = run ? `${run.protocol}/${run.sampling}` : "";
    const [index, columns, otherColumns, texts, comparisons, models] = await Promise.all([
      reprise.load(`${benchmark.name}/index`), loadColumns(run), loadColumns(other), state.q ? reprise.load(`${benchmark.name}/texts`) : null,
      isComparable ? reprise.load(`${benchmark.name}/comparisons/${run.index}`) : null,
      benchmark.settings_with_models.includes(setting) ? reprise.load(`${benchmark.name}/models/${setting}`) : {},
    ]);
    const metrics = run ? reprise.outcome.metrics(run, columns) : [];
    const metric = [state.metric, benchmark.metric].find((name) => metrics.includes(name)) || metrics[0] || "";
    const item = state.item ? index.id.indexOf(state.item) : -1;
    return { catalog, benchmark, run, other, index, columns, otherColumns, texts, difference: comparisons && comparisons[other.index], models: models[metric], metrics, metric, item, state: normalize(state, benchmark) };
  }

  function findNamed(entries, name) {
    return entries.find((entry) => entry.name === name) || null;
  }

  /** Return the run to show by default: the first of a model, not a baseline, with the most common protocol and sampling. */
  function defaultRun(allRuns) {
    const modelRuns = allRuns.filter(({ reference }) => !reference);
    const runs = modelRuns.length ? modelRuns : allRuns;
    const countAlike = ({ protocol, sampling }) => runs.filter((run) => run.protocol === protocol && run.sampling === sampling).length;
    return runs.reduce((best, run) => (best && countAlike(best) >= countAlike(run) ? best : run), null);
  }

  /** Go to the initial state of a benchmark if the address names nothing else. Return whether the page went there. */
  async function openInitialState({ b, ...others }) {
    const { benchmarks } = await reprise.load("catalog");
    const { initial_state: initial = {} } = findNamed(benchmarks, b) || (!b && benchmarks[0]) || {};
    const isNeeded = Boolean(initial.run) && !Object.values(others).some(Boolean);
    if (isNeeded) {
      reprise.hash.go(initial, { replace: true });
    }
    return isNeeded;
  }

  /** Separate tests from groups, because links of table cells name both by `group`. The group "all" is no filter. */
  function normalize(state, { name, tasks, groups }) {
    const group = state.group === "all" ? "" : state.group;
    const isTask = !groups.includes(group) && tasks.includes(group);
    return { ...state, b: name, group: isTask ? "" : group, task: isTask ? group : state.task };
  }

  /** Return the view with its filtered items. The lists are cached until a filter changes. */
  function applyFilters(view) {
    const { b, task, group, q, show: kind } = view.state;
    const key = JSON.stringify([b, task, group, q, kind, view.run && view.run.name, view.other && view.other.name, view.metric]);
    if (key !== cachedList.key) {
      const candidates = reprise.filter.select(view.index.id.length, reprise.filter.itemTests(view));
      const tests = reprise.filter.outcomeTests(view);
      // A search does not divide pairs and videos.
      const members = q ? reprise.filter.select(view.index.id.length, reprise.filter.itemTests({ ...view, state: { ...view.state, q: "" } })) : candidates;
      const samples = [view.columns, view.otherColumns].map((columns) => reprise.samples.find(view, columns, members));
      const order = reprise.samples.sortWrongFirst(view, candidates.filter((item) => tests.every((test) => test(item))), samples[0]);
      cachedList = { key, candidates, order, samples };
    }
    const { candidates, order, samples } = cachedList;
    return { ...view, candidates, order, samples };
  }

  /** Open the first item of the list if no item is open. A narrow window shows the list or an item, so there only the first view does this. Return whether the page goes there. */
  function openFirstItem({ index, order, item, state }) {
    const isWide = !matchMedia("(max-width: 50rem)").matches;
    const isNeeded = item < 0 && !state.item && order.length > 0 && (isWide || isFirstView);
    if (isNeeded) {
      reprise.hash.go({ item: index.id[order[0]] }, { replace: true });
    }
    return isNeeded;
  }

  /** Return a message that lists the names of an address that this report does not have. */
  function describeUnknown({ benchmark, run, other, metric, item, state }, requested) {
    const checks = [
      [requested.b && requested.b !== benchmark.name, `benchmark “${requested.b}”`],
      [requested.run && (!run || run.name !== requested.run), `run “${requested.run}”`],
      [requested.other && !other, `run “${requested.other}”`],
      [requested.metric && requested.metric !== metric, `metric “${requested.metric}” of single items for this run`],
      [state.group && !benchmark.groups.includes(state.group), `test or group “${state.group}”`],
      [state.task && !benchmark.tasks.includes(state.task), `test “${state.task}”`],
      [requested.item && item < 0, `item “${requested.item}”`],
    ];
    const missing = checks.filter(([isMissing]) => isMissing).map(([, name]) => name);
    return missing.length ? `This report has no ${missing.join(", no ")}.` : "";
  }

  function showError(text) {
    errorLine.textContent = text;
    errorLine.hidden = !text;
  }

  async function show() {
    latestCallNumber += 1;
    const callNumber = latestCallNumber;
    const requested = reprise.hash.state();
    try {
      if (await openInitialState(requested)) {
        return;
      }
      const view = applyFilters(await loadView(requested));
      if (callNumber !== latestCallNumber || openFirstItem(view)) {
        return;
      }
      isFirstView = false;
      showHeader(view);
      showError(describeUnknown(view, requested));
      document.body.classList.toggle("item-open", view.item >= 0);
      reprise.controls.show(view);
      reprise.provenance.show(view);
      reprise.comparison.show(view);
      await reprise.item.show(view);
      await reprise.grid.show(view);
      document.body.dataset.shown = callNumber;
    } catch (error) {
      showError(error.message);
      throw error;
    }
  }

  /** Describe how many of the listed items, pairs or videos are wrong in the first run. */
  function describeOutcomes({ columns, metric, order, samples: [samples] }) {
    const { RATING, isCounted, value } = reprise.outcome;
    const counted = columns ? order.filter((item) => isCounted(columns, metric, item)) : [];
    if (!metric || !counted.length) {
      return "";
    }
    if (metric === RATING) {
      const total = counted.reduce((sum, item) => sum + (value(columns, metric, item) || 0), 0);
      return `mean rating ${(total / counted.length).toFixed(2)} of ${columns.max_rating}`;
    }
    const wrong = counted.filter((item) => value(columns, metric, item) !== 1).length;
    const items = `${count(wrong)} wrong, ${count(counted.length - wrong)} right`;
    if (!samples) {
      return items;
    }
    const listed = new Set(counted.map((item) => samples.of(item)));
    const right = [...listed].filter(({ isRight }) => isRight).length;
    return `${items}; ${count(listed.size - right)} wrong and ${count(right)} right of ${countNoun(listed.size, samples.noun)}`;
  }

  function showHeader(view) {
    const { catalog, benchmark, index, order } = view;
    document.title = `Items of ${benchmark.title}: ${catalog.title}`;
    document.getElementById("title").textContent = `Items of ${benchmark.title}`;
    const notice = document.getElementById("notice");
    notice.textContent = [catalog.notice, benchmark.redistribution].filter(Boolean).join(" ");
    notice.hidden = !notice.textContent;
    itemCount.textContent = `${count(order.length)} of ${countNoun(index.id.length, "item")}`;
    outcomeCount.textContent = describeOutcomes(view);
  }

  async function copyLink({ target }) {
    const label = target.textContent;
    try {
      await navigator.clipboard.writeText(location.href);
      target.textContent = "Copied";
    } catch {
      target.textContent = "Copy the address above"; // the browser may deny access to the clipboard
    }
    setTimeout(() => (target.textContent = label), 2000);
  }

  window.addEventListener("hashchange", show);
  document.getElementById("copy-link").addEventListener("click", copyLink);
  document.querySelector("a.skip").addEventListener("click", (event) => {
    event.preventDefault(); // the part after # is the state of the page
    reprise.item.focus();
  });
  show();

  return {};
})();
