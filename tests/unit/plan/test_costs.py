"""Test cost estimates by hand, and sizes of weights from the headers of their files."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from reprise.config.model import Model
from reprise.core.schemas import TIMINGS
from reprise.core.store import Store
from reprise.models.local.weights import get_snapshot_folder, record_file_digests
from reprise.plan.costs import (
    Estimate,
    RunTiming,
    WeightsSize,
    Workload,
    estimate_duration,
    estimate_seconds,
    estimate_tokens,
    measure_weights,
    summarize_timings,
)
from safetensors.numpy import save_file

# 10 clips of 8 frames and 100 requests: 2 s once per clip and half a second per request.
TIMING = RunTiming(
    Workload(100, 10, 80), clip_work_s=20, request_work_s=50, is_encoded_once=True, mean_prompt_tokens=1000
)
TIMING_PER_REQUEST = TIMING._replace(is_encoded_once=False)
TIMING_TEXT_ONLY = RunTiming(
    Workload(100, 10, 0), clip_work_s=0, request_work_s=10, is_encoded_once=False, mean_prompt_tokens=60
)


@pytest.mark.parametrize(
    ("timing", "workload", "seconds"),
    [
        (TIMING, Workload(400, 20, 160), 20 * 2 + 400 * 0.5),  # the same number of frames per clip
        (TIMING, Workload(400, 20, 320), 20 * 4 + 400 * 0.5),  # twice as many frames: work done once per clip takes twice as long
        (TIMING_PER_REQUEST, Workload(400, 20, 320), 20 * 4 + 400 * 1.0),  # and so does each request
        (TIMING, Workload(10, 10, 40), 10 * 1 + 10 * 0.5),  # half as many frames
        (TIMING_TEXT_ONLY, Workload(50, 5, 0), 5),
        (TIMING_TEXT_ONLY, Workload(50, 5, 40), None),  # a text-only run allows no estimate of one with frames
        (TIMING, Workload(50, 5, 0), None),  # nor vice versa
        (TIMING, Workload(50, 5, None), None),
    ],
)  # fmt: skip
def test_seconds_are_estimated_from_a_finished_run(
    timing: RunTiming, workload: Workload, seconds: float | None
) -> None:
    assert estimate_seconds(timing, workload) == (None if seconds is None else pytest.approx(seconds))


def test_the_estimate_is_the_mean_over_the_most_reliable_source() -> None:
    workload = Workload(400, 20, 160)  # 240 s by DONE
    slower = TIMING._replace(clip_work_s=30, request_work_s=75)  # 360 s
    assert estimate_duration(workload, {"itself": [TIMING], "benchmark": [slower], "model": [slower]}) == Estimate(
        240, "itself"
    )
    assert estimate_duration(workload, {"benchmark": [TIMING_TEXT_ONLY, TIMING], "model": [slower]}) == Estimate(
        240, "benchmark"
    )
    assert estimate_duration(workload, {"model": [TIMING, slower]}) == Estimate(300, "model")
    assert (
        estimate_duration(workload, {"model": [TIMING_TEXT_ONLY]}) is None and estimate_duration(workload, {}) is None
    )
    assert estimate_duration(Workload(0, 0, 0), {}) == Estimate(0, "itself")


def test_tokens_grow_with_requests_and_frames() -> None:
    assert estimate_tokens(Workload(400, 20, 160), [TIMING]) == 400_000
    assert estimate_tokens(Workload(400, 20, 320), [TIMING, TIMING_TEXT_ONLY]) == 800_000
    assert estimate_tokens(Workload(400, 20, 160), [TIMING, TIMING._replace(mean_prompt_tokens=2000)]) == 600_000
    assert estimate_tokens(Workload(400, 20, 160), [TIMING_TEXT_ONLY, TIMING._replace(mean_prompt_tokens=None)]) is None
    assert estimate_tokens(Workload(0, 0, 0), []) == 0


def test_a_table_of_timings_is_summarised() -> None:
    """Clips with unknown times are excluded, and the waiting time is added to the seconds of the answers."""
    rows = [
        {"clip_id": "a", "requests": 2, "seconds": 3.0, "waiting": 1.0, "encode": 2.0, "decode": 9.0},
        {"clip_id": "b", "requests": 4, "seconds": 11.0, "waiting": 1.0, "encode": None},
        {"clip_id": "unknown time", "requests": 7, "seconds": None},
        {"clip_id": "unknown frames", "requests": 7, "seconds": 1.0},
    ]
    table = pl.DataFrame(rows, schema=TIMINGS)
    timing = summarize_timings(table, {"a": 8, "b": 16, "unknown time": 8}, mean_prompt_tokens=30)
    assert timing == RunTiming(Workload(6, 2, 24), 1 + 1 + 2, 3 - 2 + 11, True, 30)
    assert summarize_timings(table, {}, None) is None


REVISION = "0123456789abcdef0123456789abcdef01234567"


def write_weights(folder: Path) -> None:
    """Write 10 numbers of 4 bytes, 6 of 2, and 3 integers of 8."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"a": np.zeros((2, 5), np.float32)}, folder / "model-1.safetensors")
    save_file({"b": np.zeros(6, np.float16), "c": np.zeros(3, np.int64)}, folder / "model-2.safetensors")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("checkpoint", 10 * 4 + 6 * 2 + 3 * 8), ("float32", 16 * 4 + 3 * 8), ("bfloat16", 16 * 2 + 3 * 8)],
)
def test_the_size_of_weights_depends_on_their_dtype(tmp_path: Path, dtype: str, expected: int) -> None:
    model = Model.model_validate({"label": "M", "adapter": "transformers", "checkpoint": str(tmp_path), "dtype": dtype})
    assert measure_weights(model, Store(tmp_path)) == WeightsSize(None, 0), "there are no weights yet"
    write_weights(tmp_path)
    assert measure_weights(model, Store(tmp_path)) == WeightsSize(expected, 0)
    content = (tmp_path / "model-1.safetensors").read_bytes()
    (tmp_path / "model-1.safetensors").write_bytes(content[:-5])
    assert measure_weights(model, Store(tmp_path)) == WeightsSize(None, 0), "they are damaged"


def test_the_remaining_download_of_weights_is_measured(tmp_path: Path) -> None:
    """The download is unknown, then the rest of the size that `pin` wrote, then zero."""
    store = Store(tmp_path)
    model = Model(label="M", adapter="transformers", repo="a/b", revision=REVISION, dtype="checkpoint")
    assert measure_weights(model, store) == WeightsSize(None, None)
    folder = get_snapshot_folder("a/b", REVISION, store)
    write_weights(folder)
    total_bytes = sum(path.stat().st_size for path in folder.iterdir()) + 1000
    assert measure_weights(model.model_copy(update={"weights_bytes": total_bytes}), store) == WeightsSize(
        total_bytes, 1000
    )
    record_file_digests(folder, store)
    assert measure_weights(model, store) == WeightsSize(76, 0)
    for quantised, loaded in (("nf4", None), ("awq", 5000)):
        changes = {"weights_bytes": 5000, "settings": {"quantised": quantised}, "revision": "f" * 40}
        assert measure_weights(model.model_copy(update=changes), store) == WeightsSize(loaded, 5000), (
            "nothing is fetched yet"
        )
