"""Checks of the groups of people that a suite asks, across files."""

from collections.abc import Iterator, Mapping

from reprise.config.configuration import Configuration
from reprise.people.settings import Design


def design_problems(found: Configuration, designs: Mapping[str, Design], group: str) -> Iterator[tuple[str, str]]:
    """Key of a group, and what is wrong there."""
    design = designs[group]
    model = design.run.rpartition("/")[2]
    if model in found.models and not found.is_import(model):
        reason = f"'{model}' is asked here. Name a model whose answers are imported, such as `humans`."
        yield "run", reason
    twins = [name for name, other in designs.items() if other.run == design.run and name < group]
    if twins:
        yield "run", f"'{design.run}' is the run of '{twins[0]}' too; a run has one group."
    if design.surveys is not None and design.per_survey is not None:
        yield "surveys", f"found {design.surveys}, and per_survey {design.per_survey}. Name one of both."
