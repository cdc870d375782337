"""Test runs in several partitions: their results equal those of one job, and no request is sent twice."""

import shutil
from pathlib import Path

import polars as pl

from tests.workflow.conftest import Project, printed_text
from tests.workflow.test_retries import RESPONSES, RUN, TABLE


def set_partitions(project: Project, new_count: int, old_count: int = 0) -> None:
    """Set the number of partitions of the oracle's runs."""
    old, new = (
        f"adapter: oracle\npartitions: {partitions}\n" if partitions > 1 else "adapter: oracle\n"
        for partitions in (old_count, new_count)
    )
    project.edit("config/models/oracle.yaml", old, new)


def cached_answers(project: Project) -> tuple[int, str]:
    """Return the number of entries of the response cache, and the responses of the run."""
    caches = (project.root / "resources/store/response_cache").rglob("*.jsonl")
    rows = pl.read_parquet(project.root / RESPONSES).write_json()
    return sum(path.read_bytes().count(b"\n") for path in caches), rows


def test_partitions_equal_one_job_and_another_number_sends_no_request(finished_small: Path, small: Project) -> None:
    timings = RESPONSES.replace(".parquet", ".timings.parquet")
    for name in ("results/tables", *(f"results/small/{stage}" for stage in ("metrics", "verdicts", "responses"))):
        shutil.rmtree(small.root / name)
    shutil.rmtree(small.root / "resources/store/response_cache")
    set_partitions(small, 3)
    assert "     3  oracle: velociti 3\n" in printed_text(small.snakemake("-n", TABLE)), (
        "a dry run names the queried models"
    )
    jobs = small.run_rules(TABLE)
    assert (jobs.count("infer_partition"), jobs.count("join_partitions")) == (3, 1)
    names = [TABLE, TABLE.replace(".md", ".csv")]
    assert all((small.root / name).read_bytes() == (finished_small / name).read_bytes() for name in names)
    assert pl.read_parquet(small.root / RESPONSES).equals(pl.read_parquet(finished_small / RESPONSES))
    clips = [
        pl.read_parquet(root / timings).select("clip_id", "requests", "resumed")
        for root in (small.root, finished_small)
    ]
    assert clips[0].equals(clips[1]) and clips[0].height == 3
    assert small.run_rules(TABLE) == [] and "done" in small.call_reprise("why", RUN)
    answers_before = cached_answers(small)
    for partitions, old_count in ((5, 3), (1, 5)):  # more partitions than clips, and no partitions
        set_partitions(small, partitions, old_count=old_count)
        assert small.run_rules(TABLE).count("infer_partition") == (partitions if partitions > 1 else 0)
        assert cached_answers(small) == answers_before
    assert small.run_rules(TABLE) == []
