"""Checks of the groups of people that a suite asks, across files."""

from reprise.config.configuration import Configuration
from reprise.config.known import Known
from reprise.config.problems import Notes
from reprise.people.settings import AnswerDesign, Design, RatingDesign


def check_people(known: Known, benchmark: str, group: str, notes: Notes) -> None:
    """Note what is wrong with a group of people."""
    design = known.found.suite.benchmarks[benchmark].people[group]
    for key, run in _named_runs(design):
        notes.at(f".{key}").say(*known.run(run, benchmark))
    if isinstance(design, RatingDesign):
        _check_ratings(known, benchmark, group, design, notes)
    else:
        here, model = notes.at(".run"), design.run.rpartition("/")[2]
        if model in known.found.models and not known.found.is_import(model):
            here.say(f"'{model}' is asked here. Name a model whose answers are imported, such as `humans`.")
        if twin := _twin(known.found, benchmark, group, design.run):
            here.say(f"'{design.run}' is the run of '{twin}' too; a run has one group.")
        if "view" in known.found.main.samplings.get(design.run.split("/")[1], {}):
            here.say(f"'{design.run}' has a view, by which models are shown frames and people are not. Leave it out.")
    if design.surveys is not None and design.per_survey is not None:
        notes.at(".surveys").say(f"found {design.surveys}, and per_survey {design.per_survey}. Name one of both.")
    for key, pattern in (("answers", design.answers), ("left_out", design.left_out)):
        if pattern is not None:
            notes.at(f".{key}").check_files(pattern, known.root, "answers/*.csv")


def _check_ratings(known: Known, benchmark: str, group: str, design: RatingDesign, notes: Notes) -> None:
    found = known.found
    entry, spec = found.suite.benchmarks[benchmark], found.benchmarks.get(benchmark)
    if entry.ratings is not None:
        notes.at(".kind").say(f"the suite names ratings too (ratings: {entry.ratings}). Name one of both.")
    for place, run in enumerate(design.runs):
        here = notes.at(f".runs.{place}")
        protocol = spec.protocols.get(run.partition("/")[0]) if spec else None
        if protocol is not None and protocol.judge is None:
            here.say(f"'{run}': no judge rates its answers. Name a run of a protocol with a judge.")
        elif run in design.runs[:place]:
            here.say(f"'{run}' is named twice.")
        elif twin := _twin(found, benchmark, group, run):
            here.say(f"'{run}' is rated by '{twin}' too; a run has one group.")
        elif protocol is not None and benchmark in found.tables and run not in found.runs_of(benchmark):
            here.say(f"'{run}' is in no table of the suite. Name it in `extra_runs:` too.")


def _named_runs(design: Design) -> list[tuple[str, str]]:
    """The runs that a group names, each with the key that names it."""
    if isinstance(design, AnswerDesign):
        return [("run", design.run)]
    return [(f"runs.{place}", run) for place, run in enumerate(design.runs)]


def _twin(found: Configuration, benchmark: str, group: str, run: str) -> str | None:
    """Another group of the same kind, earlier by name, that names the same run."""
    designs = found.suite.benchmarks[benchmark].people
    same = (name for name, one in designs.items() if name < group and one.kind == designs[group].kind)
    return next((name for name in same if run in [one for _, one in _named_runs(designs[name])]), None)
