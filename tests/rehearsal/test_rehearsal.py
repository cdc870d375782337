"""Test the rehearsal: the papers' tables at full size, with random answers for a few models."""

import re
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, Project, copy_project

TABLES = (
    *("velociti/table8", "velociti/table11", "vinoground/table2", "vinoground/table6"),
    *("temporalbench/table5", "temporalbench/table7", "mmbench_video/table3"),
)
# One model per kind of answer is enough; the other rows show published values.
RUN = "[llava-onevision-72b, video-llava-7b, gpt-4-turbo-1106]"


@pytest.fixture(scope="module")
def finished_rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = copy_project(tmp_path_factory.mktemp("rehearsal") / "project")
    project.edit("config/suites/rehearsal.yaml", "run: [all]", f"run: {RUN}")
    project.edit("config/suites/rehearsal.yaml", "shards: 4", "shards: 1")
    project.edit("config/config.yaml", "suite: demo", "suite: rehearsal")
    project.run_rules(*(f"results/tables/{table}.md" for table in TABLES))
    return project.root


def reproduced_rows(root: Path, table: str) -> list[dict[str, str]]:
    """Return the rows of a table that are computed from answers or data, in the `fixed` convention."""
    rows = Project(root).rows(f"results/tables/{table}.csv")
    return [row for row in rows if row["convention"] == "fixed" and row["source"] in ("reproduced", "data")]


def test_all_cells_have_a_number(finished_rehearsal: Path) -> None:
    """Only a column that no paper prints may be incomplete, in rows without random answers."""
    *gaps, total = Project(finished_rehearsal).call_reprise("incomplete", *TABLES).splitlines()
    assert all(re.match(r"temporalbench/table7: .*: MBA with EgoExo4D \(mba\)$", line) for line in gaps)
    assert total == f"{len(gaps)} numbers are missing in 1 tables"
    assert not any(played in line for line in gaps for played in (": VideoLLaVA: ", ": LLaVA-OneVision-72B: "))


@pytest.mark.parametrize(
    ("table", "metric", "group", "request_count", "expected", "tolerance"),
    [
        ("velociti/table8", "strict", "average", 7 * 150, 25.0, 5.0),
        ("vinoground/table6", "text", "all", 500, 25.0, 6.5),
        ("vinoground/table6", "group", "all", 500, 6.25, 4.0),
        ("temporalbench/table7", "mba", "overall", 1371, 6.25, 2.5),
        ("mmbench_video/table3", "mean", "overall", 1998, 1.5, 0.1),
    ],
)
def test_random_answers_score_at_chance(
    finished_rehearsal: Path, table: str, metric: str, group: str, request_count: int, expected: float, tolerance: float
) -> None:
    rows = [
        row for row in reproduced_rows(finished_rehearsal, table) if row["metric"] == metric and row["group"] == group
    ]
    assert rows
    for row in rows:
        assert (row["requested"], row["scored"], row["failed"], row["missing"]) == (
            str(request_count),
            str(request_count),
            "0",
            "0",
        ), row
        assert abs(float(row["value"]) - expected) < tolerance, row


def test_counts_equal_the_papers(finished_rehearsal: Path) -> None:
    published_counts = {}
    for benchmark in ("velociti", "vinoground", "temporalbench"):
        for row in Project(ROOT).rows(f"resources/published/{benchmark}.csv"):
            group = "all" if row["group"] == "total" else row["group"]
            published_counts[f"{benchmark}/{row['table']}", row["metric"], group] = float(row["value"])
    for table in ("velociti/table11", "vinoground/table2", "temporalbench/table5"):
        rows = reproduced_rows(finished_rehearsal, table)
        assert len(rows) >= 8
        assert all(float(row["value"]) == published_counts[table, row["metric"], row["group"]] for row in rows)


def test_tables_state_that_their_numbers_are_random(finished_rehearsal: Path) -> None:
    for table in TABLES:
        assert "Every reproduced number is random" in (finished_rehearsal / f"results/tables/{table}.md").read_text()
