"""Sentence embeddings of a checkpoint's folder, and the similarity of captions against sentence-transformers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.local import embeddings
from reprise.models.local.embeddings import EmbeddingCheckpoint, compute_similarities, embed
from transformers import MPNetConfig, MPNetModel

from tests.unit.models.adapters import tiny

WORDS = {**tiny.WORDS, "vocab_size": tiny.MANY_WORDS}
TEXTS = ["The red circle slides left quickly.", "The blue star jumps high.", "The red circle slides. " * 9]
TOKENS = 20


def checkpoint(folder: Path, tokens: int = TOKENS) -> EmbeddingCheckpoint:
    return EmbeddingCheckpoint(tiny.save(folder, lambda: MPNetModel(MPNetConfig(**WORDS)), tiny.tokenizer()), tokens)


def test_a_text_is_embedded_once_for_each_checkpoint_and_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, given = Store(tmp_path), checkpoint(tmp_path / "mpnet")
    before = embed(TEXTS[:1], "digest", store, given)
    monkeypatch.setattr(embeddings, "_Model", None)  # nothing can be embedded
    assert embed(TEXTS[:1], "digest", store, given)[TEXTS[0]].tolist() == before[TEXTS[0]].tolist()
    for version, other in (("other", given), ("digest", given._replace(max_tokens=5)), ("digest", None)):
        with pytest.raises(TypeError):
            embed(TEXTS[:1], version, store, other)


@pytest.mark.parametrize(("tokens", "spoil", "message"), [
    (384, lambda at: None, r"the checkpoint has 24 positions, but 384 tokens are configured. Set `encoder: tokens:` .* at most 22"),
    (TOKENS, lambda at: tiny.change(at / "config.json", num_hidden_layers=3), "not in its files, .* first encoder.layer.2"),
    (TOKENS, lambda at: (at / "model.safetensors").write_bytes(b"no"), "cannot load this checkpoint .* Fetch it again"),
])  # fmt: skip
def test_a_checkpoint_that_embeds_nothing_is_named(
    tokens: int, spoil: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    given = checkpoint(tmp_path / "mpnet", tokens=tokens)
    spoil(given.folder)
    with pytest.raises(UserError, match=message):
        embed(TEXTS, "digest", Store(tmp_path), given)


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
    assert compute_similarities(left, right, "0.1.0", Store(tmp_path)) == pytest.approx(expected, abs=1e-6)
