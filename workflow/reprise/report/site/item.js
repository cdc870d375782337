"use strict";

/* One item: its clip, the frames that models saw, its texts with the words that differ, and every model's answers. */
reprise.item = (() => {
  const { make, given } = reprise.dom;
  const place = document.getElementById("item");
  // Texts that are no variants of each other: a question names its options, subtitles name anything.
  const NOT_COMPARED = ["question", "subtitles"];
  let shown = null;
  let drawn = null;

  /** Show the open item of a view, or how to open one. */
  async function show(view) {
    const key = JSON.stringify([view.benchmark.name, view.item, view.run && view.run.name, view.other && view.other.name, view.metric]);
    if (view.item < 0) {
      shown = null;
      place.replaceChildren(heading("No item is open"), make("p", {}, "Choose one of the list, or press j."));
      return;
    }
    if (key !== shown) {
      shown = key;
      drawn = draw(view, key);
    }
    await drawn;
    if (key === shown) {
      position(view);
    }
  }

  async function draw(view, key) {
    const parts = await body(view, await load(view));
    if (key === shown) {
      place.replaceChildren(navigation(), ...parts.filter(Boolean));
      place.scrollTop = 0;
    }
  }

  function heading(text) {
    return given("h2", text, { id: "the-item", tabindex: "-1" });
  }

  /** The item, its clip, and the frames of the chosen runs. */
  async function load({ benchmark, index, item, run, other }) {
    const place = index.clip[item];
    const clipAt = (one) => reprise.entry(benchmark, "clips", one);
    const [data, clip] = await Promise.all([reprise.entry(benchmark, "items", item), clipAt(place)]);
    const samplings = [...new Set([run, other].filter(Boolean).map(({ sampling }) => sampling))];
    const frames = samplings.map(async (sampling) => {
      if (!benchmark.samplings.includes(sampling)) {
        return null;
      }
      const plan = await reprise.entry(benchmark, `frames/${sampling}`, place);
      return { ...plan, another: plan.of === null ? null : await clipAt(plan.of) };
    });
    return { data, clip, samplings, frames: await Promise.all(frames) };
  }

  async function body(view, loaded) {
    const { index, item } = view;
    const { clip } = loaded;
    const { element, video } = reprise.clip.show(clip);
    return [heading(index.id[item]), make("div", { class: "sides" },
      make("div", {}, element, ...seen(frames(view, loaded, video), video), about(view, loaded.data)),
      make("div", {}, section("Texts", texts(loaded.data)), section("Answers", [chosen(view, loaded)]))),
    others(view, loaded), section("Prompts", prompts(view, loaded))];
  }

  function section(title, children) {
    return make("section", {}, make("h3", {}, title), ...children);
  }

  function navigation() {
    const button = (text, by, keys) => make("button", { type: "button", click: () => reprise.grid.step(by), "aria-keyshortcuts": keys }, text);
    return make("nav", { "aria-label": "Items" },
      make("button", { type: "button", class: "back", click: () => reprise.hash.go({ item: "" }) }, "List"),
      button("← Previous", -1, "k"), make("span", { class: "position" }), button("Next →", 1, "j"));
  }

  function position({ order, item }) {
    const here = order.indexOf(item);
    const text = here < 0 ? "not in the list" : `${reprise.dom.count(here + 1)} of ${reprise.dom.count(order.length)}`;
    place.querySelector(".position").textContent = text;
  }

  function about({ benchmark, index, item }, { tags = [], flaws = [] }) {
    const groups = index.sets[index.groups[item]].map((group) => benchmark.groups[group]).join(", ");
    const rows = [["Test", benchmark.tasks[index.task[item]]], ["Groups", groups], ...tags.map(({ name, text }) => [name, text]), ["Flaws", flaws.join(", ")]];
    return make("dl", { class: "about" }, ...rows.filter(([, text]) => text).flatMap(([name, text]) => [given("dt", name), given("dd", text)]));
  }

  /** For each sampling the frames of the chosen runs that were shown any, then a line for each run without. */
  function frames(view, { data, clip, samplings, frames: plans }, video) {
    const chosen = [view.run, view.other].filter(Boolean);
    const isShown = (run, plan) => plan && !run.imported && (data.answers[run.n] || []).some(({ frames: count }) => count);
    return samplings.flatMap((sampling, number) => {
      const plan = plans[number];
      const runs = chosen.filter((run) => run.sampling === sampling);
      const seeing = runs.filter((run) => isShown(run, plan));
      const others = runs.filter((run) => !isShown(run, plan)).map((run) => blind(run, plan));
      return seeing.length ? [ofPlan(view, plan, seeing, { clip, sampling, video }), ...others] : others;
    });
  }

  /** What the chosen runs were shown, beside each other, and a button that plays it. */
  function seen(figures, video) {
    const plays = video && figures.some(({ screen }) => screen);
    const button = plays && make("button", { type: "button", class: "play", "aria-pressed": "false", click: ({ currentTarget }) => reprise.frames.play(figures, currentTarget) }, "Play as shown");
    return [button || null, make("div", { class: "plans" }, ...figures)];
  }

  function ofPlan({ run, other }, { at, note, another }, runs, known) {
    const letter = (one) => (run && other ? `${one === run ? "A" : "B"} ` : "");
    const who = runs.map((one) => `${letter(one)}${one.label}`).join(" and ");
    return reprise.frames.show({ ...known, who, at, note, another: another && another.media });
  }

  function blind({ label, sampling, imported }, plan) {
    const why = sampling === "none" || (plan && !imported) ? "was shown no frame of the clip." : "was run elsewhere: its frames are not known here.";
    return make("p", { class: "frames" }, given("strong", label), ` ${why}`);
  }

  /** Each text once, by all its names; among captions and options the words that differ are marked. */
  function texts({ texts: all = [], answer }) {
    const named = new Map();
    for (const { name, text } of all) {
      named.set(text, [...(named.get(text) || []), name]);
    }
    const isCompared = (names) => !names.some((name) => NOT_COMPARED.includes(name));
    const compared = [...named].filter(([, names]) => isCompared(names)).map(([text]) => text);
    const pieces = new Map(reprise.diff.pieces(compared).map((found, number) => [compared[number], found]));
    const rows = [...named].flatMap(([text, names]) => [given("dt", names.join(", ")), make("dd", { dir: "auto" }, ...marked(text, pieces))]);
    const last = answer ? [make("dt", {}, "right answer"), given("dd", answer)] : [];
    return [make("dl", { class: "texts" }, ...rows, ...last)];
  }

  function marked(text, pieces) {
    const found = pieces.get(text) || [{ text, differs: false }];
    return found.map((piece) => (piece.differs ? make("mark", {}, piece.text) : piece.text));
  }

  function answersOf(run, columns, letter, view, data) {
    return reprise.answers.show({
      run, letter, columns, item: view.item, metric: metricOf(run, view), open: Boolean(letter),
      answers: data.answers[run.n], requests: ofProtocol(data, run),
    });
  }

  /** The answers of the chosen runs side by side. */
  function chosen(view, { data }) {
    const runs = [[view.run, view.columns, "A"], [view.other, view.otherColumns, "B"]].filter(([run]) => run);
    return make("div", { class: "chosen" }, ...runs.map(([run, columns, letter]) => (run.n in data.answers
      ? answersOf(run, columns, letter, view, data)
      : make("p", { class: "run" }, given("strong", run.label), " gave no answer to this item."))));
  }

  /** The answers of all other runs, closed; many runs have long columns, which are loaded once this comes into sight. */
  function others(view, { data }) {
    const runs = view.benchmark.runs.filter((run) => run.n in data.answers && run !== view.run && run !== view.other);
    const found = section("Answers of all others", []);
    const fill = () => Promise.all(runs.map(({ n }) => reprise.load(`${view.benchmark.name}/runs/${n}`))).then(
      (columns) => found.append(...runs.map((run, number) => answersOf(run, columns[number], "", view, data))),
      ({ message }) => found.append(message),
    );
    new IntersectionObserver(([{ isIntersecting }], sight) => {
      if (isIntersecting) {
        sight.disconnect();
        fill();
      }
    }).observe(found);
    return runs.length ? found : null;
  }

  function metricOf(run, { metric }) {
    return run.metrics.includes(metric) || metric === reprise.outcome.RATING ? metric : run.metrics[0] || "";
  }

  function ofProtocol({ requests = {} }, { protocol }) {
    return requests[protocol] || [];
  }

  /** The prompts of the chosen runs' protocols. */
  function prompts(view, { data }) {
    const protocols = [...new Set([view.run, view.other].filter(Boolean).map(({ protocol }) => protocol))];
    const asked = protocols.flatMap((protocol) => ofProtocol(data, { protocol }).map((request) => ({ protocol, ...request })));
    return asked.length ? asked.map(prompt) : [make("p", {}, "No prompt of the chosen models is about this item.")];
  }

  function prompt({ protocol, role, ask, system, prompt: text, options = [], expected }) {
    const rows = [["System", system], ["Prompt", text], ["Options", options.join(" | ")], ["Expected", expected]];
    return make("details", { class: "prompt" }, make("summary", {}, `${protocol}: ${role} (${ask})`),
      ...rows.filter(([, found]) => found).flatMap(([name, found]) => [make("h4", {}, name), given("pre", found)]));
  }

  return { show, video: () => place.querySelector("video"), focus: () => document.getElementById("the-item").focus() };
})();
