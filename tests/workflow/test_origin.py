"""What is told to be behind a number (`Origin.steps`) is what Snakemake's rules make it from, whatever stages there are."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pytest
from reprise.config.load import load
from reprise.plan.imported import Imports
from reprise.plan.runs import Plan
from reprise.plan.suite import Suite
from reprise.stages.command import command_of
from snakemake.api import ConfigSettings, OutputSettings, ResourceSettings, StorageSettings, WorkflowSettings
from snakemake.iocontainers import Wildcards
from snakemake.logging import LoggerManager, logger
from snakemake.workflow import Workflow

from tests.workflow.conftest import ROOT

FILES = ("annotations", "media", "inference", "scores", "construction", "people")  # of rules, up to the numbers


class Job(NamedTuple):
    inputs: frozenset[str]
    outputs: frozenset[str]


class Graph:
    """The jobs that Snakemake's rules make files by."""

    def __init__(self, plan: Plan) -> None:
        suite = Suite(plan)
        settings = ConfigSettings(), ResourceSettings(cores=1), WorkflowSettings()
        self._workflow = Workflow(*settings, LoggerManager(logger, OutputSettings()), StorageSettings())
        self._workflow.globals.update(SUITE=suite, command=partial(command_of, suite.for_jobs))
        self._workflow.register_pathvars(suite=str(plan.results.folder))
        self._workflow.global_wildcard_constraints(**suite.wildcards())
        for name in FILES:
            self._workflow.include(ROOT / f"workflow/rules/{name}.smk")
        self._known: dict[str, dict[str, Job]] = {}

    def behind(self, path: str) -> dict[str, Job]:
        """By its log every job that a file is made by, the first one first."""
        if path not in self._known:
            found: dict[str, Job] = {}
            for rule in self._workflow.rules:
                if any(output.match(path) for output in rule.output):
                    wildcards = Wildcards(fromdict=rule.get_wildcards(path))
                    inputs = rule.expand_input(wildcards)[0]
                    made_from = set(inputs) - set(getattr(inputs, "asked_before", []))  # these are waited for, not read
                    for one in sorted(made_from):
                        found |= self.behind(one)
                    (log,) = rule.expand_log(wildcards)
                    found[str(log)] = Job(
                        frozenset(map(str, made_from)), frozenset(map(str, rule.expand_output(wildcards)[0]))
                    )
            self._known[path] = found
        return self._known[path]


def of_suite(name: str, models: dict[str, dict[str, Any]], **settings: Any) -> Plan:
    config = load(ROOT, {"suite": name})
    for slug, changed in models.items():
        config.models[slug] = config.models[slug].model_copy(update=changed)
    return Plan(replace(config, suite=config.suite.model_copy(update=settings)))


def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    """The demo; its models and judges in pieces, fetched, served and made elsewhere; every model of the papers."""
    yield of_suite("demo", {})
    yield of_suite("rehearsal", {"wordmatch": {"repo": "of/judge"}})
    yield of_suite("paper", {"llava-onevision-7b": {"pieces": 2}}, run=["all"], judges=["wordmatch"], budget_usd=1e6)
    monkeypatch.setattr(Imports, "rating_files", lambda *_: [ROOT / "README.md"])
    yield of_suite("demo", {"wordmatch": {"adapter": "import"}})


def test_every_job_behind_a_number_is_told_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: set[str] = set()
    for plan in plans(monkeypatch):
        graph = Graph(plan)
        for one in plan.numbers():
            jobs = graph.behind(str(plan.results.metrics(one)))
            steps = list(plan.origin(one).steps(plan.results))
            assert {str(step.log) for step in steps} == jobs.keys(), f"{one.name} of {plan.config.name}"
            made = {path: number for number, step in enumerate(steps) for path in jobs[str(step.log)].outputs}
            for number, step in enumerate(steps):
                job = jobs[str(step.log)]
                assert str(step.path) in job.outputs and (step.key is None or str(step.key) in job.inputs), step
                too_late = [path for path in job.inputs if made.get(path, 0) > number]
                assert not too_late, f"{step.name} of {one.name} is told before {too_late}"
            rules |= {log.split("/")[3] for log in jobs}
    assert {"weights", "environments", "infer_piece", "import_answers", "judge", "import_ratings"} <= rules
