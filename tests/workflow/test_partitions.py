"""A run that several jobs ask for: the bytes of one job, nothing asked again."""

import shutil
from pathlib import Path

import polars as pl

from tests.workflow.conftest import Project, both
from tests.workflow.test_retries import RESPONSES, RUN, TABLE


def split(project: Project, count: int, before: int = 0) -> None:
    """Have so many jobs ask each of the oracle's runs."""
    old, new = (
        f"adapter: oracle\npartitions: {partitions}\n" if partitions > 1 else "adapter: oracle\n"
        for partitions in (before, count)
    )
    project.edit("config/models/oracle.yaml", old, new)


def answers(project: Project) -> tuple[int, str]:
    """How many answers were ever written down, and what the run made of them."""
    caches = (project.root / "resources/store/response_cache").rglob("*.jsonl")
    rows = pl.read_parquet(project.root / RESPONSES).write_json()
    return sum(path.read_bytes().count(b"\n") for path in caches), rows


def test_partitions_make_the_bytes_of_one_job_and_another_number_asks_nothing_again(
    finished_small: Path, small: Project
) -> None:
    timings = RESPONSES.replace(".parquet", ".timings.parquet")
    for name in ("results/tables", *(f"results/small/{stage}" for stage in ("metrics", "verdicts", "responses"))):
        shutil.rmtree(small.root / name)
    shutil.rmtree(small.root / "resources/store/response_cache")
    split(small, 3)
    assert "     3  oracle: velociti 3\n" in both(small.snakemake("-n", TABLE)), "a dry run says who would be asked"
    jobs = small.made(TABLE)
    assert (jobs.count("infer_partition"), jobs.count("join_partitions")) == (3, 1)
    names = [TABLE, TABLE.replace(".md", ".csv")]
    assert all((small.root / name).read_bytes() == (finished_small / name).read_bytes() for name in names)
    assert pl.read_parquet(small.root / RESPONSES).equals(pl.read_parquet(finished_small / RESPONSES))
    clips = [
        pl.read_parquet(root / timings).select("clip_id", "requests", "resumed")
        for root in (small.root, finished_small)
    ]
    assert clips[0].equals(clips[1]) and clips[0].height == 3
    assert small.made(TABLE) == [] and "done" in small.called("why", RUN)
    before = answers(small)
    for partitions, earlier in ((5, 3), (1, 5)):  # more than there are clips, and none
        split(small, partitions, before=earlier)
        assert small.made(TABLE).count("infer_partition") == (partitions if partitions > 1 else 0)
        assert answers(small) == before
    assert small.made(TABLE) == []
