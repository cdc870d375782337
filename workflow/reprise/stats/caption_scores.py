"""Compute CIDEr-D, ROUGE-L and BLEU of captions with one reference each, as the COCO caption evaluation defines them.

The tokenizer lowercases the text and keeps words, numbers and hyphenated compounds. It splits contractions as in the
Penn treebank (`it's` is `it` and `'s`, `don't` is `do` and `n't`) and drops punctuation. COCO's own tokenizer is a Java
program.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain, count
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from reprise.stats.measures import Ratios

ORDERS = (1, 2, 3, 4)  # lengths of n-grams
ROUGE_BETA = 1.2  # COCO's weight of recall
CIDER_SIGMA = 6.0  # COCO's standard deviation of the penalty for a different length, in bigrams
# COCO's guards against division by zero.
TINY, SMALL = 1e-15, 1e-9
WORD = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+?(?=n't\b)|\d+(?:[.,:/]\d+)+|\w+(?:-\w+)*")

Tokens = tuple[str, ...]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@cache
def tokenize(text: str) -> Tokens:
    """Split a text into lower-case words, without punctuation."""
    return tuple(WORD.findall(text.lower().replace("’", "'")))


# The id of every word so far, shared by all texts.
WORD_IDS: defaultdict[str, int] = defaultdict(count().__next__)


@cache
def word_ids(text: str) -> Integers:
    """Return the ids of a text's words."""
    return np.array([WORD_IDS[word] for word in tokenize(text)], dtype=np.int64)


@cache
def rouge_l(candidate: str, reference: str) -> float:
    """Return the F-measure of the longest common subsequence, with recall weighted by beta 1.2."""
    candidate_tokens, reference_tokens = tokenize(candidate), tokenize(reference)
    common = LCSseq.similarity(candidate_tokens, reference_tokens)
    if not common:
        return 0.0
    precision, recall = common / len(candidate_tokens), common / len(reference_tokens)
    return (1 + ROUGE_BETA**2) * precision * recall / (recall + ROUGE_BETA**2 * precision)


class NgramCounts(NamedTuple):
    """How often each n-gram of one order occurs in each text, sorted by text and n-gram."""

    text: Integers  # index of the text
    gram: Integers  # id of the n-gram
    times: Integers  # number of its occurrences


class NgramOrder(NamedTuple):
    """The n-grams of one order in captions and references, and the indices of their shared n-grams in both."""

    candidate: NgramCounts
    reference: NgramCounts
    in_candidate: Integers
    in_reference: Integers

    def shared(self, values: Floats | Integers, pairs: int) -> Floats:
        """Sum, within each pair, the values of the n-grams that a caption shares with its reference."""
        return sum_by_text(self.candidate.text[self.in_candidate], values, pairs)


def sum_by_text(text: Integers, values: Floats | Integers, texts: int) -> Floats:
    """Sum the values of n-grams within each text."""
    return np.bincount(text, weights=values, minlength=texts).astype(np.float64)


@lru_cache(maxsize=1)
def ngram_orders(candidates: tuple[str, ...], references: tuple[str, ...]) -> list[NgramOrder]:
    """Count the n-grams of all captions and references, by order; the last result is cached for the next score."""
    texts = [word_ids(text) for text in chain(candidates, references)]
    words = np.concatenate([np.zeros(0, dtype=np.int64), *texts])
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    text_of_word = np.repeat(np.arange(len(texts)), lengths)
    remaining_words = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))
    base = 1 + int(words.max(initial=0))
    start, gram, orders = np.arange(len(words)), words, []
    for n in ORDERS:
        if n > 1:
            # An n-gram is an (n - 1)-gram and the next word. Renumbering keeps the ids small.
            has_next = remaining_words[start] >= n
            start = start[has_next]
            gram = np.unique(gram[has_next] * base + words[start + n - 1], return_inverse=True)[1]
        orders.append(_count_ngrams(text_of_word[start], gram, len(candidates)))
    return orders


def _count_ngrams(text: Integers, gram: Integers, pairs: int) -> NgramOrder:
    """Count the n-grams of texts; the first `pairs` texts are the captions, the others are their references."""
    grams = int(gram.max(initial=0)) + 1
    # A row is an n-gram of a text, and its number text * grams + gram identifies both.
    rows, times = np.unique(text * grams + gram, return_counts=True)
    captions = int(np.searchsorted(rows, pairs * grams))
    candidate_rows, reference_rows = rows[:captions], rows[captions:] - pairs * grams
    position = np.searchsorted(reference_rows, candidate_rows)
    # The appended -1 matches no n-gram; it stands for a position after the last row.
    in_candidate = np.flatnonzero(np.append(reference_rows, -1)[position] == candidate_rows)
    return NgramOrder(
        NgramCounts(candidate_rows // grams, candidate_rows % grams, times[:captions]),
        NgramCounts(reference_rows // grams, reference_rows % grams, times[captions:]),
        in_candidate,
        position[in_candidate],
    )


def cider(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the CIDEr-D of each caption, 0 to 10; n-grams that are rare in the references of all captions weigh more.

    It is the mean over the orders of a clipped cosine, with a penalty for a different length. COCO counts length in
    bigrams.
    """
    pairs, total = len(references), np.zeros(len(references))
    orders = ngram_orders(tuple(candidates), tuple(references))
    lengths = [sum_by_text(side.text, side.times, pairs) for side in (orders[1].candidate, orders[1].reference)]
    penalty = np.exp(-((lengths[0] - lengths[1]) ** 2) / (2 * CIDER_SIGMA**2))
    for order in orders:
        grams = 1 + max(int(side.gram.max(initial=0)) for side in (order.candidate, order.reference))
        document_frequency = np.maximum(1, np.bincount(order.reference.gram, minlength=grams))
        idf = np.log(max(1, pairs)) - np.log(document_frequency)
        candidate_weights, reference_weights = (
            side.times * idf[side.gram] for side in (order.candidate, order.reference)
        )
        norms = np.sqrt(
            sum_by_text(order.candidate.text, candidate_weights**2, pairs)
            * sum_by_text(order.reference.text, reference_weights**2, pairs)
        )
        shared_weights = reference_weights[order.in_reference]
        product = order.shared(
            np.minimum(candidate_weights[order.in_candidate], shared_weights) * shared_weights, pairs
        )
        total += np.divide(product, norms, out=np.zeros(pairs), where=norms > 0) * penalty
    scores: list[float] = (10.0 * total / len(ORDERS)).tolist()
    return scores


def bleu_columns(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[pl.Series, pl.Series]]:
    """Return numerator and denominator of BLEU's ratios, row by row.

    These are the clipped matches and the n-grams of each order, and finally the lengths of caption and reference.
    COCO's guards are spread over the rows, so that the sums over all rows are exactly COCO's.
    """
    pairs, rows = len(candidates), max(1, len(candidates))
    columns = []
    for order in ngram_orders(tuple(candidates), tuple(references)):
        times = order.candidate.times[order.in_candidate], order.reference.times[order.in_reference]
        columns.append(
            (order.shared(np.minimum(*times), pairs), sum_by_text(order.candidate.text, order.candidate.times, pairs))
        )
    lengths = [np.array([float(len(tokenize(text))) for text in texts]) for texts in (candidates, references)]
    columns.append((lengths[0], lengths[1]))
    return [
        (
            pl.Series((numerator + TINY / rows).tolist(), dtype=pl.Float64),
            pl.Series((denominator + SMALL / rows).tolist(), dtype=pl.Float64),
        )
        for numerator, denominator in columns
    ]


def bleu(order: int) -> Callable[[Ratios], Ratios]:
    """Return a function that computes corpus BLEU up to an order from the ratios of the columns' sums."""

    def combine(ratios: Ratios) -> Ratios:
        precision = np.prod(ratios[:, :order], axis=1) ** (1 / order)
        brevity = np.exp(np.minimum(0.0, 1 - 1 / ratios[:, -1]))  # The last ratio is that of the lengths.
        return np.asarray(precision * brevity)

    return combine
