"""Retrieval of the most similar captions of a pool by exact inner products, as in a flat FAISS index.

The paper's encoder is MPNet. The default here is `words`: a hashed bag of words and word pairs, weighted by rarity in
the pool. It needs no model and gives the same result everywhere. Its vectors depend on the pool and are not stored.
The embeddings of a `checkpoint` depend on their text alone and are stored.
"""

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

WIDTH = 2048  # the length of a vector
QUERIES_PER_BLOCK = 256  # Number of queries in one matrix product. Products in blocks need less memory.
Matrix = NDArray[np.float32]
TextEncoder = Callable[[Sequence[str]], Matrix]  # an encoder, which returns a unit vector per text


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return re.findall(r"[a-z0-9']+", text.lower())


@cache
def hash_term(term: str) -> int:
    """Return the position of a word or word pair in the vector."""
    return int.from_bytes(hashlib.sha256(term.encode()).digest()[:4]) % WIDTH


def count_terms(text: str) -> Counter[str]:
    """Count the words and the pairs of adjacent words, which carry some of the order."""
    tokens = words(text)
    return Counter([*tokens, *(f"{left} {right}" for left, right in itertools.pairwise(tokens))])


def build_word_encoder(pool: Sequence[str]) -> TextEncoder:
    """Return the encoder `words`, which weights terms by their rarity in the captions of the pool."""
    frequencies = Counter(term for text in dict.fromkeys(pool) for term in count_terms(text))

    def encode(texts: Sequence[str]) -> Matrix:
        matrix = np.zeros((len(texts), WIDTH), np.float32)
        for vector, text in zip(matrix, texts, strict=True):
            for term, count in count_terms(text).items():
                # The inverse document frequency is smoothed, so terms that are not in the pool have a weight too.
                vector[hash_term(term)] += count * np.log((1 + len(pool)) / (1 + frequencies[term]) + 1)
            vector /= float(np.linalg.norm(vector)) or 1.0
        return matrix

    return encode


def find_nearest(queries: Matrix, pool: Matrix, count: int) -> list[list[tuple[int, float]]]:
    """Return the (index, product) of the `count` largest inner products per query; ties are in index order."""
    neighbours: list[list[tuple[int, float]]] = []
    count = min(count, len(pool))
    for start in range(0, len(queries), QUERIES_PER_BLOCK):
        products = queries[start : start + QUERIES_PER_BLOCK] @ pool.T
        best_indices = (
            np.argpartition(-products, count - 1, axis=1)[:, :count] if count else np.zeros((len(products), 0), int)
        )
        neighbours += [
            sorted(((int(index), float(row[index])) for index in indices), key=lambda pair: (-pair[1], pair[0]))
            for row, indices in zip(products, best_indices, strict=True)
        ]
    return neighbours
