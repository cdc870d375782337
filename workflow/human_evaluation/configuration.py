"""Check the groups of annotators of a suite against its other configuration files."""

from reprise.config.configuration import Configuration
from reprise.config.name_checks import NameChecks
from reprise.config.problems import ProblemNotes

from human_evaluation.settings import RatingDesign


def check(checks: NameChecks, notes: ProblemNotes) -> None:
    """Add a note for each problem in the suite's groups of annotators."""
    for name in checks.configuration.suite.benchmarks:
        _check_groups(checks, name, notes.at_key(f"benchmarks.{name}"))


def complete(configuration: Configuration) -> Configuration:
    """Return the configuration unchanged, because groups of annotators add no benchmark and no run."""
    return configuration


def _check_groups(checks: NameChecks, benchmark: str, notes: ProblemNotes) -> None:
    config = checks.configuration
    entry, spec = config.suite.benchmarks[benchmark], config.benchmarks.get(benchmark)
    group_by_run: dict[tuple[str, str], str] = {}  # kind and run -> first group that names the run
    for group, design in sorted(entry.annotators.items()):
        group_notes = notes.at_key(f".annotators.{group}")
        run_by_key = (
            {".run": design.run}
            if design.kind == "answers"
            else {f".runs.{index}": run for index, run in enumerate(design.runs)}
        )
        for key, run in run_by_key.items():
            run_notes = group_notes.at_key(key)
            run_notes.add(*checks.run_problems(run, benchmark))
            if (design.kind, run) in group_by_run:
                first_group = group_by_run[design.kind, run]
                run_notes.add(f"'{run}' is already named by '{first_group}'. Name each run once, in one group.")
            group_by_run.setdefault((design.kind, run), group)
            protocol, sampling, model = run.split("/")
            protocol_spec = spec.protocols.get(protocol) if spec else None
            if isinstance(design, RatingDesign):
                if protocol_spec is not None and protocol_spec.judge is None:
                    run_notes.add(f"'{run}' has no judge. Name a run of a protocol with a judge.")
                elif (
                    protocol_spec is not None and benchmark in config.tables and run not in config.list_runs(benchmark)
                ):
                    run_notes.add(f"'{run}' is in no table of the suite. Add it to `extra_runs:`.")
            else:
                if model in config.models and not config.is_import(model):
                    run_notes.add(f"'{model}' is not a model with imported predictions. Name one, such as `humans`.")
                if "transform" in config.main.samplings.get(sampling, {}):
                    run_notes.add(
                        f"'{run}' has a transform, which surveys do not support. Name a run without a transform."
                    )
        if isinstance(design, RatingDesign) and entry.ratings is not None:
            group_notes.at_key(".kind").add(
                f"conflicts with `ratings: {entry.ratings}` of the benchmark. Remove one of them."
            )
        if design.surveys is not None and design.per_survey is not None:
            group_notes.at_key(".surveys").add(
                f"`surveys: {design.surveys}` conflicts with `per_survey: {design.per_survey}`. Remove one of them."
            )
        group_notes.at_key(".answers").check_files(design.answers, checks.root, "answers/*.csv")
        if design.excluded_annotators is not None:
            group_notes.at_key(".excluded_annotators").check_files(
                design.excluded_annotators, checks.root, "answers/*.csv"
            )
