"use strict";

/* Why an item counts as right or wrong in a run: its answers against the expected ones, and the pair or video that it belongs to. */
reprise.verdict = (() => {
  const { make, makeText } = reprise.dom;
  const { outcome } = reprise;
  const MAX_TEXT = 90; // characters of a quoted text
  const MAX_LINKS = 6; // items of a pair or video that a sentence names

  /** Create the block of a run's verdict on the open item. */
  function show(view, { run, columns, letter, samples, data }) {
    const answers = data.answers[run.index] || [];
    const metric = chooseMetric(run, view);
    const head = make("p", {}, outcome.badge(outcome.describe(columns, metric, view.item)), " ",
      ...(view.other ? [make("span", { class: "letter" }, letter), " "] : []), makeText("strong", run.label), ` ${run.title}: `,
      ...reasons(answers, data, run, columns));
    const sample = metric === view.metric && samples && samples.of(view.item);
    return make("div", { class: "why" }, head, sample ? describeSample(view, sample) : null);
  }

  function chooseMetric(run, { metric }) {
    return run.metrics.includes(metric) || metric === outcome.RATING ? metric : run.metrics[0] || "";
  }

  /** Describe every answer to the item; with several answers, each has its role. */
  function reasons(answers, data, run, columns) {
    const requests = (data.requests || {})[run.protocol] || [];
    if (!answers.length) {
      return ["no answer to this item."];
    }
    return answers.flatMap((answer, index) => {
      const request = requests.find(({ role }) => role === answer.role) || {};
      const role = answers.length > 1 ? [index ? "; " : "", makeText("span", answer.role), ": "] : [];
      return [...role, ...reason(answer, { ...request, reference: data.answer }, columns)];
    }).concat(".");
  }

  function reason(answer, { expected, options = [], reference }, columns) {
    const extraction = Object.values(answer.extractions || {})[0] || {};
    if (answer.error) {
      return [`the request failed (${answer.error})`];
    }
    if (extraction.unparsed) {
      return ["no extraction rule matches ", quote(answer.text || "")];
    }
    const rule = extraction.extracted_by ? ` (rule: ${extraction.extracted_by})` : "";
    if (columns.rating) {
      const rating = extraction.score === undefined ? ", not rated" : `, rated ${extraction.score} of ${columns.max_rating}`;
      const best = reference && extraction.score !== columns.max_rating ? [", right is ", quote(reference)] : [];
      return [quote(answer.text || extraction.value || ""), rating, ...best, rule];
    }
    const position = options.indexOf(extraction.value);
    const score = (answer.scores || []).length === options.length && position >= 0 ? ` (p ${+answer.scores[position].toPrecision(2)})` : "";
    const right = expected && expected !== extraction.value ? [", right is ", quote(expected)] : [];
    return ["answered ", quote(extraction.value || answer.text || ""), score, ...right, rule];
  }

  function quote(text) {
    return makeText("span", `“${shorten(text)}”`);
  }

  function shorten(text) {
    return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text;
  }

  /** Describe the verdict of a pair or video, with links to the items that make it wrong. */
  function describeSample(view, { noun, members, wrong, isRight }) {
    const others = wrong.filter((item) => item !== view.item);
    const badge = outcome.badge(outcome.describeSign(isRight ? "1" : "0", view.metric));
    const start = make("p", {}, badge, ` ${noun} of ${reprise.dom.countNoun(members.length, "item")}`);
    if (isRight || !wrong.length) {
      start.append(".");
      return start;
    }
    const links = others.slice(0, MAX_LINKS).map((item) => make("a", { href: reprise.hash.format({ ...view.state, item: view.index.id[item] }) }, reprise.dom.shortenId(view.index.id[item])));
    const causes = [...(wrong.includes(view.item) ? ["this item"] : []), ...links, ...(others.length > MAX_LINKS ? [`${others.length - MAX_LINKS} more`] : [])];
    start.append(": wrong because of ");
    causes.forEach((cause, index) => start.append(cause, index === causes.length - 1 ? "." : index === causes.length - 2 ? " and " : ", "));
    return start;
  }

  return { show };
})();
