"""What is wrong with the groups of people of a suite, by what its other files say."""

from reprise.config.configuration import Configuration
from reprise.config.known import Known
from reprise.config.problems import Notes

from human_evaluation.settings import RatingDesign


def check(known: Known, notes: Notes) -> None:
    for name in known.found.suite.benchmarks:
        _check_groups(known, name, notes.at(f"benchmarks.{name}"))


def completed(found: Configuration) -> Configuration:
    """Return the configuration as it is: groups of people add no benchmark and no run."""
    return found


def _check_groups(known: Known, benchmark: str, notes: Notes) -> None:
    found = known.found
    entry, spec = found.suite.benchmarks[benchmark], found.benchmarks.get(benchmark)
    groups: dict[tuple[str, str], str] = {}  # kind and run -> the first group that names it
    for group, design in sorted(entry.people.items()):
        here = notes.at(f".people.{group}")
        named = (
            {".run": design.run}
            if design.kind == "answers"
            else {f".runs.{at}": run for at, run in enumerate(design.runs)}
        )
        for key, run in named.items():
            at = here.at(key)
            at.say(*known.run(run, benchmark))
            if (design.kind, run) in groups:
                first = groups[design.kind, run]
                at.say(f"'{run}' is named by '{first}' already; a run has one group, and stands there once.")
            groups.setdefault((design.kind, run), group)
            protocol, sampling, model = run.split("/")
            asked = spec.protocols.get(protocol) if spec else None
            if isinstance(design, RatingDesign):
                if asked is not None and asked.judge is None:
                    at.say(f"'{run}': no judge rates its answers. Name a run of a protocol with a judge.")
                elif asked is not None and benchmark in found.tables and run not in found.runs_of(benchmark):
                    at.say(f"'{run}' is in no table of the suite. Name it in `extra_runs:` too.")
            else:
                if model in found.models and not found.is_import(model):
                    at.say(f"'{model}' is asked here. Name a model whose answers are imported, such as `humans`.")
                if "view" in found.main.samplings.get(sampling, {}):
                    at.say(f"'{run}' has a view, by which models are shown frames and people are not. Leave it out.")
        if isinstance(design, RatingDesign) and entry.ratings is not None:
            here.at(".kind").say(f"the suite names ratings too (ratings: {entry.ratings}). Name one of both.")
        if design.surveys is not None and design.per_survey is not None:
            here.at(".surveys").say(f"found {design.surveys}, and per_survey {design.per_survey}. Name one of both.")
        here.at(".answers").check_files(design.answers, known.root, "answers/*.csv")
        if design.left_out is not None:
            here.at(".left_out").check_files(design.left_out, known.root, "answers/*.csv")
