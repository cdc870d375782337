"""Test that a new version or an edited configuration file changes exactly the settings of the affected jobs."""

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

TOY_LLAVA = "(?!temporal/).+/toy-llava-ov(-early)?"
PROFILE, PROFILES = "temporal/.+", "temporal(_profiles|/.+)"
OVERVIEW = "tables/overview"  # built from the main table of each benchmark
JUDGES = "tables/judges"
REPORT = "report"  # made from the results of other stages, with the code of tables
IMPORTED = ".+/random-imported"
Keys = dict[str, Settings]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Return the plan of the demo with a temporal profile."""
    config = load(ROOT, {"suite": "demo"})
    return Plan(replace(config, suite=config.suite.model_copy(update={"temporal": ["toy-llava-ov"]})))


@pytest.fixture(scope="module")
def settings_before(plan: Plan) -> Keys:
    return all_settings(plan)


def assert_differ(old: Keys, new: Keys, patterns: list[str]) -> None:
    """Assert that exactly the keys that match these patterns were changed, added or removed."""
    names = old.keys() | new.keys()
    assert all(any(re.fullmatch(pattern, name) for name in names) for pattern in patterns), "each pattern matches a key"
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
    plan: Plan, settings_before: Keys, stage: str, patterns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(versions.STAGE_VERSIONS, stage, versions.STAGE_VERSIONS[stage] + 1)
    assert_differ(settings_before, all_settings(plan), patterns)


def test_raising_the_version_of_an_adapter_queries_its_models_again(
    plan: Plan, settings_before: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ADAPTERS, "transformers", replace(ADAPTERS["transformers"], version=2))
    assert_differ(settings_before, all_settings(plan), [TOY_LLAVA])


def test_raising_the_version_of_a_world_reruns_its_releases_and_sources(
    plan: Plan, settings_before: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PLUGINS, "toyworld", PLUGINS["toyworld"]._replace(version=2))
    assert_differ(settings_before, all_settings(plan), ["release/.+", "sources/.+"])


@pytest.mark.parametrize(
    ("file", "old", "new", "patterns"),
    [
        ("config/config.yaml", "suite: demo", "suite: demo\nconfidence: 0.9", ["metrics/.+", r"tables/vinoground/table[56]", r"figures/vinoground/fig(3|9|10)", OVERVIEW, JUDGES, PROFILES, REPORT]),
        ("config/config.yaml", "fps1: {rule: fps_mid, fps: 1}", "fps1: {rule: fps_mid, fps: 1.5}", [r"frames/.+/fps1(\.\w+)?", r".+/fps1(\.\w+)?/[^/]+", REPORT]),
        # a model: settings that affect its answers, but not its label
        ("config/models/random.yaml", "label:", "threads: 2\nmemory_mb: 3000\nlabel:", []),
        ("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-late", "checkpoints/llava-ov-early", ["(?!temporal/).+/toy-llava-ov"]),
        # a benchmark and its prompts
        ("config/benchmarks/velociti.yaml", "extraction: output_block", "extraction: text", ["verdicts/velociti/cot.subset"]),
        ("config/benchmarks/velociti.yaml", "version: 1", "version: 2", ["(annotations|statistics)/velociti", "(requests|metrics|judge_requests|tables|figures)/velociti/.+", OVERVIEW, PROFILE, REPORT, "(runs/)?velociti/.+/random-imported"]),
        ("config/benchmarks/vinoground.yaml", "{video: 3, group: 3}", "{video: 4, group: 4}", ["(tables|figures)/vinoground/(?!fig1[12]).+", OVERVIEW]),
        ("resources/prompts/velociti.yaml", "Here is a caption", "This is a caption", ["requests/velociti/entail(.subset)?", "(runs/)?velociti/entail(.subset)?/[^/]+/(?!random-imported).+"]),

    ],
)  # fmt: skip
def test_an_edited_file_changes_only_the_settings_that_it_affects(
    project: Project, settings_before: Keys, file: str, old: str, new: str, patterns: list[str]
) -> None:
    project.edit(file, old, new)
    assert_differ(settings_before, all_settings(project.plan()), patterns)


def test_keys_have_only_the_settings_that_affect_their_job(settings_before: Keys) -> None:
    """The settings of a run are a param of its job, so every change of them reruns it."""
    run = settings_before["velociti/entail/fps1/random"].model_dump()
    assert sorted(run) == ["answers", "checkpoint", "code_versions", "gpus", "key", "run"]
    assert sorted(run["answers"]) == [
        "adapter", "attention", "code_versions", "dtype", "form", "max_tokens", "model", "prompt", "request_type", "sampling",
        "settings", "trust_remote_code", "versions",
    ]  # fmt: skip
