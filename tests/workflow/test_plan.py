"""Test `reprise plan` in a finished copy with a toy checkpoint: pending requests, their reasons and costs."""

from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from reprise.commands.pending import JobEstimate
from reprise.commands.plan import estimate_jobs, select_scored_runs, show_plan
from reprise.commands.shared import load_plan
from reprise.core.paths import Run, ScoredRun
from reprise.plan.answers import make_job
from reprise.plan.costs import estimate_pending_data
from reprise.plan.run_keys import RunKeys

from tests.workflow.conftest import Project

RESULTS = Path("results/small")
ENTAIL, MC = "velociti/entail/fps1/toy-llava-ov", "velociti/mc/fps1/toy-llava-ov"


class RunSize(NamedTuple):
    questions: int
    frames: int
    tokens: int
    seconds: float


@pytest.fixture
def project(toy: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(toy.root)
    monkeypatch.setenv("COLUMNS", "80")
    return toy


def measure_run(run: str) -> RunSize:
    answers, timings = (pl.read_parquet(RESULTS / f"responses/{run}{kind}.parquet") for kind in ("", ".timings"))
    frames = pl.read_parquet(RESULTS / "frames/velociti/fps1.parquet")["indices"].list.len()
    seconds = timings["seconds"].sum() + timings["waiting"].sum()
    return RunSize(answers.height, frames.sum(), answers["tokens_in"].sum(), seconds)


def forget(run: str) -> None:
    """Delete the answers of a run and everything derived from them."""
    plan = load_plan(None)
    key = make_job(plan, ScoredRun(Run.parse(run)), RunKeys(plan)).cache_key
    for path in (*RESULTS.glob(f"*/{run}*.parquet"), *RESULTS.glob(f"verdicts/{run}/*")):
        path.unlink()
    (cache,) = Path("resources/store/response_cache").glob(f"*/{key}.jsonl")
    cache.unlink()


def pending_estimates() -> dict[str, JobEstimate]:
    return {estimate.pending_job.job.scored_run.name: estimate for estimate in estimate_jobs(load_plan(None), [])[1]}


def test_a_new_checkpoint_makes_all_its_requests_pending(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    estimates = pending_estimates()
    assert estimates.keys() == {ENTAIL, MC}
    for name, estimate in estimates.items():
        size = measure_run(name)
        assert estimate.workload is not None and estimate.prompt_tokens is not None and estimate.time is not None
        assert (estimate.request_count, estimate.n_answered, estimate.frame_count) == (size.questions, 0, size.frames)
        assert estimate.prompt_tokens == pytest.approx(size.tokens), "as many as in the last run"
        assert estimate.time.source == "itself" and estimate.time.seconds == pytest.approx(size.seconds)
    show_plan([], False, None)
    text = capsys.readouterr().out
    output = " ".join(text.split())
    assert "2 inference jobs pending; done: 1." in output
    assert "toy-llava-ov: weights changed (model.checkpoint: " in output and " No GPU; weights: " in output
    count = sum(measure_run(name).questions for name in estimates)
    assert f"Total: requests {count:,}; " in output and "Disk: nothing to fetch" in output
    assert f"questions {count // 2:,} for entail, mc (counted here)" in output and "(partly timed" not in output
    assert "for toy-llava-ov, 2 runs (timed here)" in output and "by hand release, videos/{source_id}.mp4" in output
    monkeypatch.setattr("reprise.commands.plan.MAX_LINES", 2)
    show_plan([], False, None)
    assert "and 1 more: --all lists them" in capsys.readouterr().out
    show_plan([], True, None)
    assert capsys.readouterr().out == text


def test_requests_are_known_before_the_clips_but_not_before_the_release(project: Project) -> None:
    size = measure_run(ENTAIL)
    forget(ENTAIL)
    Path(RESULTS / "frames/velociti/fps1.parquet").unlink()
    for manifest in (RESULTS / "clips/velociti").glob("*.parquet"):
        manifest.unlink()
    estimate = pending_estimates()[ENTAIL]
    assert (estimate.request_count, estimate.is_upper_bound, estimate.frame_count) == (size.questions, True, 3 * 10), (
        "three clips of 10 s"
    )
    assert estimate_pending_data(load_plan(None), "velociti") == {"videos": (0, 0.0), "clips": (3, None)}
    (RESULTS / "requests/velociti/entail.parquet").unlink()
    (RESULTS / "annotations/velociti/clips.parquet").unlink()
    assert pending_estimates()[ENTAIL].request_count is None
    assert estimate_pending_data(load_plan(None), "velociti") is None


def test_targets_select_runs(project: Project) -> None:
    plan = load_plan(None)
    table_runs = [run.name for run in select_scored_runs(plan, ["results/tables/velociti/table2.html"])]
    assert (
        table_runs
        == [run.name for run in select_scored_runs(plan, ["table2"])]
        == ["velociti/entail/fps1/oracle", ENTAIL]
    )
    assert [run.name for run in select_scored_runs(plan, ["mc/toy"])] == [MC]
    assert [run.name for run in select_scored_runs(plan, [f"results/small/metrics/{MC}.parquet", "mc"])] == [MC]
