"""What a change of a suite's `construction:` or of its people's answers makes again, and what is said of mistakes."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.answers import writer_jobs
from reprise.plan.changes import key_texts
from reprise.plan.runs import Plan
from reprise.plan.suite import Suite, collect_keys

from tests.unit.config.conftest import CODE, Project

SUITE = "config/suites/construction.yaml"
OTHERS = "other_writers: [toy-other-writer]"
SETS = "{folder: resources/demo/sets, count: 5, scoring: {toy-own: 0 to 3, toy-five: 0 to 5, toy-letters: accuracy}}"


@pytest.mark.parametrize(("key", "writer"), [("writer", "toy-writer"), ("other_writers", "toy-other-writer")])
def test_a_writer_that_does_not_run_is_named_with_the_cure(here: Project, key: str, writer: str) -> None:
    here.edit(SUITE, "run: [local]", f"run: [local]\nskip: [{writer}]")
    with pytest.raises(UserError, match=rf"construction.{key}: '{writer}' does not run here. Name it in `run:`"):
        collect_keys(plan_of(here), CODE)


def plan_of(project: Project) -> Plan:
    return Plan(load(project.root, {"suite": "construction"}))


@pytest.fixture
def own(here: Project) -> Project:
    """With folders for people's verdicts and annotations that a test may write."""
    here.edit(SUITE, "resources/demo/reviews/velociti/", "reviews/")
    here.edit(SUITE, "path: resources/demo/vatex", "path: annotations")
    return here


def texts(plan: Plan) -> dict[str, str]:
    return {
        str(path.relative_to("results/construction/keys")): text
        for path, text in key_texts(collect_keys(plan, CODE)).items()
    }


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


STATIC = "{model: toy-llava-ov, samplings: [still0, still1]}"
DRAWN = {"candidates", "requests", "samples", "review", "release", "statistics"}
EFFECTS: list[tuple[str | tuple[str, str], set[str]]] = [
    ("reviews/more.csv", {"review"}),
    ("annotations/more.json", {"source"}),
    (('.csv"}', '.csv", votes: 2}'), {"review"}),
    (("writer: toy-writer", "writer: always-first"), {"writer/toy-writer", "writer/always-first"}),
    ((OTHERS, "other_writers: [toy-other-writer, always-first]"), {"writer/always-first", "requests", "samples", "statistics"}),
    ((STATIC, '{least: 2, model: toy-llava-ov, samplings: [still0, still1]}'), {"static"}),
    (("per_video: 2", "per_video: 3"), DRAWN),
]  # fmt: skip


@pytest.mark.parametrize(("change", "steps"), EFFECTS)
def test_a_change_makes_again_what_it_shapes(own: Project, change: str | tuple[str, str], steps: set[str]) -> None:
    before = texts(plan_of(own))
    if isinstance(change, str):
        own.write(change, "[]" if "json" in change else "task_id,digest,reviewer,verdict\n")
    else:
        own.edit(SUITE, *change)
    found = changed(before, texts(plan_of(own)))
    assert {name.split("/", 2)[2] for name in found} == {f"{step}.json" for step in steps}
    assert len({name.split("/")[1] for name in found}) == 1, "of one benchmark"


def test_an_encoder_is_named_by_the_digest_of_its_folder(own: Project) -> None:
    where = "benchmarks.vinoground.construction.encoder.folder"
    own.edit(SUITE, "pairs: 12", "pairs: 12\n      encoder: {kind: checkpoint, folder: checkpoints/mpnet}")
    with pytest.raises(
        UserError, match=rf"{where}: no folder 'checkpoints/mpnet'. .* or write `encoder: {{kind: words}}`"
    ):
        texts(plan_of(own))
    own.write("checkpoints/mpnet/config.json", "{}")
    with pytest.raises(UserError, match=rf"{where}: 'checkpoints/mpnet' holds no weights .*Found: config.json"):
        texts(plan_of(own))
    own.write("checkpoints/mpnet/model.safetensors", "one")
    before = texts(plan_of(own))
    own.write("checkpoints/mpnet/model.safetensors", "another")
    assert changed(before, texts(plan_of(own))) == {"construction/vinoground/samples.json"}


def test_the_writer_who_labels_waits_for_the_others(own: Project) -> None:
    suite, replies = Suite(plan_of(own)), Path("results/construction/construction/temporalbench/replies")
    first, other = (
        SimpleNamespace(benchmark="temporalbench", round="2", model=name) for name in ("toy-writer", "toy-other-writer")
    )
    assert suite.construction.rounds_before(other) == [replies / "toy-other-writer/1.parquet"]
    before = [replies / f"{name}/1.parquet" for name in ("toy-writer", "toy-other-writer")]
    assert suite.construction.rounds_before(first) == before
    jobs = [job for job in writer_jobs(plan_of(own)) if job.scored.run.benchmark == "temporalbench"]
    assert [job.responses for job in jobs] == suite.construction.every_round(first)
    assert len({job.key for job in jobs}) == 2 and len({job.scored for job in jobs}) == 2 * 3
    assert len(suite.construction.every_round(first)) == 2 * 3 and suite.inference.model(other).adapter == "templates"


def test_a_benchmark_that_is_filtered_is_there_before_the_filter_too(own: Project) -> None:
    plan, folder = plan_of(own), Path("results/construction")
    suite = Suite(plan)
    one = SimpleNamespace(benchmark="mmbench_video")
    assert suite.construction.filtered == "mmbench_video"
    assert suite.construction.released(one) == [folder / "construction/mmbench_video/static.parquet"]
    before = folder / "verdicts/mmbench_video-unfiltered/unpacked"
    assert suite.construction.ratings(one) == [before / f"still{n}/toy-llava-ov/wordmatch.parquet" for n in range(2)]
    assert {run.name for run in plan.runs() if "unfiltered" in run.benchmark} == {
        f"mmbench_video-unfiltered/unpacked/still{n}/toy-llava-ov" for n in range(2)
    }
    assert not plan.config.tables["mmbench_video-unfiltered"].tables
    assert suite.construction.checks_by_hand(one) == [] and suite.construction.every_round(one) == []


def test_a_draw_is_made_anew_when_a_set_changes(own: Project) -> None:
    own.edit(SUITE, SETS, "{folder: full, scoring: {msvd: 0 to 5}}")
    own.write("full/msvd.csv", "video,question,answer\n")
    suite, before = Suite(plan_of(own)), texts(plan_of(own))
    one = SimpleNamespace(benchmark="mmbench_video", set="msvd")
    assert suite.construction.sets == "msvd" and suite.construction.set_file(one) == ["full/msvd.csv"]
    own.write("full/msvd.csv", "video,question,answer\na.mp4,Who?,Me.\n")
    assert changed(before, texts(plan_of(own))) == {"construction/mmbench_video/draw.json"}
    [drawn] = suite.construction.drawn(one)
    assert str(drawn) == "results/construction/construction/mmbench_video/sets/msvd.csv"
    assert suite.construction.drawn(SimpleNamespace(benchmark="velociti")) == []


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
]  # fmt: skip


def with_raters(project: Project, raters: str) -> None:
    before, _, own = (project.root / SUITE).read_text().partition("  mmbench_video:\n")
    changed = own.replace("    clips: release\n", raters, 1)
    project.write(SUITE, f"{before}  mmbench_video:\n{changed}")


def test_a_judge_is_measured_again_when_somebody_rated(here: Project) -> None:
    with_raters(here, RATERS)
    before = texts(plan_of(here))
    assert {f"people/mmbench_video/raters/{one}.json" for one in ("surveys", "rated", "ratings")} <= before.keys()
    here.write("x.csv", "task_id,digest,reviewer,verdict\n")
    assert changed(before, texts(plan_of(here))) == {
        "people/mmbench_video/raters/ratings.json", "people/mmbench_video/raters/statistics.json",
        "metrics/mmbench_video/unpacked.json",
    }  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), OF_RATERS, ids=[f"{new[-40:]}" for _, new, _ in OF_RATERS])
def test_a_mistake_of_raters_is_one_message(project: Project, old: str, new: str, said: str) -> None:
    assert old in RATERS
    with_raters(project, RATERS.replace(old, new))
    message = project.message("construction")
    assert f"benchmarks.mmbench_video.{said}" in message and SUITE in message
