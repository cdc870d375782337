"use strict";

/* The answers of models to one item: what was written or scored, how it was read, and the verdict by both conventions. */
reprise.answers = (() => {
  const { make, given, counted } = reprise.dom;
  const { outcome } = reprise;
  const CONVENTIONS = [["fixed", "fixed"], ["authors", "authors'"]];
  const PREVIEW = 60;

  /** A run's answers; closed ones say their verdict on one line. */
  function show({ run, letter, answers, requests, columns, metric, item, open }) {
    const said = answers.map((one) => one.text || ofReading(one)).join(" | ");
    const preview = said.length > PREVIEW ? `${said.slice(0, PREVIEW)}...` : said;
    const summary = make("summary", {}, outcome.badge(outcome.shown(columns, metric, item)), " ",
      letter ? make("span", { class: "letter" }, letter) : null, given("strong", run.label),
      make("span", { class: "where" }, ` ${run.protocol}, ${run.sampling}`), given("span", preview, { class: "preview" }));
    const body = answers.map((answer) => ofAnswer(answer, requests.find(({ role }) => role === answer.role) || {}, columns));
    return make("details", { class: "run", open }, summary, ...body, verdicts(run, columns, item),
      run.page ? make("p", {}, make("a", { href: run.page }, "About this run")) : null);
  }

  function ofReading({ read, scores, error }) {
    const reading = Object.values(read || {})[0];
    return error || (reading && reading.value) || (scores || []).map(shortened).join(", ");
  }

  /** Each measure of the item by both conventions. */
  function verdicts(run, columns, item) {
    const second = run.judge ? `${run.judge}.authors` : "authors";
    const readers = { fixed: run.judge || run.reader, authors: second };
    const head = CONVENTIONS.map(([name, label]) => make("th", { scope: "col" }, `${label} convention, read by ${readers[name]}`));
    const rows = run.metrics.map((metric) => make("tr", {}, make("th", { scope: "row" }, metric),
      ...CONVENTIONS.map(([name]) => make("td", {}, verdict(outcome.sign(columns, metric, item, name), metric)))));
    const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Measure"), ...head)), make("tbody", {}, ...rows));
    return rows.length ? make("details", { class: "counted" }, make("summary", {}, "How it counts"), make("div", { class: "scroll" }, table)) : null;
  }

  function verdict(sign, metric) {
    const found = outcome.ofSign(sign, metric);
    return found ? outcome.badge(found) : "not counted";
  }

  function ofAnswer(answer, request, columns) {
    return make("section", { class: "answer" },
      make("h4", {}, answer.role, request.expected ? make("span", { class: "where", dir: "auto" }, ` expected: ${request.expected}`) : null),
      answer.error ? make("p", { class: "error" }, make("strong", {}, `Failed: ${answer.error}. `), given("span", answer.message || "")) : null,
      answer.text ? given("pre", answer.text) : null,
      ...(answer.scores || []).map((score, place) => bar(score, name(request, answer.scores, place))),
      make("ul", { class: "readings" }, ...readings(answer, request, columns)),
      make("p", { class: "where" }, spent(answer)));
  }

  function name({ options = [] }, scores, place) {
    return options.length === scores.length ? `p(${options[place]})` : "score";
  }

  /** A score with its number; a bar where it is a share. */
  function bar(score, label) {
    const isShare = score !== null && score >= 0 && score <= 1;
    const fill = make("i");
    fill.style.width = `${isShare ? 100 * score : 0}%`;
    return make("p", { class: "score" }, given("span", label), isShare ? make("span", { class: "bar", "aria-hidden": "true" }, fill) : null,
      make("output", {}, score === null ? "no number" : shortened(score)));
  }

  function shortened(number) {
    return number === null ? "no number" : String(+number.toPrecision(4));
  }

  function readings({ read = {} }, request, columns) {
    const named = Object.entries(read);
    const lines = named.map(([reader, reading]) => make("li", {}, make("span", { class: "reader" }, `${reader}: `), ...ofRead(reading, request, columns)));
    if (named.length === 1) {
      lines.push(make("li", { class: "where" }, columns.rating ? "the authors' convention: the same rating" : "authors: reads the same"));
    }
    return named.length ? lines : [make("li", { class: "where" }, "no reader read this answer")];
  }

  function ofRead({ value = "", score, right, unparsed, failed, by, reply }, request, columns) {
    if (failed || unparsed) {
      return [failed ? "failed, nothing to read" : "cannot be read", reply ? given("pre", reply) : ""];
    }
    const isRated = columns.rating || (request.ask === "write" && score !== undefined);
    const judged = isRated ? "" : right ? ", right" : ", wrong";
    const number = score === undefined ? "" : columns.rating ? `, rated ${shortened(score)}` : `, score ${shortened(score)}`;
    const how = by ? `, read by: ${by}` : "";
    return ["reads ", given("q", value), number, judged, how, reply && reply !== value ? given("pre", reply) : ""];
  }

  function spent({ frames = 0, tokens_in: tokensIn = 0, tokens_out: tokensOut = 0 }) {
    return `${counted(frames, "frame")} shown, ${counted(tokensIn, "token")} in, ${counted(tokensOut, "token")} out`;
  }

  return { show };
})();
