"use strict";

/* What became of an item in a run: signs of the data's columns, and the words for them. */
reprise.outcome = (() => {
  const RATING = "rating";
  const RIGHT = { sign: "✓", word: "right", kind: "good" };
  const WRONG = { sign: "✗", word: "wrong", kind: "bad" };
  const STATES = {
    f: { sign: "!", word: "failed", kind: "bad" },
    u: { sign: "?", word: "unread", kind: "bad" },
    m: { sign: "∅", word: "no clip", kind: "none" },
    "-": { sign: "–", word: "not asked", kind: "none" },
  };
  const ANSWERED = { sign: "•", word: "answered", kind: "none" };

  /** The measures of a run that tell something of single items. */
  function metrics(run, columns) {
    return columns && columns.rating ? [RATING, ...run.metrics] : run.metrics;
  }

  /** The sign that a measure gives an item; "-" where it gives none. The authors' column is there where it is another one. */
  function sign(columns, metric, item, convention = "fixed") {
    const column = metric === RATING ? columns.rating : ((columns[convention] || {})[metric] ?? columns.fixed[metric]);
    return column ? column[item] : "-";
  }

  /** A number that is larger for the better answer; null where the item does not count. */
  function value(columns, metric, item) {
    const found = sign(columns, metric, item);
    return found === "-" ? null : Number(found);
  }

  /** How a sign of a measure is shown; a rating with the best one. */
  function ofSign(found, metric, highest) {
    if (found === "-") {
      return null;
    }
    if (metric === RATING) {
      return { sign: found, word: `of ${highest}`, kind: "none" };
    }
    return found === "1" ? RIGHT : WRONG;
  }

  /** How an item of a run is shown: its verdict, with what explains it. */
  function shown(columns, metric, item) {
    const state = STATES[columns.state[item]];
    const verdict = ofSign(sign(columns, metric, item), metric, columns.highest);
    if (!verdict) {
      return state || ANSWERED;
    }
    return state && verdict !== RIGHT ? { ...verdict, sign: `${verdict.sign} ${state.sign}`, word: `${verdict.word}, ${state.word}` } : verdict;
  }

  /** A verdict as an element: a sign and a word, so that nothing hangs on colour. */
  function badge({ sign: mark, word, kind }) {
    const { make } = reprise.dom;
    return make("span", { class: `verdict ${kind}` }, make("span", { "aria-hidden": "true" }, mark), ` ${word}`);
  }

  return { RATING, metrics, sign, value, ofSign, shown, badge };
})();
