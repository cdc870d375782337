"""What asking will take, reckoned by hand, and bytes of weights by the headers of their files."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from reprise.config.model import Model
from reprise.core.schemas import TIMINGS
from reprise.core.store import Store
from reprise.models.local.weights import record_files, snapshot_folder
from reprise.plan.costs import (
    Estimate,
    Load,
    Measured,
    Weights,
    estimate,
    measured,
    seconds_by,
    tokens_by,
    weights_of,
)
from safetensors.numpy import save_file

# 10 clips of 8 frames, 100 questions: 2 s a clip once, half a second a question.
DONE = Measured(Load(100, 10, 80), once_s=20, asking_s=50, is_encoded_once=True, tokens=1000)
ANEW = DONE._replace(is_encoded_once=False)
BLIND = Measured(Load(100, 10, 0), once_s=0, asking_s=10, is_encoded_once=False, tokens=60)


@pytest.mark.parametrize(
    ("one", "load", "seconds"),
    [
        (DONE, Load(400, 20, 160), 20 * 2 + 400 * 0.5),  # as many frames a clip
        (DONE, Load(400, 20, 320), 20 * 4 + 400 * 0.5),  # twice as many: what is done once takes twice as long
        (ANEW, Load(400, 20, 320), 20 * 4 + 400 * 1.0),  # and here each question, too
        (DONE, Load(10, 10, 40), 10 * 1 + 10 * 0.5),  # half as many
        (BLIND, Load(50, 5, 0), 5),
        (BLIND, Load(50, 5, 40), None),  # a blind run says nothing of one with frames
        (DONE, Load(50, 5, 0), None),  # nor the other way round
        (DONE, Load(50, 5, None), None),
    ],
)  # fmt: skip
def test_seconds(one: Measured, load: Load, seconds: float | None) -> None:
    assert seconds_by(one, load) == (None if seconds is None else pytest.approx(seconds))


def test_the_surest_source_counts_and_of_several_runs_their_mean() -> None:
    load = Load(400, 20, 160)  # 240 s by DONE
    slower = DONE._replace(once_s=30, asking_s=75)  # 360 s
    assert estimate(load, {"itself": [DONE], "benchmark": [slower], "model": [slower]}) == Estimate(240, "itself")
    assert estimate(load, {"benchmark": [BLIND, DONE], "model": [slower]}) == Estimate(240, "benchmark")
    assert estimate(load, {"model": [DONE, slower]}) == Estimate(300, "model")
    assert estimate(load, {"model": [BLIND]}) is None and estimate(load, {}) is None
    assert estimate(Load(0, 0, 0), {}) == Estimate(0, "itself")


def test_tokens_grow_with_questions_and_frames() -> None:
    assert tokens_by(Load(400, 20, 160), [DONE]) == 400_000
    assert tokens_by(Load(400, 20, 320), [DONE, BLIND]) == 800_000
    assert tokens_by(Load(400, 20, 160), [DONE, DONE._replace(tokens=2000)]) == 600_000
    assert tokens_by(Load(400, 20, 160), [BLIND, DONE._replace(tokens=None)]) is None
    assert tokens_by(Load(0, 0, 0), []) == 0


def test_what_a_table_of_timings_says() -> None:
    """Clips of 4 and 12 s; what is not known counts for nothing, and waiting is beside the seconds of the answers."""
    rows = [
        {"clip_id": "a", "requests": 2, "seconds": 3.0, "waiting": 1.0, "encode": 2.0, "decode": 9.0},
        {"clip_id": "b", "requests": 4, "seconds": 11.0, "waiting": 1.0, "encode": None},
        {"clip_id": "unknown time", "requests": 7, "seconds": None},
        {"clip_id": "unknown frames", "requests": 7, "seconds": 1.0},
    ]
    table = pl.DataFrame(rows, schema=TIMINGS)
    found = measured(table, {"a": 8, "b": 16, "unknown time": 8}, tokens=30)
    assert found == Measured(Load(6, 2, 24), 1 + 1 + 2, 3 - 2 + 11, True, 30)
    assert measured(table, {}, None) is None


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
    for quantised, loaded in (("nf4", None), ("awq", 5000)):
        other = {"weights_bytes": 5000, "settings": {"quantised": quantised}, "revision": "f" * 40}
        assert weights_of(model.model_copy(update=other), store) == Weights(loaded, 5000), "nothing is fetched yet"
