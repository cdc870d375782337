"""What is said of mistakes in a suite's `people:`."""

import pytest
from reprise.config.load import load
from reprise.plan.changes import key_texts
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys

from tests.unit.config.conftest import CODE, Project

SUITE = "config/suites/construction.yaml"


RATERS = """\
    people:
      again: {kind: rating, runs: [unpacked/interior8/toy-llava-ov], answers: "y*.csv"}
      raters: {kind: rating, runs: [unpacked/interior8/oracle], answers: "x*.csv"}
    clips: release
"""
ORACLE = "[unpacked/interior8/oracle]"
OF_RATERS = [
    (ORACLE, "[unpacked/interior8/oracl]", "people.raters.runs.0: unknown model 'oracl'. Did you mean 'oracle'?"),
    (ORACLE, "[mmbench/none/oracle]", "people.raters.runs.0: 'mmbench/none/oracle': no judge rates its answers. Name a run of a protocol with a judge."),
    (ORACLE, "[unpacked/interior8/oracle, unpacked/interior8/oracle]", "people.raters.runs.1: 'unpacked/interior8/oracle' is named by 'raters' already;"),
    (ORACLE, "[unpacked/interior8/toy-llava-ov]", "people.raters.runs.0: 'unpacked/interior8/toy-llava-ov' is named by 'again' already;"),
    (ORACLE, "[unpacked/spaced8/oracle]", "people.raters.runs.0: 'unpacked/spaced8/oracle' is in no table of the suite. Name it in `extra_runs:` too."),
    ("    clips: release", "    ratings: r.csv\n    clips: release", "people.again.kind: the suite names ratings too (ratings: r.csv). Name one of both."),
    ("answers: \"x*.csv\"", "answers: \"x*.csv\", surveys: 2, per_survey: 9", "people.raters.surveys: found 2, and per_survey 9. Name one of both."),
]  # fmt: skip


def with_raters(project: Project, raters: str) -> None:
    before, _, own = (project.root / SUITE).read_text().partition("  mmbench_video:\n")
    changed = own.replace("    clips: release\n", raters, 1)
    project.write(SUITE, f"{before}  mmbench_video:\n{changed}")


def test_a_judge_is_measured_again_when_somebody_rated(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    with_raters(project, RATERS)

    def keys() -> dict[str, str]:
        found = key_texts(collect_keys(Plan(load(project.root, {"suite": "construction"})), CODE))
        return {str(path.relative_to("results/construction/keys")): text for path, text in found.items()}

    before = keys()
    assert {f"people/mmbench_video/raters/{one}.json" for one in ("surveys", "rated", "ratings")} <= before.keys()
    project.write("x.csv", "task_id,digest,reviewer,verdict\n")
    after = keys()
    assert {name for name in before if before[name] != after[name]} == {
        "people/mmbench_video/raters/ratings.json", "people/mmbench_video/raters/statistics.json",
        "metrics/mmbench_video/unpacked.json",
    }  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), OF_RATERS, ids=[f"{new[-40:]}" for _, new, _ in OF_RATERS])
def test_a_mistake_of_raters_is_one_message(project: Project, old: str, new: str, said: str) -> None:
    assert old in RATERS
    with_raters(project, RATERS.replace(old, new))
    message = project.message("construction")
    assert f"benchmarks.mmbench_video.{said}" in message and SUITE in message
