"""The conditions that stand beside the verdicts of a suite: what each run was made with, by its configuration."""

from pathlib import Path

import pytest
from reprise.config.load import load
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.tables.keys import ReproductionKey

MODEL = "llava-onevision-7b"
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def conditions() -> dict[str, tuple[str, ...]]:
    """Run -> its conditions, of the paper suite with one model pinned, in another type and quantised."""
    config = load(Path(), {"suite": "paper"})
    config = config.model_copy(update={"suite": config.suite.model_copy(update={"run": [MODEL]})})
    changes = {"revision": REVISION, "dtype": "float16", "settings": {"quantised": "awq"}}
    config.models[MODEL] = config.models[MODEL].model_copy(update=changes)
    plan = Plan(config)
    reproduction = collect_keys(plan)[plan.results.key("reproduction")]
    assert isinstance(reproduction, ReproductionKey)
    return {run: found for run, found in reproduction.conditions.items() if run.rpartition("/")[2] == MODEL}


def test_prompt_frames_revision_and_type_are_named(conditions: dict[str, tuple[str, ...]]) -> None:
    assert conditions
    for run, found in conditions.items():
        _, protocol, sampling, _ = run.split("/")
        assert found[:2] == (f"protocol {protocol}", f"frames {sampling}")
        assert found[2:] == (f"revision {REVISION[:12]}", "weights in float16", "quantised: awq")


def test_two_runs_that_differ_in_frames_or_prompt_have_other_conditions(conditions: dict[str, tuple[str, ...]]) -> None:
    assert len(set(conditions.values())) == len({tuple(run.split("/")[1:3]) for run in conditions}) > 1
