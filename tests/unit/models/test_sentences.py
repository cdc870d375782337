"""Test sentence embeddings, and the similarity of captions against sentence-transformers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.local import embeddings
from reprise.models.local.embeddings import EmbeddingCheckpoint, compute_similarities, embed
from transformers import MPNetConfig, MPNetModel

from tests.unit.models.adapters import tiny

MODEL_SIZE = {**tiny.TEXT_SIZE, "vocab_size": tiny.LARGE_VOCABULARY}
TEXTS = ["The red circle slides left quickly.", "The blue star jumps high.", "The red circle slides. " * 9]
MAX_TOKENS = 20


def checkpoint(folder: Path, max_tokens: int = MAX_TOKENS) -> EmbeddingCheckpoint:
    return EmbeddingCheckpoint(
        tiny.save(folder, lambda: MPNetModel(MPNetConfig(**MODEL_SIZE)), tiny.tokenizer()), max_tokens
    )


def test_a_text_is_embedded_once_for_each_checkpoint_and_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, embedding_checkpoint = Store(tmp_path), checkpoint(tmp_path / "mpnet")
    embeddings_by_text = embed(TEXTS[:1], "digest", store, embedding_checkpoint)
    monkeypatch.setattr(embeddings, "_EmbeddingModel", None)  # any further embedding would fail
    assert (
        embed(TEXTS[:1], "digest", store, embedding_checkpoint)[TEXTS[0]].tolist()
        == embeddings_by_text[TEXTS[0]].tolist()
    )
    for digest, other_checkpoint in (
        ("other", embedding_checkpoint),
        ("digest", embedding_checkpoint._replace(max_tokens=5)),
        ("digest", None),  # without a checkpoint: all-MiniLM-L6-v2
    ):
        with pytest.raises(TypeError):
            embed(TEXTS[:1], digest, store, other_checkpoint)


@pytest.mark.parametrize(("max_tokens", "damage", "message"), [
    (384, lambda folder: None, r"the checkpoint has 24 positions, but 384 tokens are configured. Set `encoder: tokens:` .* at most 22"),
    (MAX_TOKENS, lambda folder: tiny.update_json(folder / "config.json", num_hidden_layers=3), "not in its files, .* first encoder.layer.2"),
    (MAX_TOKENS, lambda folder: (folder / "model.safetensors").write_bytes(b"no"), "cannot load this checkpoint .* Fetch it again"),
])  # fmt: skip
def test_an_unusable_checkpoint_is_named(
    max_tokens: int, damage: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    embedding_checkpoint = checkpoint(tmp_path / "mpnet", max_tokens=max_tokens)
    damage(embedding_checkpoint.folder)
    with pytest.raises(UserError, match=message):
        embed(TEXTS, "digest", Store(tmp_path), embedding_checkpoint)


# Pairs of texts and their similarity by sentence-transformers 6.2.0 on the same files.
REFERENCE_SIMILARITIES = (
    ("The red circle slides left quickly.", "The blue star jumps high.", 0.307816625),
    ("The red circle slides left quickly.", "", 0.178808838),
    ("The blue star jumps high.", "The blue star jumps high.", 1.0),
    # 380 words: the model reads the first 256 word pieces
    ("The red circle slides left quickly.", "A person closes the door of the fridge with his left hand while looking at the bowl of fruit. " * 20, 0.123347580),
)  # fmt: skip


def test_similarity_is_what_sentence_transformers_computes(tmp_path: Path) -> None:
    left, right, expected = (list(column) for column in zip(*REFERENCE_SIMILARITIES, strict=True))
    assert compute_similarities(left, right, "0.1.0", Store(tmp_path)) == pytest.approx(expected, abs=1e-6)
