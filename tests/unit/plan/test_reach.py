"""What a change reaches: raise a version or edit a configuration file, and exactly these jobs' settings differ."""

import re
from dataclasses import replace

import pytest
from reprise.config.load import load
from reprise.core.settings import Settings
from reprise.fetch.plugins import PLUGINS
from reprise.models.adapters import ADAPTERS
from reprise.plan import versions
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings

from tests.unit.config.conftest import ROOT, Project

TOY_LLAVA = "(?!time/).+/toy-llava-ov(-early)?"
CARD, CARDS = "time/.+", "time(_all|/.+)"
OVERVIEW = "tables/overview"  # of the main table of each benchmark
JUDGES = "tables/judges"
REPORT = "report"  # it is made of what others have made, and by the code that tables are made by
IMPORTED = ".+/random-imported"
Keys = dict[str, Settings]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The demo's, with a card of time."""
    found = load(ROOT, {"suite": "demo"})
    return Plan(replace(found, suite=found.suite.model_copy(update={"time": ["toy-llava-ov"]})))


@pytest.fixture(scope="module")
def before(plan: Plan) -> Keys:
    return all_settings(plan)


def assert_differ(old: Keys, new: Keys, patterns: list[str]) -> None:
    """That all keys of these patterns changed, came or went, and no other."""
    names = old.keys() | new.keys()
    assert all(any(re.fullmatch(pattern, name) for name in names) for pattern in patterns), "a pattern fits no key"
    changed = {name for name in names if old.get(name) != new.get(name)}
    assert changed == {name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns)}


@pytest.mark.parametrize(
    ("stage", "patterns"),
    [
        ("annotations", ["annotations/.+"]),
        ("verdicts", ["verdicts/.+"]),
        ("frames", ["frames/.+"]),
        ("import_answers", [IMPORTED]),
        ("table", ["tables/(?!overview|judges).+"]),
        ("report", [REPORT]),
    ],
)
def test_raising_the_version_of_a_stage_reruns_that_stage(
    plan: Plan, before: Keys, stage: str, patterns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(versions.STAGES, stage, 2)
    assert_differ(before, all_settings(plan), patterns)


def test_raising_the_version_of_an_adapter_queries_its_models_again(
    plan: Plan, before: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ADAPTERS, "transformers", replace(ADAPTERS["transformers"], version=2))
    assert_differ(before, all_settings(plan), [TOY_LLAVA])


def test_raising_the_version_of_a_world_makes_its_releases_and_videos_again(
    plan: Plan, before: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PLUGINS, "toyworld", PLUGINS["toyworld"]._replace(version=2))
    assert_differ(before, all_settings(plan), ["release/.+", "sources/.+"])


@pytest.mark.parametrize(
    ("file", "old", "new", "patterns"),
    [
        ("config/config.yaml", "suite: demo", "suite: demo\nconfidence: 0.9", ["metrics/.+", OVERVIEW, JUDGES, CARDS, REPORT]),
        ("config/config.yaml", "fps1: {rule: fps_mid, fps: 1}", "fps1: {rule: fps_mid, fps: 1.5}", [r"frames/.+/fps1(\.\w+)?", r".+/fps1(\.\w+)?/[^/]+"]),
        # of a model: what shapes its answers, and not what it is called
        ("config/models/random.yaml", "label:", "threads: 2\nmemory_mb: 3000\nlabel:", []),
        ("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-late", "checkpoints/llava-ov-early", ["(?!time/).+/toy-llava-ov"]),
        # of a benchmark and its prompts
        ("config/benchmarks/velociti.yaml", "reading: output_block", "reading: text", ["verdicts/velociti/cot.subset"]),
        ("config/benchmarks/velociti.yaml", "version: 1", "version: 2", ["(annotations|statistics)/velociti", "(requests|metrics|judge_requests|tables|figures)/velociti/.+", OVERVIEW, CARD, REPORT, "(runs/)?velociti/.+/random-imported"]),
        ("config/benchmarks/vinoground.yaml", "{video: 3, group: 3}", "{video: 4, group: 4}", ["(tables|figures)/vinoground/(?!fig1[12]).+", OVERVIEW]),
        ("resources/prompts/velociti.yaml", "Here is a caption", "This is a caption", ["requests/velociti/entail(.subset)?", "(runs/)?velociti/entail(.subset)?/[^/]+/(?!random-imported).+"]),
        # of a table: the table, and the runs that it adds
    ],
)  # fmt: skip
def test_an_edited_file_reaches_what_it_shapes(
    project: Project, before: Keys, file: str, old: str, new: str, patterns: list[str]
) -> None:
    project.edit(file, old, new)
    assert_differ(before, all_settings(project.plan()), patterns)


def test_keys_hold_no_more_than_their_job_needs(before: Keys) -> None:
    """A run's settings are a param of the job: whatever is in them runs it again."""
    run = before["velociti/entail/fps1/random"].model_dump()
    assert sorted(run) == ["answers", "checkpoint", "code_versions", "gpus", "key", "run"]
    assert sorted(run["answers"]) == [
        "adapter", "ask", "attention", "code_versions", "dtype", "form", "max_tokens", "model", "prompt", "sampling", "settings",
        "trust_remote_code", "versions",
    ]  # fmt: skip
