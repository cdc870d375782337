"""TemporalBench is made by the workflow: clips are measured first, and the evaluation reads what comes out."""

import json
from collections import Counter

import polars as pl
import pytest

from tests.workflow.conftest import Project, both, construction_suite

FOLDER = "results/construction/construction/temporalbench"
PAGE, RELEASE = f"{FOLDER}/statistics.md", "results/construction/release/temporalbench/files.json"
CHAIN = {
    "construction_source": 1, "construction_clips": 1, "construction_sources": 1, "construction_cuts": 1,
    "construction_facts": 1, "construction_candidates": 1, "construction_requests": 4, "construction_write": 4,
    "construction_samples": 1, "construction_review": 1, "construction_release": 1, "construction_statistics": 1,
}  # fmt: skip
TABLES = """\
benchmark: temporalbench
tables:
  table2:
    title: Short videos
    caption: Short videos.
    columns: [{title: MBA, metrics: [mba], group: overall}]
    sections: [{protocol: short, sampling: linspace1, rows: [{label: Oracle, model: oracle}]}]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = construction_suite(tmp_path_factory.mktemp("measured"), "temporalbench", TABLES)
    made.edit("config/suites/construction.yaml", "shards: 2", "shards: 1")
    small = "rounds: 2\n      datasets: [Charades]\n      measured: 4"
    made.edit("config/suites/construction.yaml", "rounds: 3", small)
    return made


def test_clips_are_measured_before_anything_is_written(project: Project) -> None:
    planned = Counter(project.planned())
    assert {rule: count for rule, count in planned.items() if rule.startswith("construction_")} == CHAIN
    assert {"annotations", "sources", "clips", "infer", "score", "table"} <= set(planned) and "release" not in planned
    assert Counter(project.made(PAGE, RELEASE)) == CHAIN
    pool = pl.read_parquet(project.root / f"{FOLDER}/pool.parquet")
    kept = pool.filter(pl.col("filter") == "")
    assert 0 < kept.height <= 4 and kept["shots"].null_count() == kept["motion"].null_count() == 0
    assert set(kept["dataset"]) == {"Charades"} and "not_measured" in set(pool["filter"])
    released = json.loads((project.root / RELEASE).with_name("temporalbench_short_qa.json").read_text())
    assert {one["dataset"] for one in released} == {"Charades"} and {one["GT"] for one in released} == {"A", "B"}
    page = project.text(PAGE)
    assert "| language models that write | all | 3 | 2 |" in page and "| source data sets | all | 7 | 1 |" in page


def test_what_it_may_be_made_of_is_kept_listed_and_tried_again(project: Project) -> None:
    ledger = project.root / f"{FOLDER}/clips/0.parquet"
    cuts = pl.read_parquet(ledger).filter(status="ok")
    objects = [project.root / "resources/store" / name for name in cuts["object"]]
    assert "freed" in project.said("store", "--prune")
    assert all(path.is_file() for path in objects) and project.planned(PAGE, RELEASE) == []
    objects[0].unlink()
    done = project.snakemake(PAGE, "--forcerun", "construction_facts")
    assert done.returncode == 0 and objects[0].is_file(), done.stderr
    dropped = Counter(pl.read_parquet(project.root / f"{FOLDER}/pool.parquet")["filter"])
    kept, first = dropped.pop(""), dropped.most_common(1)[0]
    line = f"Construction of temporalbench: {kept} of {kept + dropped.total()} kept before the writing ({first[1]} {first[0]}"
    assert line in both(done)
