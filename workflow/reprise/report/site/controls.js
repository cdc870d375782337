"use strict";

/* The filters: they show the state of the address, and a change of one is a new address. */
reprise.controls = (() => {
  const { make } = reprise.dom;
  const TYPING = 150; // milliseconds after the last key that a search waits for
  const form = document.getElementById("filters");
  const choice = (name) => form.elements.namedItem(name);

  /** Choices of a select: {value, text, group, disabled}; the chosen one is kept even where it is unknown. */
  function fill(name, choices, chosen) {
    const found = [];
    let group = null;
    for (const { value, text, under, disabled } of choices) {
      const option = make("option", { value, disabled: disabled && value !== chosen }, text);
      if (!under) {
        found.push(option);
        continue;
      }
      if (!group || group.label !== under) {
        group = make("optgroup", { label: under });
        found.push(group);
      }
      group.append(option);
    }
    choice(name).replaceChildren(...found);
    choice(name).value = chosen;
  }

  const plain = (names, called = {}) => names.map((name) => ({ value: name, text: called[name] || name }));

  function ofRuns(runs, none) {
    const named = runs.map(({ name, label, protocol, sampling }) => ({
      value: name, text: `${label} (${protocol}, ${sampling})`, under: protocol,
    }));
    return [...none, ...named];
  }

  /** Show a state. */
  function show(view) {
    const { catalog, benchmark, state, run, other, metric } = view;
    fill("b", catalog.benchmarks.map(({ name, title }) => ({ value: name, text: title })), benchmark.name);
    fill("task", [{ value: "", text: "all" }, ...plain(benchmark.tasks, benchmark.called)], state.task);
    fill("group", [{ value: "", text: "all" }, ...plain(benchmark.groups, benchmark.called)], state.group);
    fill("run", ofRuns(benchmark.runs, benchmark.runs.length ? [] : [{ value: "", text: "no model has run" }]), run ? run.name : "");
    fill("other", ofRuns(benchmark.runs, [{ value: "", text: "no other" }]), other ? other.name : "");
    fill("metric", plain(view.metrics.length ? view.metrics : [""]), metric);
    const kinds = reprise.filter.choices(view);
    fill("show", [{ value: "", text: "all" }, ...kinds.map(({ name, label, possible }) => ({ value: name, text: label, disabled: !possible }))], state.show);
    if (document.activeElement !== choice("q")) {
      choice("q").value = state.q;
    }
  }

  function changed({ target }) {
    if (target.name === "b") {
      reprise.hash.go({ ...reprise.hash.parse(""), b: target.value });
    } else if (target.name && target.name !== "q") {
      reprise.hash.go({ [target.name]: target.value });
    }
  }

  let typing = 0;

  function typed() {
    clearTimeout(typing);
    typing = setTimeout(() => reprise.hash.go({ q: choice("q").value.trim() }, { replace: true }), TYPING);
  }

  form.addEventListener("change", changed);
  choice("q").addEventListener("input", typed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    choice("q").value = "";
    const { b, run, metric } = reprise.hash.state();
    reprise.hash.go({ ...reprise.hash.parse(""), b, run, metric });
  });

  return { show, search: choice("q") };
})();
