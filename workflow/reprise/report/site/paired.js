"use strict";

/* Whether two models differ by more than chance, on items that both were counted on: the test of `reprise compare`. */
reprise.paired = (() => {
  const LEAST_P = 0.0001;

  /** What the first is above the second on each cluster of items, summed; values are whole numbers. */
  function sums(items, unit, a, b) {
    const found = new Map();
    for (const item of items) {
      found.set(unit[item], (found.get(unit[item]) || 0) + a(item) - b(item));
    }
    return [...found.values()];
  }

  /** Two-sided p of sums as far from 0 as these, where whole clusters swap the two models at random: exact. */
  function p(all) {
    const sizes = all.map(Math.abs).filter(Boolean);
    const total = sizes.reduce((before, size) => before + size, 0);
    let [likely, next] = [new Float64Array(2 * total + 1), new Float64Array(2 * total + 1)]; // from -total to total
    let reach = 0;
    likely[total] = 1;
    for (const size of sizes) {
      next.fill(0);
      for (let at = total - reach; at <= total + reach; at += 1) {
        next[at - size] += likely[at] / 2;
        next[at + size] += likely[at] / 2;
      }
      [likely, next] = [next, likely];
      reach += size;
    }
    const seen = Math.abs(all.reduce((before, sum) => before + sum, 0));
    return Math.min(1, likely.reduce((before, share, at) => before + (Math.abs(at - total) >= seen ? share : 0), 0));
  }

  /** A p-value with four decimals; never as 0, which no test can show. */
  function inWords(value) {
    return value < LEAST_P ? `<${LEAST_P}` : value.toFixed(4);
  }

  return { sums, p, inWords };
})();
