"""Test that a side package is imported, and its rules are included, only for suites with one of its keys."""

import os
import subprocess
import sys

import pytest

from tests.workflow.conftest import ROOT

PREFIXES = {"construction": "construction_", "human_evaluation": "human_"}
LIST_RULES = f"""
import atexit, sys
from snakemake.cli import main
atexit.register(lambda: print("imported", *sys.modules.keys() & {set(PREFIXES)}))
main(["--list-rules", "--config", "suite=" + sys.argv[1]])
"""
PLAN = f"""
import sys
from reprise.__main__ import app
app(["plan", "--config", "suite=" + sys.argv[1]], standalone_mode=False)
print("imported", *sys.modules.keys() & {set(PREFIXES)})
"""
SUITES = {
    "demo": set(),
    "rehearsal": set(),
    "paper": {"human_evaluation"},
    "construction": {"construction", "human_evaluation"},
}


def run_code(code: str, suite: str) -> list[str]:
    """Return the lines that a new process prints."""
    process = subprocess.run(
        [sys.executable, "-c", code, suite],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.splitlines()


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_includes_only_the_rules_that_it_needs(suite: str) -> None:
    *rules, imported = run_code(LIST_RULES, suite)
    assert set(imported.split()[1:]) == SUITES[suite]
    assert {name for name, prefix in PREFIXES.items() if any(rule.startswith(prefix) for rule in rules)} == SUITES[
        suite
    ]
    assert {"sources", "infer", "table"} <= set(rules)


def test_planning_the_demo_imports_no_side_package() -> None:
    assert run_code(PLAN, "demo")[-1].split() == ["imported"]
