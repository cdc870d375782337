"""A benchmark is made by the workflow: step by step, and again only where something changed."""

import csv

import polars as pl
import pytest
from reprise.core.schemas import RESPONSES, read_table

from tests.workflow.conftest import ROOT, TABLES, Project, copy_project

FOLDER = "results/construction/construction/velociti"
PAGE, RELEASE = f"{FOLDER}/statistics.md", "results/construction/release/velociti/files.json"
LEFT = [
    "construction_release", "construction_requests", "construction_review", "construction_samples",
    "construction_statistics", "construction_write", "construction_write",
]  # fmt: skip
"""the chain after its candidates and the first requests"""
SUBSET = f"{FOLDER}/subset"
VERDICTS = "resources/demo/reviews/velociti"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = copy_project(tmp_path_factory.mktemp("construction") / "project")
    made.edit("config/config.yaml", "suite: demo", "suite: construction")
    made.edit("config/suites/construction.yaml", "videos: 24", "videos: 4")
    search = "    subset_search: {per_test: 2, tolerance: 0}\n    clips: ids\n"
    made.edit("config/suites/construction.yaml", "    clips: ids\n", search)
    suite = made.root / "config/suites/construction.yaml"
    suite.write_text(suite.read_text().partition("  vinoground:\n")[0])
    made.write("config/tables/construction/velociti.yaml", TABLES)
    made.write(f"{VERDICTS}/toy-script.csv", (ROOT / f"{VERDICTS}/toy-script.csv").read_text())
    return made


def test_the_plan_lists_the_writing_and_the_chain_makes_a_release_and_counts(project: Project) -> None:
    requests = f"{FOLDER}/requests/toy-writer/1.parquet"
    assert project.made(requests) == ["construction_candidates", "construction_requests", "construction_source"]
    count = pl.read_parquet(project.root / requests).height
    (line,) = [one for one in project.reprise("reprise", "plan", RELEASE).stdout.splitlines() if "round1" in one]
    assert line.split()[:2] == [str(count), "0"] and line.endswith("velociti/construction/round1")
    planned = project.planned()
    assert [rule for rule in planned if rule.startswith("construction_")] == LEFT
    assert {"annotations", "infer", "score", "table"} <= set(planned) and "release" not in planned
    assert project.made(PAGE, RELEASE) == LEFT
    page = (project.root / PAGE).read_text()
    assert "| videos with a caption | all | 864 | 4 |  |" in page and "no language model" in page
    released = list(csv.DictReader((project.root / RELEASE).with_name("velociti.csv").open()))
    reviewed = pl.read_parquet(project.root / f"{FOLDER}/reviewed.parquet")
    # captions of other videos are drawn from four, so that verdicts on controls of 24 videos fit few of them
    assert len(released) == reviewed.filter(pl.col("filter") == "").height > 20
    assert set(reviewed["filter"]) <= {"", "not_reviewed", "not_written"}


def test_a_changed_writer_is_asked_again_and_a_verdict_asks_nobody(project: Project) -> None:
    project.edit("config/models/toy-writer.yaml", "says: slides left,", "says: moves left,")
    said = " ".join(project.reprise("reprise", "plan").stdout.split())
    assert "toy-writer: settings changed (" in said, said
    assert "slides left -> moves left), and at most 1 rounds after it." in said, said
    assert said.count("velociti/construction/round") == 1 and "velociti/construction/round1" in said
    project.edit("config/models/toy-writer.yaml", "says: moves left,", "says: slides left,")
    tasks = list(csv.DictReader((project.root / f"{FOLDER}/review/tasks.csv").open()))
    rows = [f"{row['task_id']},{row['digest']},ann,both are wrong" for row in tasks if row["negative"]]
    project.write(f"{VERDICTS}/ann.csv", "\n".join(["task_id,digest,reviewer,verdict", *rows[:3]]) + "\n")
    again = ["construction_release", "construction_review", "construction_statistics"]
    assert project.planned(PAGE, RELEASE) == again


def test_a_subset_is_searched_for_after_a_run_and_is_no_part_of_the_release(project: Project) -> None:
    made = project.made(f"{SUBSET}/oracle.csv")
    assert {"construction_subset", "infer", "score"} <= set(made)
    rows = list(csv.DictReader((project.root / f"{SUBSET}/oracle.scores.csv").open()))
    assert all((row["strict"], row["subset_strict"]) == ("100.00", "100.00") for row in rows)
    released = csv.DictReader((project.root / RELEASE).with_name("velociti.csv").open())
    assert sorted(row["test_name"] for row in rows) == sorted({row["test_name"] for row in released})
    listed = list(csv.DictReader((project.root / f"{SUBSET}/oracle.csv").open()))
    assert len(listed) == sum(int(row["subset"]) for row in rows) <= 16
    refused = project.snakemake("--dry-run", f"{SUBSET}/toy-text.csv")
    assert refused.returncode == 1 and "no run 'velociti/entail/fps1/toy-text' here" in refused.stdout + refused.stderr


def test_lost_replies_come_from_the_journal_and_no_verdict_releases_nothing(project: Project) -> None:
    replies = project.root / f"{FOLDER}/replies/toy-writer/1.parquet"
    before = read_table(replies, RESPONSES)
    for path in (replies, *(project.root / VERDICTS).iterdir()):
        path.unlink()
    assert project.made(f"{FOLDER}/replies/toy-writer/1.parquet") == ["construction_write"]
    done = project.snakemake(RELEASE)
    assert done.returncode == 1 and "nothing is left to release" in done.stderr and "review/tasks.csv" in done.stderr
    assert read_table(replies, RESPONSES).equals(before)
    log = project.root / "results/construction/logs/construction/velociti/write/toy-writer/1.log"
    assert "loading the model" not in log.read_text()
