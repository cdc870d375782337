"use strict";

/* The paired test of `reprise compare`: do two models differ by more than chance on the items that count for both? */
reprise.paired = (() => {
  const MIN_PRINTED_P = 0.0001;

  /** Return the sum of differences, first minus second, for each cluster of items; values are whole numbers. */
  function sums(items, cluster, a, b) {
    const totals = new Map();
    for (const item of items) {
      totals.set(cluster[item], (totals.get(cluster[item]) || 0) + a(item) - b(item));
    }
    return [...totals.values()];
  }

  /** Return the exact two-sided p-value of the sums, under random swaps of the two models within whole clusters. */
  function p(differences) {
    const sizes = differences.map(Math.abs).filter(Boolean);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    // The probability of the sum s is at index total + s, because s is from -total to total.
    let [probabilities, next] = [new Float64Array(2 * total + 1), new Float64Array(2 * total + 1)];
    let largestSum = 0;
    probabilities[total] = 1;
    for (const size of sizes) {
      next.fill(0);
      for (let position = total - largestSum; position <= total + largestSum; position += 1) {
        next[position - size] += probabilities[position] / 2;
        next[position + size] += probabilities[position] / 2;
      }
      [probabilities, next] = [next, probabilities];
      largestSum += size;
    }
    const observed = Math.abs(differences.reduce((sum, difference) => sum + difference, 0));
    const tail = probabilities.filter((_, position) => Math.abs(position - total) >= observed);
    return Math.min(1, tail.reduce((sum, probability) => sum + probability, 0));
  }

  /** Format a p-value with four decimals; a smaller one is not printed as 0. */
  function formatP(value) {
    return value < MIN_PRINTED_P ? `< ${MIN_PRINTED_P}` : value.toFixed(4);
  }

  return { sums, p, formatP };
})();
