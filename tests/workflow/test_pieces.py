"""A run that several jobs ask for: the bytes of one job, nothing asked again, and the same words about failures."""

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


def answers(project: Project) -> int:
    """How many answers were ever written down."""
    journals = (project.root / "resources/store/journal").rglob("*.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in journals)


def test_pieces_make_the_bytes_of_one_job(finished_small: Path, fresh: Project) -> None:
    split(fresh, 3)
    done = fresh.snakemake("-n", TABLE)
    assert "     3  oracle: velociti 3\n" in done.stdout + done.stderr, "a dry run says who would be asked"
    jobs = fresh.made(TABLE)
    assert (jobs.count("infer_piece"), jobs.count("join_pieces"), jobs.count("infer")) == (3, 1, 1)
    assert file_digest(fresh.root / RESPONSES) == file_digest(finished_small / RESPONSES)
    names = [TABLE, TABLE.replace(".md", ".csv"), f"results/small/keys/{RUN}.json"]
    assert all((fresh.root / name).read_bytes() == (finished_small / name).read_bytes() for name in names)
    clips = [
        pl.read_parquet(root / RESPONSES.replace(".parquet", ".timings.parquet")).select(
            "clip_id", "requests", "resumed"
        )
        for root in (fresh.root, finished_small)
    ]
    assert clips[0].equals(clips[1]) and clips[0].height == 3
    assert fresh.made(TABLE) == [] and "done" in said(fresh, "why", RUN)


def test_another_number_of_pieces_asks_nothing_again(small: Project) -> None:
    """More than there are clips, fewer, and none."""
    before, digest, count = answers(small), file_digest(small.root / RESPONSES), 0
    for now in (5, 2, 1):
        split(small, now, before=count)
        jobs = small.made(TABLE)
        assert (jobs.count("infer_piece") == (now if now > 1 else 0) and "infer" not in jobs) or now == 1
        assert (answers(small), file_digest(small.root / RESPONSES)) == (before, digest)
        assert small.made(TABLE) == []
        count = now if now > 1 else 0


def test_failed_answers_of_pieces_are_asked_again_within_bounds_and_on_request(small: Project) -> None:
    break_oracle(small, "TimeoutError", "control 0")
    split(small, 3)
    for tries in (1, 2, 3):
        jobs = small.made(TABLE)
        assert (jobs.count("infer_piece"), jobs.count("join_pieces")) == (3, 1) and asked(small) == 2 * tries
    assert (
        small.made(TABLE) == [] and errors(small) == [("timeout", "TimeoutError: no answer from http://***@host")] * 2
    )
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
    (small.root / "down").unlink()
    small.made(TABLE)
    assert errors(small) == []
