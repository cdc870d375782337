"""CIDEr-D, ROUGE-L and BLEU of captions against one reference each, as the COCO caption evaluation defines them.

Tokenizer `words`: lower case; words, numbers and hyphenated compounds; contractions split as in the Penn treebank
(`it's` is `it` and `'s`, `don't` is `do` and `n't`); punctuation is left out. COCO's own tokenizer is a Java program.
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

ORDERS = (1, 2, 3, 4)
ROUGE_BETA = 1.2
CIDER_SIGMA = 6.0
# COCO's guards against a division by zero.
TINY, SMALL = 1e-15, 1e-9
WORD = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+?(?=n't\b)|\d+(?:[.,:/]\d+)+|\w+(?:-\w+)*")

Tokens = tuple[str, ...]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@cache
def tokenize(text: str) -> Tokens:
    return tuple(WORD.findall(text.lower().replace("’", "'")))


# A number for every word that was seen, the same in all texts.
NUMBERS: defaultdict[str, int] = defaultdict(count().__next__)


@cache
def numbered(text: str) -> Integers:
    return np.array([NUMBERS[word] for word in tokenize(text)], dtype=np.int64)


@cache
def rouge_l(candidate: str, reference: str) -> float:
    """F-measure of the longest common subsequence, recall weighted by beta 1.2."""
    found, wanted = tokenize(candidate), tokenize(reference)
    common = LCSseq.similarity(found, wanted)
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return (1 + ROUGE_BETA**2) * precision * recall / (recall + ROUGE_BETA**2 * precision)


class Counted(NamedTuple):
    """How often each n-gram of one order occurs in each of some texts, in the order of text and n-gram."""

    text: Integers
    gram: Integers
    times: Integers


class Order(NamedTuple):
    """The n-grams of one order: of the captions, of their references, and the rows of both that go together."""

    candidate: Counted
    reference: Counted
    in_candidate: Integers
    in_reference: Integers

    def shared(self, values: Floats | Integers, pairs: int) -> Floats:
        """Values of the n-grams that a caption shares with its reference, added up within each pair."""
        return added_up(self.candidate.text[self.in_candidate], values, pairs)


def added_up(text: Integers, values: Floats | Integers, texts: int) -> Floats:
    """Values of n-grams, added up within each text."""
    return np.bincount(text, weights=values, minlength=texts).astype(np.float64)


@lru_cache(maxsize=1)
def ngram_orders(candidates: tuple[str, ...], references: tuple[str, ...]) -> list[Order]:
    """The counted n-grams of all captions and references, by order; the last result waits for the next score."""
    texts = [numbered(text) for text in chain(candidates, references)]
    words = np.concatenate([np.zeros(0, dtype=np.int64), *texts])
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    text_of_word = np.repeat(np.arange(len(texts)), lengths)
    words_left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(words))
    beyond = 1 + int(words.max(initial=0))
    start, gram, orders = np.arange(len(words)), words, []
    for n in ORDERS:
        if n > 1:
            # One of n - 1 words and the next word; numbered anew, so that the numbers stay small.
            has_next = words_left[start] >= n
            start = start[has_next]
            gram = np.unique(gram[has_next] * beyond + words[start + n - 1], return_inverse=True)[1]
        orders.append(_order(text_of_word[start], gram, len(candidates)))
    return orders


def _order(text: Integers, gram: Integers, pairs: int) -> Order:
    """Count the n-grams of texts, the first `pairs` of which are the captions of the other, the references."""
    grams = int(gram.max(initial=0)) + 1
    rows, times = np.unique(text * grams + gram, return_counts=True)
    captions = int(np.searchsorted(rows, pairs * grams))
    ours, theirs = rows[:captions], rows[captions:] - pairs * grams
    place = np.searchsorted(theirs, ours)
    in_candidate = np.flatnonzero(np.append(theirs, -1)[place] == ours)
    return Order(
        Counted(ours // grams, ours % grams, times[:captions]),
        Counted(theirs // grams, theirs % grams, times[captions:]),
        in_candidate,
        place[in_candidate],
    )


def cider(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    """CIDEr-D of each caption, 0 to 10; rare n-grams weigh more, by the references of all captions.

    The mean over the orders of the clipped cosine, with a penalty for another length; COCO counts length in bigrams.
    """
    pairs, total = len(references), np.zeros(len(references))
    orders = ngram_orders(tuple(candidates), tuple(references))
    lengths = [added_up(side.text, side.times, pairs) for side in (orders[1].candidate, orders[1].reference)]
    penalty = np.exp(-((lengths[0] - lengths[1]) ** 2) / (2 * CIDER_SIGMA**2))
    for order in orders:
        grams = 1 + max(int(side.gram.max(initial=0)) for side in (order.candidate, order.reference))
        seen_in = np.maximum(1, np.bincount(order.reference.gram, minlength=grams))
        rarity = np.log(max(1, pairs)) - np.log(seen_in)
        found, wanted = (side.times * rarity[side.gram] for side in (order.candidate, order.reference))
        norms = np.sqrt(
            added_up(order.candidate.text, found**2, pairs) * added_up(order.reference.text, wanted**2, pairs)
        )
        there = wanted[order.in_reference]
        product = order.shared(np.minimum(found[order.in_candidate], there) * there, pairs)
        total += np.divide(product, norms, out=np.zeros(pairs), where=norms > 0) * penalty
    scores: list[float] = (10.0 * total / len(ORDERS)).tolist()
    return scores


def bleu_columns(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[pl.Series, pl.Series]]:
    """Row by row, what BLEU adds up: clipped matches over n-grams for each order, then both lengths.

    COCO's guards are spread over the rows, so that the sums over all rows are exactly COCO's.
    """
    pairs, rows = len(candidates), max(1, len(candidates))
    columns = []
    for order in ngram_orders(tuple(candidates), tuple(references)):
        times = order.candidate.times[order.in_candidate], order.reference.times[order.in_reference]
        columns.append(
            (order.shared(np.minimum(*times), pairs), added_up(order.candidate.text, order.candidate.times, pairs))
        )
    sides = [np.array([float(len(tokenize(text))) for text in texts]) for texts in (candidates, references)]
    columns.append((sides[0], sides[1]))
    return [
        (
            pl.Series((above + TINY / rows).tolist(), dtype=pl.Float64),
            pl.Series((below + SMALL / rows).tolist(), dtype=pl.Float64),
        )
        for above, below in columns
    ]


def bleu(order: int) -> Callable[[Ratios], Ratios]:
    """Corpus BLEU up to an order, from the ratios of the columns' sums."""

    def combine(ratios: Ratios) -> Ratios:
        precision = np.prod(ratios[:, :order], axis=1) ** (1 / order)
        brevity = np.exp(np.minimum(0.0, 1 - 1 / ratios[:, -1]))
        return np.asarray(precision * brevity)

    return combine
