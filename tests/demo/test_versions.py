"""Test that the demo's numbers change only with a version of their code. Run it after `make demo`, as CI does."""

import json
from typing import Any

import pytest

from tests.demo import numbers


def undeclared(recorded: dict[str, Any], versions: dict[str, int], numbers_now: dict[str, dict[str, str]]) -> str:
    """Return a message that names the version to raise if numbers changed without one, else an empty text."""
    differing = list(numbers.differences(recorded["numbers"], numbers_now))
    if not differing:
        return ""
    stage, name = differing[0]
    explaining_versions = numbers.candidates(stage, name)
    raised = [
        changed_name for changed_name, version in versions.items() if version != recorded["versions"].get(changed_name)
    ]
    if set(raised) & set(explaining_versions):
        return ""
    note = f" ({', '.join(raised)} does not compute it)" if raised else ""
    return (
        f"{len(differing)} results of the demo changed and no version did{note}. The first is {stage} {name}: raise "
        f"{' or '.join(map(repr, explaining_versions))}, whichever computes other results on purpose (CONTRIBUTING.md says "
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
    ("stage", "version", "unrelated"),
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
def test_a_changed_number_names_the_version_to_raise(stage: str, version: str, unrelated: str) -> None:
    recorded = json.loads(numbers.RECORD.read_text(encoding="utf-8"))
    numbers_now, versions = json.loads(json.dumps(recorded["numbers"])), recorded["versions"]
    result = next(name for name in numbers_now[stage] if stage != "infer" or name.endswith("/toy-llava-ov"))
    version = version.format(benchmark=result.partition("/")[0])
    numbers_now[stage][result] = "0" * 12
    message = undeclared(recorded, versions, numbers_now)
    assert message.startswith("1 results of the demo changed and no version did. The first is ")
    assert f"{stage} {result}" in message and f"'{version}'" in message
    assert undeclared(recorded, versions | {version: versions[version] + 1}, numbers_now) == ""
    assert f"({unrelated} does not compute it)" in undeclared(recorded, versions | {unrelated: 99}, numbers_now)
