"""`reprise plan` in a finished copy with a toy checkpoint: what would be asked, why, and what that takes."""

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


class Made(NamedTuple):
    questions: int
    frames: int
    tokens: int
    seconds: float


@pytest.fixture
def inside(toy: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(toy.root)
    monkeypatch.setenv("COLUMNS", "80")
    return toy


def made(run: str) -> Made:
    answers, timings = (pl.read_parquet(RESULTS / f"responses/{run}{kind}.parquet") for kind in ("", ".timings"))
    frames = pl.read_parquet(RESULTS / "frames/velociti/fps1.parquet")["indices"].list.len()
    seconds = timings["seconds"].sum() + timings["waiting"].sum()
    return Made(answers.height, frames.sum(), answers["tokens_in"].sum(), seconds)


def forget(run: str) -> None:
    """As if a run had never been asked."""
    plan = load_plan(None)
    key = make_job(plan, ScoredRun(Run.parse(run)), RunKeys(plan)).key
    for path in (*RESULTS.glob(f"*/{run}*.parquet"), *RESULTS.glob(f"verdicts/{run}/*")):
        path.unlink()
    (cache,) = Path("resources/store/response_cache").glob(f"*/{key}.jsonl")
    cache.unlink()


def planned() -> dict[str, JobEstimate]:
    return {one.pending_job.job.scored_run.name: one for one in estimate_jobs(load_plan(None), [])[1]}


def test_a_new_checkpoint_is_asked_everything_again(
    inside: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    found = planned()
    assert found.keys() == {ENTAIL, MC}
    for name, one in found.items():
        before = made(name)
        assert one.workload is not None and one.prompt_tokens is not None and one.time is not None
        assert (one.requests, one.n_answered, one.frames) == (before.questions, 0, before.frames)
        assert one.prompt_tokens == pytest.approx(before.tokens), "as many as the last time"
        assert one.time.source == "itself" and one.time.seconds == pytest.approx(before.seconds)
    show_plan([], False, None)
    text = capsys.readouterr().out
    said = " ".join(text.split())
    assert "2 inference jobs pending; done: 1." in said and max(map(len, text.splitlines())) <= 80
    assert "toy-llava-ov: weights changed (model.checkpoint: " in said and " No GPU; weights: " in said
    count = sum(made(one).questions for one in found)
    assert f"Total: requests {count:,}; " in said and "Disk: nothing to fetch" in said
    monkeypatch.setattr("reprise.commands.plan.MAX_LINES", 3)
    show_plan([], False, None)
    assert "and 1 more: --all lists them" in capsys.readouterr().out
    show_plan([], True, None)
    assert capsys.readouterr().out == text


def test_before_the_clips_are_there_the_questions_are_known_and_before_the_release_nothing(inside: Project) -> None:
    whole = made(ENTAIL)
    forget(ENTAIL)
    Path(RESULTS / "frames/velociti/fps1.parquet").unlink()
    for manifest in (RESULTS / "clips/velociti").glob("*.parquet"):
        manifest.unlink()
    one = planned()[ENTAIL]
    assert (one.requests, one.is_upper_bound, one.frames) == (whole.questions, True, 3 * 10), "three clips of 10 s"
    assert estimate_pending_data(load_plan(None), "velociti") == {"videos": (0, 0.0), "clips": (3, None)}
    (RESULTS / "requests/velociti/entail.parquet").unlink()
    (RESULTS / "annotations/velociti/clips.parquet").unlink()
    assert planned()[ENTAIL].requests is None and estimate_pending_data(load_plan(None), "velociti") is None


def test_what_is_meant_by_a_target(inside: Project) -> None:
    plan = load_plan(None)
    table = [one.name for one in select_scored_runs(plan, ["results/tables/velociti/table2.html"])]
    assert (
        table == [one.name for one in select_scored_runs(plan, ["table2"])] == ["velociti/entail/fps1/oracle", ENTAIL]
    )
    assert [one.name for one in select_scored_runs(plan, ["mc/toy"])] == [MC]
    assert [one.name for one in select_scored_runs(plan, [f"results/small/metrics/{MC}.parquet", "mc"])] == [MC]
