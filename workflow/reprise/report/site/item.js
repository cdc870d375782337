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
    const frames = samplings.map(async (sampling) => {
      if (!benchmark.samplings.includes(sampling)) {
        return null;
      }
      const plan = await reprise.entry(benchmark, `frames/${sampling}`, clipIndex);
      return { ...plan, otherClip: plan.source_clip === null ? null : await loadClip(plan.source_clip) };
    });
    return { data, clip, samplings, frames: await Promise.all(frames) };
  }

  async function body(view, loaded) {
    const { index, item } = view;
    const { clip } = loaded;
    const { element, video } = reprise.clip.show(clip);
    return [heading(index.id[item]), ...verdicts(view, loaded), make("div", { class: "sides" },
      make("div", {}, element, ...withPlayButton(frames(view, loaded, video), video), details(view, loaded.data)),
      make("div", {}, section("Texts", texts(loaded.data)), section("Answers", [chosenAnswers(view, loaded)]))),
    otherAnswers(view, loaded), section("Prompts", prompts(view, loaded))];
  }

  /** Say for each chosen run why the item counts as right or wrong. */
  function verdicts(view, { data }) {
    const runs = [[view.run, view.columns, "A"], [view.other, view.otherColumns, "B"]];
    return runs.map(([run, columns, letter], index) => run && reprise.verdict.show(view, { run, columns, letter, samples: view.samples[index], data }));
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

  /** Return for each sampling the frames that the chosen runs got, then a line for each run without frames. */
  function frames(view, { data, clip, samplings, frames: plans }, video) {
    const chosenRuns = [view.run, view.other].filter(Boolean);
    const hasFrames = (run, plan) => plan && !run.imported && (data.answers[run.index] || []).some(({ frames: count }) => count);
    return samplings.flatMap((sampling, index) => {
      const plan = plans[index];
      const runs = chosenRuns.filter((run) => run.sampling === sampling);
      const runsWithFrames = runs.filter((run) => hasFrames(run, plan));
      const notes = runs.filter((run) => !hasFrames(run, plan)).map((run) => withoutFrames(run, plan));
      return runsWithFrames.length ? [planFigure(view, plan, runsWithFrames, { clip, sampling, video }), ...notes] : notes;
    });
  }

  /** Place the frames of the chosen runs side by side, with a button that plays them. */
  function withPlayButton(figures, video) {
    const canPlay = video && figures.some(({ screen }) => screen);
    const button = canPlay && make("button", { type: "button", class: "play", "aria-pressed": "false", click: ({ currentTarget }) => reprise.frames.play(figures, currentTarget) }, "Play these frames");
    return [button || null, make("div", { class: "plans" }, ...figures)];
  }

  function planFigure(view, { times, note, otherClip }, runs, context) {
    const letter = (run) => (view.run && view.other ? `${run === view.run ? "A" : "B"} ` : "");
    const models = runs.map((run) => `${letter(run)}${run.label}`).join(" and ");
    return reprise.frames.show({ ...context, models, times, note, otherVideo: otherClip && otherClip.media });
  }

  function withoutFrames({ label, sampling, imported }, plan) {
    const reason = sampling === "none" || (plan && !imported) ? "got no frames of the clip." : "has imported predictions; its frames are unknown.";
    return make("p", { class: "frames" }, makeText("strong", label), ` ${reason}`);
  }

  /** List each text once, with all its names. Words in which captions or options differ are marked. */
  function texts({ texts: entries = [], answer }) {
    const namesByText = new Map();
    for (const { name, text } of entries) {
      namesByText.set(text, [...(namesByText.get(text) || []), name]);
    }
    const isCompared = (names) => !names.some((name) => NOT_COMPARED.includes(name));
    const compared = [...namesByText].filter(([, names]) => isCompared(names)).map(([text]) => text);
    const segments = new Map(reprise.diff.segments(compared).map((list, index) => [compared[index], list]));
    const rows = [...namesByText].flatMap(([text, names]) => [makeText("dt", names.join(", ")), make("dd", { dir: "auto" }, ...mark(text, segments))]);
    const answerRow = answer ? [make("dt", {}, "right answer"), makeText("dd", answer)] : [];
    return [make("dl", { class: "texts" }, ...rows, ...answerRow)];
  }

  function mark(text, segments) {
    const parts = segments.get(text) || [{ text, differs: false }];
    return parts.map((part) => (part.differs ? make("mark", {}, part.text) : part.text));
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

  /** List the prompts of the chosen runs' protocols. */
  function prompts(view, { data }) {
    const protocols = [...new Set([view.run, view.other].filter(Boolean).map(({ protocol }) => protocol))];
    const requests = protocols.flatMap((protocol) => requestsOf(data, { protocol }).map((request) => ({ protocol, ...request })));
    return requests.length ? requests.map(prompt) : [make("p", {}, "The chosen runs have no prompt about this item.")];
  }

  function prompt({ protocol, role, request_type: requestType, system, prompt: text, options = [], expected }) {
    const rows = [["System", system], ["Prompt", text], ["Options", options.join(" | ")], ["Expected", expected]];
    return make("details", { class: "prompt" }, make("summary", {}, `${protocol}: ${role} (${requestType})`),
      ...rows.filter(([, content]) => content).flatMap(([name, content]) => [make("h4", {}, name), makeText("pre", content)]));
  }

  return { show, video: () => container.querySelector("video"), focus: () => document.getElementById("the-item").focus() };
})();
