"""Checks of the groups of people that a suite asks, across files."""

from collections.abc import Iterator
from glob import has_magic
from pathlib import Path

from reprise.config.configuration import Configuration
from reprise.people.settings import AnswerDesign, Design, RatingDesign


def named_runs(design: Design) -> list[tuple[str, str]]:
    """The runs that a group names, each with the key that names it."""
    if isinstance(design, AnswerDesign):
        return [("run", design.run)]
    return [(f"runs.{place}", run) for place, run in enumerate(design.runs)]


def design_problems(found: Configuration, benchmark: str, group: str) -> Iterator[tuple[str, str]]:
    """Key of a group, and what is wrong there."""
    design = found.suite.benchmarks[benchmark].people[group]
    if isinstance(design, RatingDesign):
        yield from _of_rating(found, benchmark, group, design)
    else:
        yield from _of_answers(found, benchmark, group, design)
    if design.surveys is not None and design.per_survey is not None:
        yield "surveys", f"found {design.surveys}, and per_survey {design.per_survey}. Name one of both."


def file_problems(found: Configuration, root: Path) -> Iterator[tuple[str, str]]:
    """Key of a file that a group names and that does not exist; a pattern may match nothing yet."""
    for benchmark, entry in found.suite.benchmarks.items():
        for group, design in entry.people.items():
            for key, name in (("answers", design.answers), ("left_out", design.left_out), ("names", design.names)):
                if name is None or (root / name).is_file() or (key != "names" and has_magic(name)):
                    continue
                instead = (
                    "" if key == "names" else ", or name a pattern such as 'answers/*.csv', which may match none yet"
                )
                yield f"{benchmark}.people.{group}.{key}", f"no file '{name}'. Put it there{instead}."


def _of_answers(found: Configuration, benchmark: str, group: str, design: AnswerDesign) -> Iterator[tuple[str, str]]:
    model = design.run.rpartition("/")[2]
    if model in found.models and not found.is_import(model):
        yield "run", f"'{model}' is asked here. Name a model whose answers are imported, such as `humans`."
    if twin := _twin(found, benchmark, group, design.run):
        yield "run", f"'{design.run}' is the run of '{twin}' too; a run has one group."
    if "view" in found.main.samplings.get(design.run.split("/")[1], {}):
        yield "run", f"'{design.run}' has a view, by which models are shown frames and people are not. Leave it out."


def _of_rating(found: Configuration, benchmark: str, group: str, design: RatingDesign) -> Iterator[tuple[str, str]]:
    entry, spec = found.suite.benchmarks[benchmark], found.benchmarks.get(benchmark)
    if entry.ratings is not None:
        yield "kind", f"the suite names ratings too (ratings: {entry.ratings}). Name one of both."
    for place, run in enumerate(design.runs):
        protocol = spec.protocols.get(run.partition("/")[0]) if spec else None
        if protocol is not None and protocol.judge is None:
            yield f"runs.{place}", f"'{run}': no judge rates its answers. Name a run of a protocol with a judge."
        elif run in design.runs[:place]:
            yield f"runs.{place}", f"'{run}' is named twice."
        elif twin := _twin(found, benchmark, group, run):
            yield f"runs.{place}", f"'{run}' is rated by '{twin}' too; a run has one group."
        elif protocol is not None and benchmark in found.tables and run not in found.runs_of(benchmark):
            yield f"runs.{place}", f"'{run}' is in no table of the suite. Name it in `extra_runs:` too."


def _twin(found: Configuration, benchmark: str, group: str, run: str) -> str | None:
    """Another group of the same kind, earlier by name, that names the same run."""
    designs = found.suite.benchmarks[benchmark].people
    same = (name for name, one in designs.items() if name < group and one.kind == designs[group].kind)
    return next((name for name in same if run in [one for _, one in named_runs(designs[name])]), None)
