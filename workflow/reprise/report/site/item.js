"use strict";

/* One item: its clip, the frames that models got, its texts with marked differences, and the answers of all runs. */
reprise.item = (() => {
  const { make, makeText } = reprise.dom;
  const container = document.getElementById("item");
  // Texts that are not compared with others: a question contains its options, and subtitles are no variants.
  const NOT_COMPARED = ["question", "subtitles"];
  let shownKey = null;
  let drawing = null;

  /** Show the open item of a view, or a hint how to open one. */
  async function show(view) {
    const key = JSON.stringify([view.benchmark.name, view.item, view.run && view.run.name, view.other && view.other.name, view.metric, view.state.group, view.state.task]);
    if (view.item < 0) {
      shownKey = null;
      container.replaceChildren(heading("No item is open"), make("p", {}, "Choose an item in the list, or press j."));
      return;
    }
    if (key !== shownKey) {
      shownKey = key;
      drawing = draw(view, key);
    }
    await drawing;
    if (key === shownKey) {
      showPosition(view);
    }
  }

  async function draw(view, key) {
    const parts = await body(view, await load(view));
    if (key === shownKey) {
      container.replaceChildren(navigation(), ...parts.filter(Boolean));
      container.scrollTop = 0;
    }
  }

  function heading(text) {
    return makeText("h2", text, { id: "the-item", tabindex: "-1" });
  }

  /** Load the item, its clip, and the frames of the chosen runs. */
  async function load({ benchmark, index, item, run, other }) {
    const clipIndex = index.clip[item];
    const loadClip = (number) => reprise.entry(benchmark, "clips", number);
    const [data, clip] = await Promise.all([reprise.entry(benchmark, "items", item), loadClip(clipIndex)]);
    const samplings = [...new Set([run, other].filter(Boolean).map(({ sampling }) => sampling))];
    const loadPlan = (sampling) => (benchmark.samplings.includes(sampling) ? reprise.entry(benchmark, `frames/${sampling}`, clipIndex) : null);
    const frames = samplings.map(async (sampling) => {
      const plan = await loadPlan(sampling);
      if (!plan) {
        return null;
      }
      const planned = [...new Set((await loadPlan(plannedName(benchmark, sampling))).times)].sort((a, b) => a - b);
      return { ...plan, planned, otherClip: plan.source_clip === null ? null : await loadClip(plan.source_clip) };
    });
    return { data, clip, clipIndex, samplings, frames: await Promise.all(frames) };
  }

  /** Return the sampling whose frames an ablation shows in another way, or the sampling itself. */
  function plannedName({ samplings }, sampling) {
    const base = sampling.slice(0, Math.max(0, sampling.lastIndexOf(".")));
    return samplings.includes(base) ? base : sampling;
  }

  async function body(view, loaded) {
    const { index, item } = view;
    const { clip } = loaded;
    const { element, video } = reprise.clip.show(clip);
    const figures = frames(view, loaded, video);
    const { compared, others } = texts(loaded.data);
    const models = reprise.outcome.describeModels(view, item);
    return [heading(index.id[item]), models ? make("p", { class: "where" }, `${models} (${view.run.title})`) : null, make("section", { class: "saw", "aria-label": "What the models saw and answered" },
      compared, ...runsBySampling(view, loaded).flatMap(({ runs }, position) => [...runs.map((run) => verdict(view, loaded, run)), figures[position]]),
      playButton(figures, video), reprise.filmstrip.buttons(view, loaded, () => container.querySelector(".saw"))),
    make("div", { class: "sides" }, make("div", {}, element, details(view, loaded.data)),
      make("div", {}, others ? section("Question and answer", [others]) : null, section("Answers", [chosenAnswers(view, loaded)]))),
    section("Prompts", prompts(view, loaded)), otherAnswers(view, loaded)];
  }

  /** Return the chosen runs by sampling, with the frames of each sampling. */
  function runsBySampling(view, { samplings, frames: plans }) {
    const chosenRuns = [view.run, view.other].filter(Boolean);
    return samplings.map((sampling, index) => ({ sampling, plan: plans[index], runs: chosenRuns.filter((run) => run.sampling === sampling) }));
  }

  /** Say why the item counts as right or wrong in a chosen run. */
  function verdict(view, { data }, run) {
    const isFirst = run === view.run;
    const columns = isFirst ? view.columns : view.otherColumns;
    return reprise.verdict.show(view, { run, columns, letter: isFirst ? "A" : "B", samples: view.samples[isFirst ? 0 : 1], data });
  }

  function section(title, children) {
    return make("section", {}, make("h3", {}, title), ...children);
  }

  function navigation() {
    const button = (text, offset, keys) => make("button", { type: "button", click: () => reprise.grid.step(offset), "aria-keyshortcuts": keys }, text);
    return make("nav", { "aria-label": "Items" },
      make("button", { type: "button", class: "back", click: () => reprise.hash.go({ item: "" }) }, "List"),
      button("← Previous", -1, "k"), make("span", { class: "position" }), button("Next →", 1, "j"));
  }

  /** Show the position of the open item in the list. */
  function showPosition({ order, item }) {
    const index = order.indexOf(item);
    const text = index < 0 ? "not in the list" : `${reprise.dom.count(index + 1)} of ${reprise.dom.count(order.length)}`;
    container.querySelector(".position").textContent = text;
  }

  function details({ benchmark, index, item }, { tags = [], flaws = [] }) {
    const groups = index.group_sets[index.group_set[item]].map((group) => benchmark.groups[group]).join(", ");
    const rows = [["Test", benchmark.tasks[index.task[item]]], ["Groups", groups], ...tags.map(({ name, text }) => [name, text]), ["Flaws", flaws.join(", ")]];
    return make("dl", { class: "details" }, ...rows.filter(([, text]) => text).flatMap(([name, text]) => [makeText("dt", name), makeText("dd", text)]));
  }

  /** Return for each sampling the frames that the chosen runs got, or a line that says why there are none. */
  function frames(view, loaded, video) {
    const { data, clip } = loaded;
    const hasFrames = (run, plan) => plan && !run.imported && (data.answers[run.index] || []).some(({ frames: count }) => count);
    return runsBySampling(view, loaded).map(({ plan, runs }) => {
      const runsWithFrames = runs.filter((run) => hasFrames(run, plan));
      return runsWithFrames.length ? planFigure(view, plan, runsWithFrames, { clip, video }) : withoutFrames(runs[0], plan);
    });
  }

  /** Create a button that plays the frames of the figures, if there are frames. */
  function playButton(figures, video) {
    const canPlay = video && figures.some(({ screen }) => screen);
    return canPlay ? make("button", { type: "button", class: "play", "aria-pressed": "false", click: ({ currentTarget }) => reprise.frames.play(figures, currentTarget) }, "Play these frames") : null;
  }

  function planFigure(view, { times, planned, note, otherClip }, runs, context) {
    const letter = (run) => (view.run && view.other ? `${run === view.run ? "A" : "B"} ` : "");
    const models = runs.map((run) => `${letter(run)}${run.label}`).join(" and ");
    const figure = reprise.frames.show({ ...context, models, times, planned, note, sampling: runs[0].frames, otherVideo: otherClip && otherClip.media });
    return Object.assign(figure, { plan: { times, planned, otherClip } }); // for `filmstrip`
  }

  function withoutFrames({ label, sampling, imported }, plan) {
    const reason = sampling === "none" || (plan && !imported) ? "got no frames of the clip." : "has imported predictions; its frames are unknown.";
    return make("p", { class: "frames" }, makeText("strong", label), ` ${reason}`);
  }

  /** Return a list of the texts that are compared, with the words in which they differ marked, and a list of the other texts with the right answer. Each text is listed once, with all its names. */
  function texts({ texts: entries = [], answer = "", tags = [] }) {
    const half = (tags.find(({ name }) => name === "half") || {}).text; // names the caption of a pair that the item is about
    const namesByText = new Map();
    for (const { name, text } of entries) {
      namesByText.set(text, [...(namesByText.get(text) || []), name]);
    }
    const isCompared = ([, names]) => !names.some((name) => NOT_COMPARED.includes(name));
    const isRight = (names) => names.includes("positive") || names.some((name) => name.toLowerCase() === answer.toLowerCase());
    const compared = [...namesByText].filter(isCompared);
    const segments = reprise.diff.segments(compared.map(([text]) => text));
    const describe = (names) => `${names.join(", ")}${names.includes(half) ? ", asked" : ""}${isRight(names) ? " ✓" : ""}`;
    const comparedRows = compared.flatMap(([, names], index) => [makeText("dt", describe(names)), make("dd", { dir: "auto" }, ...mark(segments[index]))]);
    const otherRows = [...[...namesByText].filter((entry) => !isCompared(entry)).map(([text, names]) => [names.join(", "), text]), ["right answer", answer]];
    const others = otherRows.filter(([, text]) => text).flatMap(([name, text]) => [makeText("dt", name), makeText("dd", text)]);
    const list = (rows) => (rows.length ? make("dl", { class: "texts" }, ...rows) : null);
    return { compared: list(comparedRows), others: list(others) };
  }

  function mark(segments) {
    return segments.map((part) => (part.differs ? make("mark", {}, part.text) : part.text));
  }

  function answersElement(run, columns, letter, view, data) {
    return reprise.answers.show({
      run, letter, columns, item: view.item, metric: chooseMetric(run, view), open: Boolean(letter),
      answers: data.answers[run.index], requests: requestsOf(data, run),
    });
  }

  /** Place the answers of the chosen runs side by side. */
  function chosenAnswers(view, { data }) {
    const runs = [[view.run, view.columns, "A"], [view.other, view.otherColumns, "B"]].filter(([run]) => run);
    return make("div", { class: "chosen" }, ...runs.map(([run, columns, letter]) => (run.index in data.answers
      ? answersElement(run, columns, letter, view, data)
      : make("p", { class: "run" }, makeText("strong", run.label), " has no answer to this item."))));
  }

  /** Create the section with the closed answers of all other runs. Their long columns are loaded when it becomes visible. */
  function otherAnswers(view, { data }) {
    const runs = view.benchmark.runs.filter((run) => run.index in data.answers && run !== view.run && run !== view.other);
    const element = section("Answers of other runs", []);
    const fill = () => Promise.all(runs.map(({ index }) => reprise.load(`${view.benchmark.name}/runs/${index}`))).then(
      (columns) => element.append(...runs.map((run, index) => answersElement(run, columns[index], "", view, data))),
      ({ message }) => element.append(message),
    );
    new IntersectionObserver(([{ isIntersecting }], observer) => {
      if (isIntersecting) {
        observer.disconnect();
        fill();
      }
    }).observe(element);
    return runs.length ? element : null;
  }

  function chooseMetric(run, { metric }) {
    return run.metrics.includes(metric) || metric === reprise.outcome.RATING ? metric : run.metrics[0] || "";
  }

  function requestsOf({ requests = {} }, { protocol }) {
    return requests[protocol] || [];
  }

  /** List the prompts of the chosen runs' protocols, with the first one open. */
  function prompts(view, { data }) {
    const protocols = [...new Set([view.run, view.other].filter(Boolean).map(({ protocol }) => protocol))];
    const requests = protocols.flatMap((protocol) => requestsOf(data, { protocol }).map((request) => ({ protocol, ...request })));
    return requests.length ? requests.map((request, position) => prompt(request, position === 0)) : [make("p", {}, "The chosen runs have no prompt about this item.")];
  }

  function prompt({ protocol, role, request_type: requestType, system, prompt: text, options = [], expected }, open) {
    const rows = [["System", system], ["Prompt", text], ["Options", options.join(" | ")], ["Expected", expected]];
    return make("details", { class: "prompt", open }, make("summary", {}, `${protocol}: ${role} (${requestType})`),
      ...rows.filter(([, content]) => content).flatMap(([name, content]) => [make("h4", {}, name), makeText("pre", content)]));
  }

  return { show, video: () => container.querySelector("video"), focus: () => document.getElementById("the-item").focus() };
})();
