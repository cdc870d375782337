"""A number of the demo changes only with the version of what computes it. To be run after `make demo`, as CI does."""

import json
from typing import Any

import pytest

from tests.demo import numbers


def undeclared(recorded: dict[str, Any], versions: dict[str, int], found: dict[str, dict[str, str]]) -> str:
    """Say which version to raise where numbers changed and no version explains it; empty where all is declared."""
    differing = list(numbers.differences(recorded["numbers"], found))
    if not differing:
        return ""
    stage, name = differing[0]
    wanted = numbers.candidates(stage, name)
    raised = [one for one, version in versions.items() if version != recorded["versions"].get(one)]
    if set(raised) & set(wanted):
        return ""
    others = f" ({', '.join(raised)} does not compute it)" if raised else ""
    return (
        f"{len(differing)} results of the demo changed and no version did{others}. The first is {stage} {name}: raise "
        f"{' or '.join(map(repr, wanted))}, whichever computes other results on purpose (CONTRIBUTING.md says "
        "where), add a line to CHANGELOG.md, run `make demo`, then `python -m tests.demo.numbers`. If nothing should have "
        "changed, it is a bug."
    )


def test_no_number_of_the_demo_changed_without_a_version() -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    assert undeclared(recorded, numbers.code_versions(), numbers.numbers()) == ""


def test_the_recorded_numbers_are_those_of_the_recorded_versions() -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    assert recorded["versions"] == numbers.code_versions(), "run `python -m tests.demo.numbers` after `make demo`"


@pytest.mark.parametrize(
    ("stage", "wanted", "unrelated"),
    [
        ("metrics", "stage metrics", "stage figure"),
        ("metrics", "benchmark {benchmark}", "adapter random"),
        ("infer", "adapter transformers", "adapter gemini"),
        ("infer", "decoder", "stage verdicts"),
        ("frames", "stage frames", "stage metrics"),
        ("verdicts", "stage judgements", "stage table"),
        ("clip_metadata", "stage clips", "stage annotations"),
        ("table", "stage table", "stage metrics"),
    ],
)
def test_a_changed_number_names_the_version_to_raise(stage: str, wanted: str, unrelated: str) -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    found, versions = json.loads(json.dumps(recorded["numbers"])), recorded["versions"]
    result = next(name for name in found[stage] if stage != "infer" or name.endswith("/toy-llava-ov"))
    wanted = wanted.format(benchmark=result.partition("/")[0])
    found[stage][result] = "0" * 12
    message = undeclared(recorded, versions, found)
    assert message.startswith("1 results of the demo changed and no version did. The first is ")
    assert f"{stage} {result}" in message and f"'{wanted}'" in message
    assert undeclared(recorded, versions | {wanted: versions[wanted] + 1}, found) == ""
    assert f"({unrelated} does not compute it)" in undeclared(recorded, versions | {unrelated: 99}, found)
