"""Captions and the most similar ones of a pool: exact inner products, as of a flat index of FAISS.

The paper's encoder is MPNet. Ours is `words`: a vector of the caption's words and pairs of neighbouring words, each at
a place by its digest, weighted by how rare it is in the pool. It needs no model and is the same everywhere. Its vectors
are of one pool, so that nothing of them is kept; those of a model of sentences (`checkpoint`) are of their
text alone, and are.
"""

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

WIDTH = 2048
BLOCK = 256  # queries that are compared at once, so that memory stays small
Matrix = NDArray[np.float32]
Vectors = Callable[[Sequence[str]], Matrix]  # an encoder: a row of length 1 for each text


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


@cache
def place(term: str) -> int:
    return int.from_bytes(hashlib.sha256(term.encode()).digest()[:4]) % WIDTH


def terms(text: str) -> Counter[str]:
    """Words, and pairs of neighbours, which say something of their order."""
    found = words(text)
    return Counter([*found, *(f"{one} {other}" for one, other in itertools.pairwise(found))])


def encoder_of(pool: Sequence[str]) -> Vectors:
    """The encoder `words`, which knows how many captions of the pool have each term."""
    having = Counter(term for text in dict.fromkeys(pool) for term in terms(text))

    def encode(texts: Sequence[str]) -> Matrix:
        found = np.zeros((len(texts), WIDTH), np.float32)
        for vector, text in zip(found, texts, strict=True):
            for term, count in terms(text).items():
                vector[place(term)] += count * np.log((1 + len(pool)) / (1 + having[term]) + 1)
            vector /= float(np.linalg.norm(vector)) or 1.0
        return found

    return encode


def nearest(queries: Matrix, pool: Matrix, count: int) -> list[list[tuple[int, float]]]:
    """For each query the rows of the pool with the largest inner products, largest first; ties by their place."""
    found: list[list[tuple[int, float]]] = []
    count = min(count, len(pool))
    for start in range(0, len(queries), BLOCK):
        products = queries[start : start + BLOCK] @ pool.T
        best = np.argpartition(-products, count - 1, axis=1)[:, :count] if count else np.zeros((len(products), 0), int)
        found += [
            sorted(((int(one), float(row[one])) for one in places), key=lambda pair: (-pair[1], pair[0]))
            for row, places in zip(products, best, strict=True)
        ]
    return found
