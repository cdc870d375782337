"use strict";

/* The form with the filters. It shows the state of the address; a change goes to a new address. */
reprise.controls = (() => {
  const { make } = reprise.dom;
  const FILTERS = ["task", "group", "show"]; // their lists open with their first item
  const SEARCH_DELAY = 150; // milliseconds from the last key to the search
  const form = document.getElementById("filters");
  const control = (name) => form.elements.namedItem(name);

  /** Fill a select with choices {value, text, groupLabel, disabled}. The selected choice stays enabled. */
  function fill(name, choices, selected) {
    const options = [];
    let group = null;
    for (const { value, text, groupLabel, disabled } of choices) {
      const option = make("option", { value, disabled: disabled && value !== selected }, text);
      if (!groupLabel) {
        options.push(option);
        continue;
      }
      if (!group || group.label !== groupLabel) {
        group = make("optgroup", { label: groupLabel });
        options.push(group);
      }
      group.append(option);
    }
    control(name).replaceChildren(...options);
    control(name).value = selected;
  }

  const nameChoices = (names, titles = {}) => names.map((name) => ({ value: name, text: titles[name] || name }));

  function runChoices(runs, firstChoices) {
    // The start of a text is what a narrow select shows: the ablation of a sampling, then the model.
    const choices = runs.map(({ name, label, title, sampling, judge }) => ({
      value: name, text: [...sampling.split(".").slice(1), label, judge].filter(Boolean).join(" · "), groupLabel: title,
    }));
    return [...firstChoices, ...choices];
  }

  /** Show the state of a view. */
  function show(view) {
    const { catalog, benchmark, state, run, other, metric } = view;
    fill("b", catalog.benchmarks.map(({ name, title }) => ({ value: name, text: title })), benchmark.name);
    fill("task", [{ value: "", text: "all" }, ...nameChoices(benchmark.tasks, benchmark.group_names)], state.task);
    fill("group", [{ value: "", text: "all" }, ...nameChoices(benchmark.groups, benchmark.group_names)], state.group);
    fill("run", runChoices(benchmark.runs, benchmark.runs.length ? [] : [{ value: "", text: "no model has run" }]), run ? run.name : "");
    fill("other", runChoices(benchmark.runs, [{ value: "", text: "no other" }]), other ? other.name : "");
    fill("metric", nameChoices(view.metrics.length ? view.metrics : [""]), metric);
    const kinds = reprise.filter.choices(view);
    fill("show", kinds.map(({ name, label, possible }) => ({ value: name, text: label, disabled: !possible })), state.show);
    if (document.activeElement !== control("q")) {
      control("q").value = state.q;
    }
  }

  function onChange({ target }) {
    if (target.name === "b") {
      reprise.hash.go({ ...reprise.hash.parse(""), b: target.value });
    } else if (FILTERS.includes(target.name)) {
      reprise.hash.go({ [target.name]: target.value, item: "" });
    } else if (target.name && target.name !== "q") {
      reprise.hash.go({ [target.name]: target.value });
    }
  }

  let timer = 0;

  function onInput() {
    clearTimeout(timer);
    timer = setTimeout(() => reprise.hash.go({ q: control("q").value.trim(), item: "" }, { replace: true }), SEARCH_DELAY);
  }

  form.addEventListener("change", onChange);
  control("q").addEventListener("input", onInput);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    control("q").value = "";
    const { b, run, metric } = reprise.hash.state();
    reprise.hash.go({ ...reprise.hash.parse(""), b, run, metric });
  });

  return { show, search: control("q") };
})();
