"""CIDEr-D, ROUGE-L and BLEU of captions against one reference each, as the COCO caption evaluation defines them.

Tokenizer `words`: lower case; words, numbers and hyphenated compounds; contractions split as in the Penn treebank
(`it's` is `it` and `'s`, `don't` is `do` and `n't`); punctuation is left out. COCO's own tokenizer is a Java program.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np
import polars as pl

from reprise.measures import Ratios

ORDERS = (1, 2, 3, 4)
ROUGE_BETA = 1.2
CIDER_SIGMA = 6.0
# COCO's guards against a division by zero.
TINY, SMALL = 1e-15, 1e-9
WORD = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+?(?=n't\b)|\d+(?:[.,:/]\d+)+|\w+(?:-\w+)*")

Tokens = tuple[str, ...]
NGrams = Counter[Tokens]


@cache
def tokenize(text: str) -> Tokens:
    """The tokens of a text by tokenizer `words`."""
    return tuple(WORD.findall(text.lower().replace("’", "'")))


@cache
def ngrams(text: str) -> Mapping[int, NGrams]:
    """How often each n-gram occurs, by order."""
    tokens = tokenize(text)
    return {n: Counter(tokens[i : i + n] for i in range(len(tokens) - n + 1)) for n in ORDERS}


@cache
def rouge_l(candidate: str, reference: str) -> float:
    """F-measure of the longest common subsequence, recall weighted by beta 1.2."""
    found, wanted = tokenize(candidate), tokenize(reference)
    common = longest_common_subsequence(found, wanted)
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return (1 + ROUGE_BETA**2) * precision * recall / (recall + ROUGE_BETA**2 * precision)


def longest_common_subsequence(left: Tokens, right: Tokens) -> int:
    """Its length, a row of the usual table at a time as the bits of one number (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for place, token in enumerate(left):
        places[token] = places.get(token, 0) | 1 << place
    full = (1 << len(left)) - 1
    row = full
    for token in right:
        matches = row & places.get(token, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(left) - row.bit_count()


def cider(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    """CIDEr-D of each caption, 0 to 10; rare n-grams weigh more, by the references of all captions."""
    seen_in: dict[int, NGrams] = {n: Counter() for n in ORDERS}
    for reference in references:
        for n in ORDERS:
            seen_in[n].update(ngrams(reference)[n].keys())
    everything = math.log(len(references)) if references else 0.0
    weigh = partial(_weights, seen_in=seen_in, everything=everything)
    return [_cider(one, other, weigh) for one, other in zip(candidates, references, strict=True)]


Weighted = tuple[dict[Tokens, float], float]


def _weights(text: str, n: int, seen_in: Mapping[int, NGrams], everything: float) -> Weighted:
    """Term frequency times inverse document frequency of a text's n-grams, and the length of that vector."""
    known = seen_in[n]
    vector = {gram: count * (everything - math.log(max(1, known[gram]))) for gram, count in ngrams(text)[n].items()}
    return vector, math.sqrt(sum(weight**2 for weight in vector.values()))


def _cider(candidate: str, reference: str, weigh: Callable[[str, int], Weighted]) -> float:
    """Mean over the orders of the clipped cosine, with a penalty for another length; COCO counts length in bigrams."""
    lengths = [sum(ngrams(text)[2].values()) for text in (candidate, reference)]
    penalty = math.exp(-((lengths[0] - lengths[1]) ** 2) / (2 * CIDER_SIGMA**2))
    total = 0.0
    for n in ORDERS:
        (found, found_norm), (wanted, wanted_norm) = weigh(candidate, n), weigh(reference, n)
        product = sum(min(weight, wanted[gram]) * wanted[gram] for gram, weight in found.items() if gram in wanted)
        if found_norm and wanted_norm:
            total += product / (found_norm * wanted_norm) * penalty
    return 10.0 * total / len(ORDERS)


def bleu_columns(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[pl.Series, pl.Series]]:
    """Row by row, what BLEU adds up: clipped matches over n-grams for each order, then both lengths.

    COCO's guards are spread over the rows, so that the sums over all rows are exactly COCO's.
    """
    rows = max(1, len(candidates))
    pairs = list(zip(candidates, references, strict=True))
    columns = [
        (
            [sum((ngrams(one)[n] & ngrams(other)[n]).values()) for one, other in pairs],
            [sum(ngrams(one)[n].values()) for one, _ in pairs],
        )
        for n in ORDERS
    ]
    columns.append(([len(tokenize(one)) for one, _ in pairs], [len(tokenize(other)) for _, other in pairs]))
    return [
        (pl.Series(above, dtype=pl.Float64) + TINY / rows, pl.Series(below, dtype=pl.Float64) + SMALL / rows)
        for above, below in columns
    ]


def bleu(order: int) -> Callable[[Ratios], Ratios]:
    """Corpus BLEU up to an order, from the ratios of the columns' sums."""

    def combine(ratios: Ratios) -> Ratios:
        precision = np.prod(ratios[:, :order], axis=1) ** (1 / order)
        brevity = np.exp(np.minimum(0.0, 1 - 1 / ratios[:, -1]))
        return np.asarray(precision * brevity)

    return combine
