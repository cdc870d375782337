"""The benchmarks that a suite makes, and the runs in which a language model writes their texts."""

from collections.abc import Mapping
from pathlib import Path

from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.construction.settings import Constructing, Construction, Making, writers_of
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.plan.runs import Plan

WRITER = "writer"
WRITING = "construction"
"""what stands for the protocol of a round of writing"""


def constructed(plan: Plan) -> Mapping[str, Construction]:
    """The benchmarks that are made, and how."""
    entries = plan.config.suite.benchmarks.items()
    return {name: entry.construction for name, entry in entries if entry.construction is not None}


def written(plan: Plan) -> Mapping[str, Constructing]:
    """Those of them whose texts a language model writes."""
    return {name: how for name, how in constructed(plan).items() if isinstance(how, Constructing)}


def writer_run(benchmark: str, number: int | str, writer: str) -> Run:
    """A round of writing, named as runs are."""
    return Run(benchmark, WRITING, f"round{number}", writer)


def writers_here(plan: Plan, benchmark: str, settings: Constructing) -> list[str]:
    """The models that write a benchmark's texts; they must run here."""
    writers = writers_of(settings)
    for writer in writers:
        if writer not in plan.models:
            key = "writer" if writer == settings.writer else "other_writers"
            raise UserError(
                f"{plan.config.file}: benchmarks.{benchmark}.construction.{key}: '{writer}' does "
                "not run here. Name it in `run:`; a model behind an API also needs a budget."
            )
    return writers


def writing_prompts(settings: Making) -> dict[str, Prompt]:
    """The prompts by which the writer is asked; none where there is no writer."""
    return load_prompts(Path(settings.prompts)) if isinstance(settings, Constructing) else {}
