"""The rehearsal: real tables of the papers at full size, with one model's rows played by random draws."""

import re
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, Project, copy_project

TABLES = (
    *("velociti/table8", "velociti/table11", "vinoground/table2", "vinoground/table6"),
    *("temporalbench/table5", "temporalbench/table7", "mmbench_video/table3"),
)
# One model a kind of answer is enough here; the rest of the rows show their published values.
RUN = "[llava-onevision-72b, video-llava-7b, gpt-4-turbo-1106]"


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = copy_project(tmp_path_factory.mktemp("rehearsal") / "project")
    project.edit("config/suites/rehearsal.yaml", "run: [all]", f"run: {RUN}")
    project.edit("config/suites/rehearsal.yaml", "shards: 4", "shards: 1")
    project.edit("config/config.yaml", "suite: demo", "suite: rehearsal")
    project.made(*(f"results/tables/{table}.md" for table in TABLES))
    return project.root


def reproduced(root: Path, table: str) -> list[dict[str, str]]:
    """The numbers of a table that come of answers or of the data, as tables show them."""
    rows = Project(root).rows(f"results/tables/{table}.csv")
    return [row for row in rows if row["convention"] == "fixed" and row["source"] in ("reproduced", "data")]


def test_every_cell_has_a_number(rehearsed: Path) -> None:
    """But for a column that no paper prints, in the rows that are not played here."""
    *gaps, total = Project(rehearsed).called("incomplete", *TABLES).splitlines()
    assert all(re.match(r"temporalbench/table7: .*: MBA with EgoExo4D \(mba\)$", line) for line in gaps)
    assert total == f"{len(gaps)} numbers are missing in 1 tables"
    assert not any(played in line for line in gaps for played in (": VideoLLaVA: ", ": LLaVA-OneVision-72B: "))


@pytest.mark.parametrize(
    ("table", "metric", "group", "asked", "expected", "within"),
    [
        ("velociti/table8", "strict", "average", 7 * 150, 25.0, 5.0),
        ("vinoground/table6", "text", "all", 500, 25.0, 6.5),
        ("vinoground/table6", "group", "all", 500, 6.25, 4.0),
        ("temporalbench/table7", "mba", "overall", 1371, 6.25, 2.5),
        ("mmbench_video/table3", "mean", "overall", 1998, 1.5, 0.1),
    ],
)
def test_random_draws_reach_chance_at_full_size(
    rehearsed: Path, table: str, metric: str, group: str, asked: int, expected: float, within: float
) -> None:
    rows = [row for row in reproduced(rehearsed, table) if row["metric"] == metric and row["group"] == group]
    assert rows
    for row in rows:
        assert (row["requested"], row["scored"], row["failed"], row["missing"]) == (str(asked), str(asked), "0", "0"), (
            row
        )
        assert abs(float(row["value"]) - expected) < within, row


def test_counts_are_the_papers(rehearsed: Path) -> None:
    printed = {}
    for benchmark in ("velociti", "vinoground", "temporalbench"):
        for row in Project(ROOT).rows(f"resources/published/{benchmark}.csv"):
            group = "all" if row["group"] == "total" else row["group"]
            printed[f"{benchmark}/{row['table']}", row["metric"], group] = float(row["value"])
    for table in ("velociti/table11", "vinoground/table2", "temporalbench/table5"):
        rows = reproduced(rehearsed, table)
        assert len(rows) >= 8
        assert all(float(row["value"]) == printed[table, row["metric"], row["group"]] for row in rows)


def test_the_tables_say_that_their_numbers_are_random(rehearsed: Path) -> None:
    for table in TABLES:
        assert "Every reproduced number is random" in (rehearsed / f"results/tables/{table}.md").read_text()
