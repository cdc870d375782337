"""The similarity of captions by a model of sentences, and that each text is embedded once."""

from pathlib import Path

import numpy as np
import pytest
from reprise.core.store import Store
from reprise.models.local.embeddings import embed, similarities

# By sentence-transformers 6.2.0 on the same files.
REFERENCE = (
    ("The red circle slides left quickly.", "The blue star jumps high.", 0.307816625),
    ("The red circle slides left quickly.", "", 0.178808838),
    ("The blue star jumps high.", "The blue star jumps high.", 1.0),
    # 400 words: the model reads the first 256 word pieces
    ("The red circle slides left quickly.", "A person closes the door of the fridge with his left hand while looking at the bowl of fruit. " * 20, 0.123347580),
)  # fmt: skip


def test_similarity_is_what_sentence_transformers_computes(tmp_path: Path) -> None:
    left, right, expected = (list(column) for column in zip(*REFERENCE, strict=True))
    assert similarities(left, right, "0.1.0", Store(tmp_path)) == pytest.approx(expected, abs=1e-6)


def test_a_text_is_embedded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Model:
        def __init__(self, checkpoint: object) -> None:
            pass

        def vector(self, text: str) -> "np.ndarray":
            asked.append(text)
            return np.array([1.0, len(text)], dtype=np.float32)

    monkeypatch.setattr("reprise.models.local.embeddings._Model", Model)
    store = Store(tmp_path)
    embed(["a", "b", "a"], "1", store)
    assert embed(["b", "c"], "1", store)["b"].tolist() == [1, 1]
    assert sorted(asked) == ["a", "b", "c"]
    embed(["a"], "2", store)
    assert sorted(asked) == ["a", "a", "b", "c"], "another version of the weights is another vector"
