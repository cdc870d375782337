"use strict";

/* The answers of models to one item: the text or scores, the extracted options, and the verdicts by both conventions. */
reprise.answers = (() => {
  const { make, makeText, countNoun } = reprise.dom;
  const { outcome } = reprise;
  const CONVENTIONS = [["fixed", "fixed"], ["authors", "authors'"]];
  const MAX_PREVIEW = 60;

  /** Create the element of a run's answers. While it is closed, its summary shows the verdict and a preview. */
  function show({ run, letter, answers, requests, columns, metric, item, open }) {
    const text = answers.map((answer) => answer.text || describeWithoutText(answer)).join(" | ");
    const preview = text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW)}...` : text;
    const summary = make("summary", {}, outcome.badge(outcome.describe(columns, metric, item)), " ",
      letter ? make("span", { class: "letter" }, letter) : null, makeText("strong", run.label),
      make("span", { class: "where" }, ` ${run.title}`), makeText("span", preview, { class: "preview" }));
    const body = answers.map((answer) => section(answer, requests.find(({ role }) => role === answer.role) || {}, columns));
    return make("details", { class: "run", open }, summary, ...body, verdicts(run, columns, item),
      run.page ? make("p", {}, make("a", { href: run.page }, "Page of this run")) : null);
  }

  /** Describe an answer without text: its failure, the extracted option, or its scores. */
  function describeWithoutText({ extractions, scores, error }) {
    const extraction = Object.values(extractions || {})[0];
    return error || (extraction && extraction.value) || (scores || []).map(formatNumber).join(", ");
  }

  /** Create the table with each metric of the item by both conventions. */
  function verdicts(run, columns, item) {
    const extractors = { fixed: run.judge || run.extractor, authors: run.judge ? `${run.judge}.authors` : "authors" };
    const head = CONVENTIONS.map(([name, label]) => make("th", { scope: "col" }, `${label} convention, extracted by ${extractors[name]}`));
    const rows = run.metrics.map((metric) => make("tr", {}, make("th", { scope: "row" }, metric),
      ...CONVENTIONS.map(([name]) => make("td", {}, verdict(outcome.sign(columns, metric, item, name), metric)))));
    const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Metric"), ...head)), make("tbody", {}, ...rows));
    return rows.length ? make("details", { class: "verdicts" }, make("summary", {}, "How it counts"), make("div", { class: "scroll" }, table)) : null;
  }

  function verdict(sign, metric) {
    const description = outcome.describeSign(sign, metric);
    return description ? outcome.badge(description) : "not counted";
  }

  function section(answer, request, columns) {
    return make("section", { class: "answer" },
      make("h4", {}, answer.role, request.expected ? make("span", { class: "where", dir: "auto" }, ` expected: ${request.expected}`) : null),
      answer.error ? make("p", { class: "error" }, make("strong", {}, `Failed: ${answer.error}. `), makeText("span", answer.message || "")) : null,
      answer.text ? makeText("pre", answer.text) : null,
      ...(answer.scores || []).map((score, index) => bar(score, scoreName(request, answer.scores, index))),
      make("ul", { class: "extractions" }, ...extractionLines(answer, request, columns)),
      make("p", { class: "where" }, usage(answer)));
  }

  function scoreName({ options = [] }, scores, index) {
    return options.length === scores.length ? `p(${options[index]})` : "score";
  }

  /** Create the line of a score, with a bar if it is between 0 and 1. */
  function bar(score, label) {
    const isShare = score !== null && score >= 0 && score <= 1;
    const fill = make("i");
    fill.style.width = `${isShare ? 100 * score : 0}%`;
    return make("p", { class: "score" }, makeText("span", label), isShare ? make("span", { class: "bar", "aria-hidden": "true" }, fill) : null,
      make("output", {}, score === null ? "no number" : formatNumber(score)));
  }

  function formatNumber(number) {
    return number === null ? "no number" : String(+number.toPrecision(4));
  }

  function extractionLines({ extractions = {} }, request, columns) {
    const entries = Object.entries(extractions);
    const lines = entries.map(([extractor, extraction]) => make("li", {}, make("span", { class: "extractor" }, `${extractor}: `), ...describe(extraction, request, columns)));
    if (entries.length === 1) {
      lines.push(make("li", { class: "where" }, columns.rating ? "authors: the same rating" : "authors: the same"));
    }
    return entries.length ? lines : [make("li", { class: "where" }, "no extractor was applied to this answer")];
  }

  function describe({ value = "", score, right, unparsed, failed, extracted_by: rule, reply }, request, columns) {
    if (failed || unparsed) {
      return [failed ? "failed, nothing to extract" : "unparsed", reply ? makeText("pre", reply) : ""];
    }
    const isRated = columns.rating || (request.request_type === "write" && score !== undefined);
    const verdict = isRated ? "" : right ? ", right" : ", wrong";
    const number = score === undefined ? "" : columns.rating ? `, rated ${formatNumber(score)}` : `, score ${formatNumber(score)}`;
    const source = rule ? `, extracted by: ${rule}` : "";
    return [makeText("q", value), number, verdict, source, reply && reply !== value ? makeText("pre", reply) : ""];
  }

  function usage({ frames = 0, tokens_in: tokensIn = 0, tokens_out: tokensOut = 0 }) {
    return `${countNoun(frames, "frame")}, ${countNoun(tokensIn, "token")} in, ${countNoun(tokensOut, "token")} out`;
  }

  return { show };
})();
