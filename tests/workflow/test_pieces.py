"""A run that several jobs ask for: the bytes of one job, nothing asked again, and the same words about failures."""

import shutil
from pathlib import Path

import polars as pl
from reprise.core.files import file_digest

from tests.workflow.conftest import Project
from tests.workflow.test_retries import RESPONSES, RUN, TABLE, asked, break_oracle, errors, said

MODEL = "config/models/oracle.yaml"
ADAPTER = "adapter: oracle\n"


def split(project: Project, count: int, before: int = 0) -> None:
    """Have so many jobs ask each of the oracle's runs."""
    old = f"{ADAPTER}pieces: {before}\n" if before else ADAPTER
    project.edit(MODEL, old, f"{ADAPTER}pieces: {count}\n" if count > 1 else ADAPTER)


def forget_answers(project: Project) -> None:
    for name in ("results/tables", *(f"results/small/{stage}" for stage in ("metrics", "verdicts", "responses"))):
        shutil.rmtree(project.root / name)
    shutil.rmtree(project.root / "resources/store/journal")


def answers(project: Project) -> int:
    """How many answers were ever written down."""
    journals = (project.root / "resources/store/journal").rglob("*.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in journals)


def test_pieces_make_the_bytes_of_one_job_and_another_number_asks_nothing_again(
    finished_small: Path, small: Project
) -> None:
    timings = RESPONSES.replace(".parquet", ".timings.parquet")
    forget_answers(small)
    split(small, 3)
    done = small.snakemake("-n", TABLE)
    assert "     3  oracle: velociti 3\n" in done.stdout + done.stderr, "a dry run says who would be asked"
    jobs = small.made(TABLE)
    assert (jobs.count("infer_piece"), jobs.count("join_pieces")) == (3, 1)
    names = [RESPONSES, TABLE, TABLE.replace(".md", ".csv"), f"results/small/keys/{RUN}.json"]
    assert all((small.root / name).read_bytes() == (finished_small / name).read_bytes() for name in names)
    clips = [
        pl.read_parquet(root / timings).select("clip_id", "requests", "resumed")
        for root in (small.root, finished_small)
    ]
    assert clips[0].equals(clips[1]) and clips[0].height == 3
    assert small.made(TABLE) == [] and "done" in said(small, "why", RUN)
    before, digest = answers(small), file_digest(small.root / RESPONSES)
    for pieces, earlier in ((5, 3), (1, 5)):  # more than there are clips, and none
        split(small, pieces, before=earlier)
        assert small.made(TABLE).count("infer_piece") == (pieces if pieces > 1 else 0)
        assert (answers(small), file_digest(small.root / RESPONSES)) == (before, digest)
    assert small.made(TABLE) == []


def test_failed_answers_of_pieces_are_asked_again_on_request(small: Project) -> None:
    break_oracle(small, "TimeoutError", "control 0")
    split(small, 3)
    for tries in (1, 2):
        jobs = small.made(TABLE)
        assert (jobs.count("infer_piece"), jobs.count("join_pieces")) == (3, 1) and asked(small) == 3 * tries
    assert errors(small) == [("timeout", "TimeoutError: no answer from http://***@host")] * 2
    assert f"2       0        0  {RUN}  (2 timeout)\n" in said(small, "runs")
    (small.root / "down").unlink()
    assert "2 answers" in said(small, "retry", RUN)
    assert small.made(TABLE).count("infer_piece") == 3 and errors(small) == []


def test_a_piece_that_only_fails_stops_the_run_with_the_reason(small: Project) -> None:
    split(small, 2)
    break_oracle(small, "ValueError", "")
    done = small.snakemake(TABLE)
    assert done.returncode != 0 and f"{RUN}: the first " in done.stdout + done.stderr
    text = said(small, "why", RUN)
    assert text.startswith(f"{RUN}: failed\n") and f"logs/infer_piece/{RUN}/" in text
