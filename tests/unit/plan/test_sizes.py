"""Bytes of weights by the headers of their files, and of videos and clips that are not there yet."""

from pathlib import Path

import numpy as np
import pytest
from reprise.config.model import Model
from reprise.core.store import Store
from reprise.models.local.weights import record_files, snapshot_folder
from reprise.plan.costs import Weights, weights_of
from safetensors.numpy import save_file

REVISION = "0123456789abcdef0123456789abcdef01234567"


def write_weights(folder: Path) -> None:
    """10 numbers of 4 bytes, 6 of 2, and 3 whole ones of 8."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"a": np.zeros((2, 5), np.float32)}, folder / "model-1.safetensors")
    save_file({"b": np.zeros(6, np.float16), "c": np.zeros(3, np.int64)}, folder / "model-2.safetensors")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("checkpoint", 10 * 4 + 6 * 2 + 3 * 8), ("float32", 16 * 4 + 3 * 8), ("bfloat16", 16 * 2 + 3 * 8)],
)
def test_weights_take_what_their_type_takes(tmp_path: Path, dtype: str, expected: int) -> None:
    model = Model.model_validate({"label": "M", "adapter": "transformers", "checkpoint": str(tmp_path), "dtype": dtype})
    assert weights_of(model, Store(tmp_path)) == Weights(None, 0), "nothing is there yet"
    write_weights(tmp_path)
    assert weights_of(model, Store(tmp_path)) == Weights(expected, 0)
    whole = (tmp_path / "model-1.safetensors").read_bytes()
    (tmp_path / "model-1.safetensors").write_bytes(whole[:-5])
    assert weights_of(model, Store(tmp_path)) == Weights(None, 0), "nobody can read them"


def test_what_is_still_to_fetch(tmp_path: Path) -> None:
    """Unknown, then what is not there yet of what `pin` wrote, then nothing."""
    store = Store(tmp_path)
    model = Model(label="M", adapter="transformers", repo="a/b", revision=REVISION, dtype="checkpoint")
    assert weights_of(model, store) == Weights(None, None)
    folder = snapshot_folder("a/b", REVISION, store)
    write_weights(folder)
    whole = sum(path.stat().st_size for path in folder.iterdir()) + 1000
    assert weights_of(model.model_copy(update={"weights_bytes": whole}), store) == Weights(whole, 1000)
    record_files(folder, store)
    assert weights_of(model, store) == Weights(76, 0)
    for dtype, quantised, loaded in (("checkpoint", None, 5000), ("float16", None, None), ("checkpoint", "nf4", None), ("checkpoint", "awq", 5000)):  # fmt: skip
        settings = {"quantised": quantised} if quantised else {}
        other = {"weights_bytes": 5000, "dtype": dtype, "settings": settings, "revision": "f" * 40}
        assert weights_of(model.model_copy(update=other), store) == Weights(loaded, 5000), "nothing is fetched yet"
