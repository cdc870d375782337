"""A number of the demo changes only with the version of what computes it. To be run after `make demo`, as CI does."""

import json
from typing import Any

from tests.demo import numbers


def undeclared(recorded: dict[str, Any], versions: dict[str, int], found: dict[str, dict[str, str]]) -> str:
    """Say which version to raise where numbers changed and no version did; empty where all is declared."""
    differing = list(numbers.differences(recorded["numbers"], found))
    if not differing or recorded["versions"] != versions:
        return ""
    stage, name = differing[0]
    return (
        f"{len(differing)} results of the demo changed and no version did. The first is {stage} {name}: raise the "
        f"version of what computes it ('stage {stage}', or the benchmark or adapter of {name}), add a line to "
        "CHANGELOG.md, run `make demo`, then `python -m tests.demo.numbers`. If nothing should have changed, it is a bug."
    )


def test_no_number_of_the_demo_changed_without_a_version() -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    assert undeclared(recorded, numbers.code_versions(), numbers.numbers()) == ""


def test_the_recorded_numbers_are_those_of_the_recorded_versions() -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    assert recorded["versions"] == numbers.code_versions(), "run `python -m tests.demo.numbers` after `make demo`"


def test_a_changed_number_without_a_version_is_named() -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(recorded["numbers"]))
    run = next(iter(found["metrics"]))
    found["metrics"][run] = "0" * 12
    message = undeclared(recorded, recorded["versions"], found)
    assert message.startswith(f"1 results of the demo changed and no version did. The first is metrics {run}")
    raised = recorded["versions"] | {"stage metrics": recorded["versions"]["stage metrics"] + 1}
    assert undeclared(recorded, raised, found) == ""
