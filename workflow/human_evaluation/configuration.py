"""Checks of a suite's groups of annotators against its other configuration files."""

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
    config = known.found
    entry, spec = config.suite.benchmarks[benchmark], config.benchmarks.get(benchmark)
    groups: dict[tuple[str, str], str] = {}  # (kind, run) -> the first group that names the run
    for group, design in sorted(entry.people.items()):
        group_notes = notes.at(f".people.{group}")
        runs = (
            {".run": design.run}
            if design.kind == "answers"
            else {f".runs.{index}": run for index, run in enumerate(design.runs)}
        )
        for key, run in runs.items():
            run_notes = group_notes.at(key)
            run_notes.say(*known.run(run, benchmark))
            if (design.kind, run) in groups:
                first = groups[design.kind, run]
                run_notes.say(f"'{run}' is named by '{first}' already; a run has one group, and stands there once.")
            groups.setdefault((design.kind, run), group)
            protocol, sampling, model = run.split("/")
            protocol_spec = spec.protocols.get(protocol) if spec else None
            if isinstance(design, RatingDesign):
                if protocol_spec is not None and protocol_spec.judge is None:
                    run_notes.say(f"'{run}': no judge rates its answers. Name a run of a protocol with a judge.")
                elif protocol_spec is not None and benchmark in config.tables and run not in config.runs_of(benchmark):
                    run_notes.say(f"'{run}' is in no table of the suite. Name it in `extra_runs:` too.")
            else:
                if model in config.models and not config.is_import(model):
                    run_notes.say(
                        f"'{model}' is asked here. Name a model whose answers are imported, such as `humans`."
                    )
                if "view" in config.main.samplings.get(sampling, {}):
                    run_notes.say(
                        f"'{run}' has a view, by which models are shown frames and people are not. Leave it out."
                    )
        if isinstance(design, RatingDesign) and entry.ratings is not None:
            group_notes.at(".kind").say(f"the suite names ratings too (ratings: {entry.ratings}). Name one of both.")
        if design.surveys is not None and design.per_survey is not None:
            group_notes.at(".surveys").say(
                f"found {design.surveys}, and per_survey {design.per_survey}. Name one of both."
            )
        group_notes.at(".answers").check_files(design.answers, known.root, "answers/*.csv")
        if design.left_out is not None:
            group_notes.at(".left_out").check_files(design.left_out, known.root, "answers/*.csv")
