"""Test that each stage, benchmark and adapter has an integer version, which is a param of its jobs."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from reprise.config.load import load
from reprise.models.adapters import ADAPTERS
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings
from reprise.plan.versions import DECODER_VERSION, STAGE_VERSIONS

from tests.unit.config.conftest import ROOT

# Stages that no suite of the repository runs.
UNUSED_STAGES = {"stage construction_subset", "stage import_ratings"}


def list_versions(settings: Any) -> set[str]:
    return {
        name for part in (settings, getattr(settings, "answers", None)) for name in getattr(part, "code_versions", {})
    }


@pytest.fixture(scope="module")
def param_versions() -> set[str]:
    """Return the versions in the params of all suites."""
    suites = [path.stem for path in (ROOT / "config/suites").glob("*.yaml")]
    plans = [Plan(load(ROOT, {"suite": suite})) for suite in suites]
    return {name for plan in plans for settings in all_settings(plan).values() for name in list_versions(settings)}


def test_each_stage_has_a_version_that_is_a_param(param_versions: set[str]) -> None:
    modules = (ROOT / "workflow/reprise/stages").glob("*.py")
    stages = {path.stem for path in modules if "\ndef main(" in path.read_text(encoding="utf-8")}
    assert stages <= STAGE_VERSIONS.keys()
    assert {f"stage {stage}" for stage in STAGE_VERSIONS} - param_versions <= UNUSED_STAGES
    assert all(isinstance(version, int) for version in (DECODER_VERSION, *STAGE_VERSIONS.values()))


def test_each_benchmark_states_its_version_which_is_a_param(param_versions: set[str]) -> None:
    files: list[Path] = sorted((ROOT / "config/benchmarks").glob("*.yaml"))
    version_by_benchmark = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8")).get("version") for path in files
    }
    assert all(isinstance(version, int) for version in version_by_benchmark.values()), version_by_benchmark
    assert {f"benchmark {name}" for name in version_by_benchmark} <= param_versions


def test_the_version_of_an_adapter_is_a_param_and_in_the_cache_key(param_versions: set[str]) -> None:
    adapters = {name.removeprefix("adapter ") for name in param_versions if name.startswith("adapter ")}
    assert {"transformers", "contrastive", "text", "oracle", "random", "wordmatch"} <= adapters <= ADAPTERS.keys()
    assert all(isinstance(info.version, int) for info in ADAPTERS.values())
