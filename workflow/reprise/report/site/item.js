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

  /** The item's chunk, the frames of the chosen runs, and the columns of every run that answered. */
  async function load({ catalog, benchmark, item, run, other }) {
    const chunk = await reprise.load(`${benchmark.name}/items/${Math.floor(item / catalog.chunk)}`);
    const data = chunk[item % catalog.chunk];
    const answered = benchmark.runs.filter(({ n }) => n in data.answers);
    const columns = await Promise.all(answered.map(({ n }) => reprise.load(`${benchmark.name}/runs/${n}`)));
    const samplings = [...new Set([run, other].filter(Boolean).map(({ sampling }) => sampling))];
    const frames = samplings.map((sampling) => (benchmark.samplings.includes(sampling) ? reprise.load(`${benchmark.name}/frames/${sampling}`) : null));
    return { data, answered, columns, samplings, frames: await Promise.all(frames) };
  }

  async function body(view, loaded) {
    const { index, item } = view;
    const clip = index.clips[index.clip[item]];
    const { element, video } = reprise.clip.show(clip);
    const { chosen, others } = answers(view, loaded);
    return [heading(index.id[item]), make("div", { class: "sides" },
      make("div", {}, element, ...seen(frames(view, loaded, clip, video), video), about(view, loaded.data)),
      make("div", {}, section("Texts", texts(loaded.data)), section("Answers", chosen))),
    others.length ? section("Answers of all others", others) : null, section("Prompts", prompts(view, loaded))];
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
    const groups = index.groups[item].map((group) => benchmark.groups[group]).join(", ");
    const rows = [["Test", benchmark.tasks[index.task[item]]], ["Groups", groups], ...tags.map(({ name, text }) => [name, text]), ["Flaws", flaws.join(", ")]];
    return make("dl", { class: "about" }, ...rows.filter(([, text]) => text).flatMap(([name, text]) => [given("dt", name), given("dd", text)]));
  }

  /** For each sampling the frames of the chosen runs that were shown any, then a line for each run without. */
  function frames(view, { data, samplings, frames: plans }, clip, video) {
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

  function ofPlan({ index, item, run, other }, { times, at, of, note }, runs, known) {
    const clip = index.clip[item];
    const another = index.clips[of[clip]];
    const letter = (one) => (run && other ? `${one === run ? "A" : "B"} ` : "");
    const who = runs.map((one) => `${letter(one)}${one.label}`).join(" and ");
    return reprise.frames.show({ ...known, who, at: at[clip] || times[clip], note: note[clip], another: another && another.media });
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

  /** The chosen runs side by side, then all others, closed. */
  function answers(view, { data, answered, columns }) {
    const shown_ = (run, place_, letter) => reprise.answers.show({
      run, letter, item: view.item, metric: metricOf(run, view), columns: columns[place_], open: Boolean(letter),
      answers: data.answers[run.n], requests: ofProtocol(data, run),
    });
    const chosen = [[view.run, "A"], [view.other, "B"]].filter(([run]) => run);
    const first = chosen.map(([run, letter]) => {
      const at = answered.indexOf(run);
      return at < 0 ? make("p", { class: "run" }, given("strong", run.label), " gave no answer to this item.") : shown_(run, at, letter);
    });
    const rest = answered.map((run, place_) => [run, place_]).filter(([run]) => run !== view.run && run !== view.other);
    return { chosen: [make("div", { class: "chosen" }, ...first)], others: rest.map(([run, place_]) => shown_(run, place_, "")) };
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
