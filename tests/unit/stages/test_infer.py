"""Test the inference job: requests, response cache and kills; partitions of a run; GPUs and releases."""

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS, RESPONSES, write_table
from reprise.core.store import Store
from reprise.fetch.keys import ReleaseKey
from reprise.models.base import Answer, ClipFrames, Request
from reprise.models.inference.partitions import HASH_SLOTS, MAX_PARTITIONS, Partition, list_partitions
from reprise.models.inference.response_cache import ClipRequests, Failures, ResponseCache
from reprise.models.keys import RunKey
from reprise.models.local.baselines.simple import ConstantBaseline
from reprise.models.local.gpus import take_gpus
from reprise.stages.clip_requests import gather_clip_requests
from reprise.stages.infer import run_inference
from reprise.stages.join_partitions import join_answers
from reprise.stages.release import main

from tests.unit.requests import NO_FRAMES, make_yes_no_request, model_spec
from tests.unit.rows import Row, request_row, response_row

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {"rule": "none"}}})


class KillingModel:
    """A model that kills its process at one request, as the kernel does when memory runs out."""

    def __init__(self, culprit: str = "") -> None:
        self.culprit = culprit

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if request.request_id == self.culprit:
                os.kill(os.getpid(), signal.SIGKILL)
            yield Answer(text=request.prompt)


def run_job(model: KillingModel, batches: list[ClipRequests], folder: Path) -> list[dict[str, Any]]:
    return run_inference(batches, model, ResponseCache(folder / "j"), Failures(folder / "f", 3), KEY)[0]


def make_batches(*clips: tuple[str, Sequence[Request]]) -> list[ClipRequests]:
    return [ClipRequests(ClipFrames(name, None, (), ()), f"recipe {name}", tuple(requests)) for name, requests in clips]


def is_killed(model: KillingModel, batches: list[ClipRequests], folder: Path) -> bool:
    job = multiprocessing.get_context("fork").Process(target=run_job, args=(model, batches, folder))
    job.start()
    job.join()
    assert job.exitcode in (0, -signal.SIGKILL)
    return job.exitcode != 0


def test_a_request_that_kills_the_job_is_isolated_and_finally_fails(tmp_path: Path) -> None:
    clips = [(clip, [make_yes_no_request(f"{clip}{number}") for number in "123"]) for clip in "abc"]
    batches, culprit, kills = make_batches(*clips), "b2", 0
    while is_killed(KillingModel(culprit), batches, tmp_path):
        kills += 1
        assert kills < 10, "the loop ends"
        assert kills == 1 or len(ResponseCache(tmp_path / "j")) >= 6, "the job answers the other clips first"
    rows = run_job(KillingModel(), batches, tmp_path)
    names = [request.request_id for batch in batches for request in batch.requests]
    assert {row["request_id"]: row["error"] for row in rows} == dict.fromkeys(names, "") | {culprit: "killed"}
    assert kills == 1 + 3, "a kill only counts as an attempt if the request was sent alone"


def test_a_kill_while_the_model_loads_counts_against_no_request(tmp_path: Path) -> None:
    for _ in range(5):
        assert is_killed(KillingModel("a1"), make_batches(("a", [make_yes_no_request("a1")])), tmp_path)
    rows = run_job(KillingModel(), make_batches(("a", [make_yes_no_request("a1")])), tmp_path)
    assert [row["text"] for row in rows] == ["prompt a1"] and not (tmp_path / "f").exists()


Tables = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def make_tables(**statuses: str) -> Tables:
    """Return requests, plans and the manifest of clips with these statuses."""
    requests = [
        request_row(f"{name}#pos", clip_id=name, request_type="score", prompt="seen in \ue000 frames")
        for name in statuses
    ]
    plan = {"indices": [1, 5], "times_s": [0.1, 0.5], "note": ""}
    plans = [{"clip_id": name, **plan} for name, status in statuses.items() if status == "ok"]
    constants = {"bytes": 1, "black_start": None, "black_end": None, "message": ""}
    manifest = [
        {
            "clip_id": name,
            "cluster": name,
            "status": status,
            "object": f"clips/{name}.mp4",
            "recipe": name,
            "sha256": name,
            **constants,
        }
        for name, status in statuses.items()
    ]
    request_table, plan_table = pl.DataFrame(requests, schema=REQUESTS), pl.DataFrame(plans, schema=FRAME_PLAN)
    return request_table, plan_table, pl.DataFrame(manifest, schema=CLIP_MANIFEST)


def test_a_missing_clip_has_no_requests_and_a_clip_without_a_plan_is_an_error(tmp_path: Path) -> None:
    requests, plans, manifest = make_tables(here="ok", gone="removed")
    (batch,) = gather_clip_requests(requests, plans, manifest, Store(tmp_path))
    assert batch.clip.clip_id == "here"
    assert batch.requests[0].prompt == "seen in 2 frames", "the frame count is filled in when the plan is known"
    with pytest.raises(UserError, match="clip 'here' has no frame plan"):
        gather_clip_requests(requests, plans.clear(), manifest, Store(tmp_path))


def test_a_mismatched_clip_sends_the_frames_of_another_clip(tmp_path: Path) -> None:
    requests, plans, manifest = make_tables(a="ok", b="ok", c="ok")
    mismatched = plans.with_columns(shown_clip=pl.Series(["b", "c", "b"]))
    own_batches = gather_clip_requests(requests, plans, manifest, Store(tmp_path))
    batches = gather_clip_requests(requests, mismatched, manifest, Store(tmp_path))
    files = [(batch.clip.clip_id, batch.clip.path) for batch in batches]
    assert files == [(name, tmp_path / f"clips/{other}.mp4") for name, other in ("ab", "bc", "cb")]
    entries = [entry for batch in (*own_batches, *batches) for entry in batch.entry_ids]
    assert len(set(entries)) == 6, "answers about another clip's frames have other keys"
    partitioned = [
        batch
        for partition in list_partitions(2)
        for batch in gather_clip_requests(requests, mismatched, manifest, Store(tmp_path), partition)
    ]
    assert sorted(batch.entry_ids for batch in partitioned) == sorted(batch.entry_ids for batch in batches)
    with pytest.raises(UserError, match="clip 'a' has no frame plan"):
        gather_clip_requests(requests, mismatched, manifest.filter(pl.col("clip_id") != "b"), Store(tmp_path))


@pytest.mark.parametrize("count", [1, 3, MAX_PARTITIONS])
def test_each_clip_belongs_to_one_partition(count: int) -> None:
    partitions, recipes = list_partitions(count), [f"recipe {number}" for number in range(300)]
    assert [slot for partition in partitions for slot in partition.slots] == list(range(HASH_SLOTS))
    shares = [[recipe for recipe in recipes if partition.contains(recipe)] for partition in partitions]
    assert sorted(recipe for share in shares for recipe in share) == sorted(recipes)
    assert count > 7 or all(0.7 < len(share) * count / len(recipes) < 1.3 for share in shares)


def test_partition_names_are_parsed() -> None:
    assert Partition.parse("2of4") == Partition(2, 4) and Partition(2, 4).name == "2of4"
    for wrong in ("", "0of2", "3of2", "2", "1of", "1of02", "-1of2"):
        with pytest.raises(ValueError, match="is not the name of a partition, such as 2of4"):
            Partition.parse(wrong)


def write_partitions(folder: Path, *shares: Sequence[Row]) -> list[Path]:
    paths = [folder / f"{partition.name}.parquet" for partition in list_partitions(len(shares))]
    for path, share in zip(paths, shares, strict=True):
        write_table(pl.DataFrame(share, schema=RESPONSES), path, RESPONSES)
    return paths


def test_partitions_that_do_not_fit_are_rejected(tmp_path: Path) -> None:
    requests = pl.DataFrame({"request_id": ["a", "b"]})
    assert (
        join_answers(write_partitions(tmp_path, [response_row("b")], [], [response_row("a")]), "k", requests).height
        == 2
    )
    with pytest.raises(UserError, match="1 rows have key other"):
        join_answers(write_partitions(tmp_path, [response_row("a")], [response_row("b", key="other")]), "k", requests)
    with pytest.raises(
        UserError, match="request a is answered by two partitions. Delete the folder and run snakemake again"
    ):
        join_answers(write_partitions(tmp_path, [response_row("a")], [response_row("a")]), "k", requests)
    with pytest.raises(UserError, match="request c is not part of the run"):
        join_answers(write_partitions(tmp_path, [response_row("a")], [response_row("c")]), "k", requests)


def test_a_constant_baseline_needs_an_existing_option() -> None:
    with pytest.raises(UserError, match=r"option of the constant baseline is 2, but the options are \['Yes', 'No'\]"):
        list(ConstantBaseline(model_spec(option=2)).answers(NO_FRAMES, [make_yes_no_request("a")]))


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("3", 1)])
def test_missing_gpus_are_reported(visible: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    message = (
        f"^config/models/m.yaml: the model needs 2 GPUs, but this machine has {count} .CUDA_VISIBLE_DEVICES is '{visible}'.*"
        "Remove the model from the suite's `run:`"
    )
    with pytest.raises(UserError, match=message):
        take_gpus(2, tmp_path, "m")


def list_release_files(folder: Path, release: dict[str, str], **options: Any) -> dict[str, str]:
    """Return the files that the stage `release` lists, with their content."""
    key = {"benchmark": "velociti", "release": release, "files": ["*.csv", "sets/*.csv"], **options}
    main(ReleaseKey.model_validate(key), Store(folder / "store"), folder / "out.json")
    return {file["name"]: Path(file["path"]).read_text() for file in json.loads((folder / "out.json").read_text())}


@pytest.mark.parametrize(("release", "message"), [
    ({"kind": "folder", "path": "nowhere"}, "release of velociti: no folder 'nowhere'"),
    ({"kind": "folder", "path": "tests/unit/stages"}, r"no file matches \*\.csv, sets/\*\.csv\. Found: .*test_infer\.py"),
    ({"kind": "huggingface", "repo": "a/b", "revision": "unpinned"}, "a/b is 'unpinned'. Run `reprise pin`"),
])  # fmt: skip
def test_an_unavailable_release_is_reported(tmp_path: Path, release: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        list_release_files(tmp_path, release)
    assert not (tmp_path / "out.json").exists()


def test_extra_files_count_as_files_of_the_release(tmp_path: Path) -> None:
    """An extra file replaces a file of the same name; a pattern may match only extra files."""
    texts = {"release/a.csv": "1", "release/b.csv": "2", "extras/b.csv": "3", "extras/sets/c.csv": "4"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    release = {"kind": "folder", "path": str(tmp_path / "release")}
    extras = {"folder": str(tmp_path / "extras"), "files": {}}
    assert list_release_files(tmp_path, release) == {"a.csv": "1", "b.csv": "2"}
    assert list_release_files(tmp_path, release, extras=extras) == {"a.csv": "1", "b.csv": "3", "sets/c.csv": "4"}
