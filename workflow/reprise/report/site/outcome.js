"use strict";

/* The outcome of an item in a run: the signs in the data's columns, and their labels. */
reprise.outcome = (() => {
  const RATING = "rating";
  const RIGHT = { sign: "✓", word: "right", kind: "good" };
  const WRONG = { sign: "✗", word: "wrong", kind: "bad" };
  const STATES = {
    f: { sign: "!", word: "failed", kind: "bad" },
    u: { sign: "?", word: "unparsed", kind: "bad" },
    m: { sign: "∅", word: "no clip", kind: "none" },
    "-": { sign: "–", word: "not requested", kind: "none" },
  };
  const ANSWERED = { sign: "•", word: "answered", kind: "none" };

  /** Return the metrics of a run that have a value for single items. */
  function metrics(run, columns) {
    return columns && columns.rating ? [RATING, ...run.metrics] : run.metrics;
  }

  /** Return the sign of a metric for an item; "-" if it has none. The authors' column exists only if it differs. */
  function sign(columns, metric, item, convention = "fixed") {
    const column = metric === RATING ? columns.rating : ((columns[convention] || {})[metric] ?? columns.fixed[metric]);
    return column ? column[item] : "-";
  }

  /** Return whether a metric counts pairs or videos. */
  function countsSamples(columns, metric) {
    return ["clip_id", "pair"].includes((columns.samples || {})[metric]);
  }

  /** Return the sign of an item by its own answers. A comparison of two videos is no answer to one item; it has the sign of its pair. */
  function itemSign(columns, metric, item) {
    const mark = sign(columns, metric, item);
    return mark !== "-" && countsSamples(columns, metric) && columns.item_right ? columns.item_right[item] : mark;
  }

  /** Return a number that is larger for a better answer to the item; null if the item does not count. */
  function value(columns, metric, item) {
    return toNumber(itemSign(columns, metric, item));
  }

  /** Return a number that is larger for a better sample of the metric: the item, or its pair or video. */
  function sampleValue(columns, metric, item) {
    return toNumber(sign(columns, metric, item));
  }

  function toNumber(mark) {
    return mark === "-" ? null : Number(mark);
  }

  /** Return whether a run's numbers count an item by a metric. A metric without a column, such as a bias, counts all requested items. */
  function isCounted(columns, metric, item) {
    const isRequested = "afu".includes(columns.state[item]);
    return metric && metric !== RATING ? sign(columns, metric, item) !== "-" : isRequested;
  }

  /** Return how a sign of a metric is displayed; a rating is displayed with the best possible one. */
  function describeSign(mark, metric, maxRating) {
    if (mark === "-") {
      return null;
    }
    if (metric === RATING) {
      return { sign: mark, word: `of ${maxRating}`, kind: "none" };
    }
    return mark === "1" ? RIGHT : WRONG;
  }

  /** Return how an item of a run is displayed: the verdict on its own answers, and its state if that explains a wrong one. */
  function describe(columns, metric, item) {
    const state = STATES[columns.state[item]];
    const verdict = describeSign(itemSign(columns, metric, item), metric, columns.max_rating);
    if (!verdict) {
      return state || ANSWERED;
    }
    return state && verdict !== RIGHT ? { ...verdict, sign: `${verdict.sign} ${state.sign}`, word: `${verdict.word}, ${state.word}` } : verdict;
  }

  /** Describe how many models answer an item right; empty if few models share its protocol and sampling. */
  function describeModels({ models }, item) {
    return models && models.models[item] ? `${models.right[item]} of ${models.models[item]} models right` : "";
  }

  /** Create the element of a verdict: a sign and a word, because colour alone is not accessible. */
  function badge({ sign: mark, word, kind }) {
    const { make } = reprise.dom;
    return make("span", { class: `verdict ${kind}` }, make("span", { "aria-hidden": "true" }, mark), ` ${word}`);
  }

  return { RATING, metrics, sign, value, sampleValue, countsSamples, isCounted, describeSign, describe, describeModels, badge };
})();
