"""MMBench-Video is made by the workflow: what annotators get, the draw of other sets, the filter and what it takes."""

import json
import shutil

import pytest

from tests.workflow.conftest import ROOT, Project, construction_suite

FOLDER = "results/construction/construction/mmbench_video"
SUITE = "config/suites/construction.yaml"
PAGE, RELEASE = f"{FOLDER}/statistics.md", "results/construction/release/mmbench_video/files.json"
TASKS, DRAWN = f"{FOLDER}/annotation/questions.csv", f"{FOLDER}/sets/msvd.csv"
SETS = "{folder: resources/demo/sets, count: 5, scoring: {toy-own: 0 to 3, toy-five: 0 to 5, toy-letters: accuracy}}"
TABLES = """\
benchmark: mmbench_video
tables:
  table2:
    title: Other sets
    caption: Other sets.
    metrics: [original_score]
    columns: [{title: 1 frame, sampling: interior1}]
    sections: [{model: oracle, rows: [{label: MSVD, group: msvd, protocol: sets.five}]}]
  table3:
    title: Ratings
    caption: Ratings.
    metrics: [mean]
    columns: [{title: Mean, group: overall}]
    sections: [{protocol: unpacked, sampling: interior8, rows: [{label: Oracle, model: oracle}]}]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = construction_suite(tmp_path_factory.mktemp("mmbench_video"), "mmbench_video", TABLES)
    made.edit(SUITE, "toy-llava-ov", "cannot-tell")
    made.edit(SUITE, SETS, "{folder: full, count: 2, scoring: {msvd: 0 to 5}}")
    made.write("full/msvd.csv", "video,question,answer\n1.mp4,Who?,A man.\n2.mp4,Who?,A dog.\n3.mp4,Who?,A cat.\n")
    shutil.copytree(ROOT / "resources/demo/annotators", made.root / "resources/demo/annotators")
    return made


def test_the_filter_asks_a_model_about_what_is_not_filtered_yet(project: Project) -> None:
    planned = project.planned(PAGE, RELEASE)
    assert [rule for rule in planned if rule.startswith("construction_")] == [
        "construction_candidates", "construction_draw", "construction_release", "construction_review",
        "construction_samples", "construction_source", "construction_static", "construction_statistics",
        "construction_unfiltered",
    ]  # fmt: skip
    assert [planned.count(rule) for rule in ("annotations", "infer", "judge", "score_judged")] == [1, 2, 2, 2]
    project.edit(SUITE, "      static: {model: cannot-tell, samplings: [still0, still1]}\n", "")
    unfiltered = project.planned(PAGE, RELEASE)
    assert "construction_release" in unfiltered and not {"construction_static", "infer", "judge"} & set(unfiltered)


def test_people_get_their_files_and_what_is_drawn_from_sets_is_released_asked_about_and_rated(project: Project) -> None:
    planned = project.planned("results/tables/mmbench_video/table2.csv")
    rules = [
        "construction_draw",
        "construction_release",
        "requests",
        "infer",
        "judge_requests",
        "judge",
        "score_judged",
    ]
    assert [planned.count(rule) for rule in rules] == [1] * len(rules)
    assert {"construction_guidelines", "construction_draw"} <= set(project.made(TASKS, DRAWN, RELEASE))
    videos = [row["video"] for row in project.rows(TASKS)]
    assert len(videos) == 6 and "toy-short" not in videos
    assert "Avoid including specific timestamps" in project.text(TASKS.replace("questions.csv", "guidelines.md"))
    drawn = project.rows(DRAWN)
    assert len(drawn) == 2 and {row["scoring"] for row in drawn} == {"0 to 5"}
    listed = {entry["name"]: entry for entry in json.loads(project.text(RELEASE))}
    assert set(listed) == {"MMBench-Video.tsv", "sets/msvd.csv"} and listed["sets/msvd.csv"]["path"] == DRAWN
    assert listed["sets/msvd.csv"]["videos"] == "full/msvd"
