"""Test constructions in the workflow: their steps, reruns after changes, annotators' files and the static filter."""

import json
import shutil

import polars as pl
import pytest

from tests.workflow.conftest import ROOT, TABLES, Project, construction_suite

SUITE, FOLDER = "config/suites/construction.yaml", "results/construction/construction/velociti"
PAGE, RELEASE = f"{FOLDER}/statistics.md", "results/construction/release/velociti/files.json"
RELEASED = "results/construction/release/velociti/velociti.csv"
LATER_STEPS = [
    "construction_release", "construction_requests", "construction_review", "construction_samples",
    "construction_statistics", "construction_write", "construction_write",
]  # fmt: skip
"""The steps after the candidates and the first requests."""
SUBSET = f"{FOLDER}/subset"
VERDICTS = "resources/demo/reviews/velociti"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = construction_suite(tmp_path_factory.mktemp("construction"), "velociti", TABLES)
    project.edit(SUITE, "videos: 24", "videos: 4")
    project.edit(SUITE, "    clips: ids\n", "    subset_search: {per_test: 2, tolerance: 0}\n    clips: ids\n")
    return project


def test_the_plan_lists_the_writing_and_the_steps_write_a_release(project: Project) -> None:
    requests = f"{FOLDER}/requests/toy-writer/1.parquet"
    assert project.run_rules(requests) == ["construction_candidates", "construction_requests", "construction_source"]
    count = pl.read_parquet(project.root / requests).height
    (line,) = [line for line in project.call_reprise("plan", RELEASE).splitlines() if "round1" in line]
    assert line.split()[:2] == [str(count), "0"] and line.endswith("velociti/construction/round1")
    planned = project.plan_rules()
    assert [rule for rule in planned if rule.startswith("construction_")] == LATER_STEPS
    assert {"annotations", "infer", "metrics", "table"} <= set(planned) and "release" not in planned
    assert project.run_rules(PAGE, RELEASE) == LATER_STEPS
    page = project.text(PAGE)
    assert "| videos with a caption | all | 864 | 4 |  |" in page and "no language model" in page
    released = project.rows(RELEASED)
    reviewed = pl.read_parquet(project.root / f"{FOLDER}/reviewed.parquet")
    # Controls take captions of other videos. With 4 videos they differ from those of 24, so few verdicts apply.
    assert len(released) == reviewed.filter(pl.col("filter") == "").height > 20
    assert set(reviewed["filter"]) <= {"", "not_reviewed", "not_written"}


def test_a_changed_writer_is_queried_again_but_a_verdict_queries_no_model(project: Project) -> None:
    project.edit("config/models/toy-writer.yaml", "says: slides left,", "says: moves left,")
    output = " ".join(project.call_reprise("plan").split())
    assert "toy-writer: settings changed (" in output, output
    assert "slides left -> moves left), and at most 1 rounds after it." in output, output
    assert output.count("velociti/construction/round") == 1 and "velociti/construction/round1" in output
    project.edit("config/models/toy-writer.yaml", "says: moves left,", "says: slides left,")
    tasks = project.rows(f"{FOLDER}/review/tasks.csv")
    rows = [f"{row['task_id']},{row['digest']},ann,both are wrong" for row in tasks if row["negative"]]
    project.write(f"{VERDICTS}/ann.csv", "\n".join(["task_id,digest,reviewer,verdict", *rows[:3]]) + "\n")
    assert project.plan_rules(PAGE, RELEASE) == [f"construction_{step}" for step in ("release", "review", "statistics")]


def test_a_subset_search_follows_a_run(project: Project) -> None:
    assert {"construction_subset", "infer", "verdicts"} <= set(project.run_rules(f"{SUBSET}/oracle.csv"))
    rows = project.rows(f"{SUBSET}/oracle.scores.csv")
    assert all((row["strict"], row["subset_strict"]) == ("100.00", "100.00") for row in rows)
    assert sorted(row["test_name"] for row in rows) == sorted({row["test_name"] for row in project.rows(RELEASED)})
    assert len(project.rows(f"{SUBSET}/oracle.csv")) == sum(int(row["subset"]) for row in rows) <= 16
    assert "run 'velociti/entail/fps1/toy-text' does not exist here" in project.run_failing(
        "--dry-run", f"{SUBSET}/toy-text.csv"
    )


def test_a_release_needs_verdicts(project: Project) -> None:
    for path in (project.root / VERDICTS).iterdir():
        path.unlink()
    output = project.run_failing(RELEASE)
    assert "no row is left to release" in output and "review/tasks.csv" in output


MMBENCH = "results/construction/construction/mmbench_video"
FILTERED_TARGETS = f"{MMBENCH}/statistics.md", "results/construction/release/mmbench_video/files.json"
TASKS, SAMPLED_SET = f"{MMBENCH}/annotation/questions.csv", f"{MMBENCH}/sets/msvd.csv"
SETS = "{folder: resources/demo/sets, count: 5, scoring: {toy-own: 0 to 3, toy-five: 0 to 5, toy-letters: accuracy}}"
OTHER_SETS = """\
benchmark: mmbench_video
tables:
  table2:
    title: Other sets
    caption: Other sets.
    metrics: [original_score]
    columns: [{title: 1 frame, sampling: interior1}]
    sections: [{model: oracle, rows: [{label: MSVD, group: msvd, protocol: sets.five}]}]
"""


@pytest.fixture(scope="module")
def mmbench_video(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = construction_suite(tmp_path_factory.mktemp("mmbench_video"), "mmbench_video", OTHER_SETS)
    project.edit(SUITE, "toy-llava-ov", "cannot-tell")
    project.edit(SUITE, SETS, "{folder: full, count: 2, scoring: {msvd: 0 to 5}}")
    project.write("full/msvd.csv", "video,question,answer\n1.mp4,Who?,A man.\n2.mp4,Who?,A dog.\n3.mp4,Who?,A cat.\n")
    shutil.copytree(ROOT / "resources/demo/annotators", project.root / "resources/demo/annotators")
    return project


def test_the_static_filter_queries_a_model_about_unfiltered_questions(mmbench_video: Project) -> None:
    planned = mmbench_video.plan_rules(*FILTERED_TARGETS)
    assert [rule for rule in planned if rule.startswith("construction_")] == [
        "construction_candidates", "construction_draw", "construction_release", "construction_review",
        "construction_samples", "construction_source", "construction_static", "construction_statistics",
        "construction_unfiltered",
    ]  # fmt: skip
    assert [planned.count(rule) for rule in ("annotations", "infer", "judge", "judgements")] == [1, 2, 2, 2]
    mmbench_video.edit(SUITE, "      static: {model: cannot-tell, samplings: [still0, still1]}\n", "")
    unfiltered = mmbench_video.plan_rules(*FILTERED_TARGETS)
    assert "construction_release" in unfiltered and not {"construction_static", "infer", "judge"} & set(unfiltered)


def test_annotators_get_their_files_and_sampled_sets_are_released_and_judged(
    mmbench_video: Project,
) -> None:
    planned = mmbench_video.plan_rules("results/tables/mmbench_video/table2.csv")
    steps = ("requests", "infer", "judge_requests", "judge", "judged_metrics")
    rules = ("construction_draw", "construction_release", *steps)
    assert [planned.count(rule) for rule in rules] == [1] * len(rules)
    assert {"construction_guidelines", "construction_draw"} <= set(
        mmbench_video.run_rules(TASKS, SAMPLED_SET, FILTERED_TARGETS[1])
    )
    videos = [row["video"] for row in mmbench_video.rows(TASKS)]
    assert len(videos) == 6 and "toy-short" not in videos
    assert "Avoid including specific timestamps" in mmbench_video.text(TASKS.replace("questions.csv", "guidelines.md"))
    sampled_rows = mmbench_video.rows(SAMPLED_SET)
    assert len(sampled_rows) == 2 and {row["scoring"] for row in sampled_rows} == {"0 to 5"}
    entry_by_name = {entry["name"]: entry for entry in json.loads(mmbench_video.text(FILTERED_TARGETS[1]))}
    assert (
        set(entry_by_name) == {"MMBench-Video.tsv", "sets/msvd.csv"}
        and entry_by_name["sets/msvd.csv"]["path"] == SAMPLED_SET
    )
    assert entry_by_name["sets/msvd.csv"]["videos"] == "full/msvd"
