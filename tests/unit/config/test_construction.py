"""What is said of mistakes in a suite's `construction:`, and what a change of it makes again."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.construction import step_keys
from reprise.plan.keys import collect_keys, key_texts
from reprise.plan.runs import Plan
from reprise.plan.workflow import Workflow

from tests.unit.config.conftest import Project

SUITE, MAIN = "config/suites/construction.yaml", "config/config.yaml"
PROMPTS = "resources/prompts/construction/velociti.yaml"
MISTAKES = [
    (SUITE, "release: {kind: constructed}", "release: {kind: toyworld}", "benchmarks.velociti.release: should be `{kind: constructed}`, since `construction:` says how it is made."),
    (SUITE, "writer: toy-writer", "writer: toy-writr", "benchmarks.velociti.construction.writer: unknown model 'toy-writr'. Did you mean 'toy-writer'?"),
    (SUITE, "writer: toy-writer", "writer: toy-siglip", "benchmarks.velociti.construction.writer: 'toy-siglip' cannot write: adapter 'contrastive' gives similarity."),
    (SUITE, "kind: velociti", "kind: velocity", "benchmarks.velociti.construction.kind: should be 'velociti', 'vinoground', 'temporalbench', found 'velocity'. Did you mean 'velociti'?"),
    (SUITE, "per_video: 2", "per_vid: 2", "benchmarks.velociti.construction.per_vid: unknown key. Did you mean 'per_video'?"),
    (SUITE, "per_video: 2", "per_video: 0", "benchmarks.velociti.construction.per_video: should be greater than or equal to 1, found 0."),
    (SUITE, f"prompts: {PROMPTS}", "prompts: resources/prompts/construction/velocit.yaml", f"benchmarks.velociti.construction.prompts: no file 'resources/prompts/construction/velocit.yaml'. Did you mean '{PROMPTS}'?"),
    (SUITE, f"prompts: {PROMPTS}", "prompts: resources/prompts/velociti.yaml", "resources/prompts/velociti.yaml has no prompt 'action_adv'. Needed: caption, action_adv, action_manner."),
    (SUITE, "annotations: {kind: toyworld}", "annotations: {kind: rehearsal}", "benchmarks.velociti.construction.annotations.kind: should be 'toyworld', 'folder', 'huggingface', found 'rehearsal'."),
    (SUITE, '.csv"}', '.csv", undecided: maybe}', "benchmarks.velociti.construction.review.undecided: should be 'keep' or 'drop', found 'maybe'."),
    ("config/models/toy-writer.yaml", "says: slides left", "say: slides left", "settings.verbs.sliding left.say: unknown key. Did you mean 'says'?"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES, ids=[f"{new}"[:60] for _, _, new, _ in MISTAKES])
def test_a_mistake_is_one_message(project: Project, file: str, old: str, new: str, said: str) -> None:
    project.edit(file, old, new)
    message = project.message("construction")
    assert said in message and file in message


def test_a_constructed_release_needs_to_say_how(project: Project) -> None:
    project.edit("config/suites/demo.yaml", "release: {kind: toyworld}", "release: {kind: constructed}")
    assert "benchmarks.velociti.construction: missing; `release: {kind: constructed}` says" in project.message()


def test_a_writer_that_does_not_run_is_named_with_the_cure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit(SUITE, "run: [local]", "run: [local]\nskip: [toy-writer]")
    monkeypatch.chdir(project.root)
    with pytest.raises(UserError, match=r"construction.writer: 'toy-writer' does not run here. Name it in `run:`"):
        collect_keys(Plan(load(project.root, {"suite": "construction"})))


def plan_of(project: Project) -> Plan:
    return Plan(load(project.root, {"suite": "construction"}))


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.edit(SUITE, "resources/demo/reviews/velociti/", "reviews/")
    project.edit(SUITE, "path: resources/demo/vatex", "path: annotations")
    return project


def texts(plan: Plan) -> dict[str, str]:
    return {
        str(path.relative_to("results/construction/keys")): text for path, text in key_texts(collect_keys(plan)).items()
    }


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


EFFECTS = {
    "a verdict": ("verdict", {"review"}),
    "the votes": (('.csv"}', '.csv", votes: 2}'), {"review"}),
    "the writer": (("writer: toy-writer", "writer: always-first"), {"writer"}),
    "an annotation": ("annotation", {"source"}),
    "the draw": (
        ("per_video: 2", "per_video: 3"),
        {"candidates", "requests", "samples", "review", "release", "statistics"},
    ),
}


@pytest.mark.parametrize(("change", "steps"), EFFECTS.values(), ids=EFFECTS)
def test_a_change_makes_again_what_it_shapes(here: Project, change: str | tuple[str, str], steps: set[str]) -> None:
    before = texts(plan_of(here))
    if change == "annotation":
        here.write("annotations/more.json", "[]")
    elif isinstance(change, str):
        here.write("reviews/more.csv", "task_id,digest,reviewer,verdict\n")
    else:
        here.edit(SUITE, *change)
    benchmark = "vinoground" if change == "annotation" else "velociti"
    assert changed(before, texts(plan_of(here))) == {f"construction/{benchmark}/{step}.json" for step in steps}


def test_another_suite_knows_nothing_of_it(here: Project) -> None:
    keys = collect_keys(Plan(load(here.root, {"suite": "demo"})))
    assert not [path for path in keys if "construction" in str(path)]
    made = {str(path) for path, _ in step_keys(plan_of(here), "velociti")}
    assert made <= {str(path) for path in collect_keys(plan_of(here))}
    assert "results/construction/keys/release/velociti.json" not in {str(path) for path in collect_keys(plan_of(here))}


def test_the_rules_ask_for_the_rounds_before_and_for_the_writer(here: Project) -> None:
    workflow = Workflow(plan_of(here))
    one, two = (SimpleNamespace(benchmark="velociti", round=number) for number in ("1", "2"))
    folder = Path("results/construction/construction/velociti")
    assert workflow.made.rounds_before(one) == []
    assert workflow.made.rounds_before(two) == [folder / "replies/1.parquet"]
    assert workflow.made.every_round(one) == [folder / f"replies/{number}.parquet" for number in (1, 2)]
    assert workflow.model(one).adapter == "templates" and workflow.weights(one) == workflow.environment(one) == []
    assert (workflow.made.here(), workflow.made.elsewhere()) == ("temporalbench|velociti|vinoground", "(?!)")
    assert workflow.answer_retry(one) == []
    retry = Path("results/construction/keys/retries/velociti/construction/round1/toy-writer.json")
    here.write(str(retry), "{}")
    assert workflow.answer_retry(one) == [retry]
    assert workflow.made.verdicts(one) == []


def test_clips_are_measured_where_a_benchmark_is_made_of_them(here: Project) -> None:
    workflow = Workflow(plan_of(here))
    one, other = (SimpleNamespace(benchmark=name) for name in ("temporalbench", "velociti"))
    folder = Path("results/construction/construction/temporalbench")
    assert workflow.made.measured() == "temporalbench"
    assert workflow.made.facts(one) == [folder / "facts.parquet"] and workflow.made.facts(other) == []
    assert workflow.made.ledgers(one) == [folder / f"clips/{shard}.parquet" for shard in range(4)]
    steps = {path.stem for path, _ in step_keys(plan_of(here), "temporalbench")}
    assert "clips" in steps and "clips" not in {path.stem for path, _ in step_keys(plan_of(here), "velociti")}
