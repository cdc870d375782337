"""Check a suite's file against other files and side packages."""

from collections import Counter

from reprise.config.name_checks import NameChecks
from reprise.config.problems import ProblemNotes, find_unknown_name
from reprise.config.side_packages import list_packages, load_module
from reprise.core.errors import describe_choices
from reprise.models.adapters import ADAPTERS, ALL_REQUEST_TYPES

# Terms of `run:` besides the names of models and `gpus: N`.
TERMS = ("local", "none", "all")


def check_suite(name_checks: NameChecks, notes: ProblemNotes) -> None:
    """Note the problems of the suite's file."""
    config, suite = name_checks.configuration, name_checks.configuration.suite
    for term in suite.run:
        if isinstance(term, str):
            name_checks.checked_models.add(term)
            reasons = find_unknown_name("model", term, [*TERMS, *config.models, *name_checks.unreadable_names])
            notes.at_key("run").add(*(f"{reason} Also: {', '.join(TERMS)}, {{gpus: N}}." for reason in reasons))
    models = {*config.models, *name_checks.unreadable_names}
    notes.at_key("skip").check_names("model", suite.skip, models)
    notes.at_key("judges").add(*name_checks.writing_problems(suite.judges, "judge"))
    _check_baseline(name_checks, notes.at_key("baseline"))
    for name, settings in suite.benchmarks.items():
        benchmark_notes = notes.at_key(f"benchmarks.{name}")
        benchmark_notes.at_key(".judges").add(*name_checks.writing_problems(settings.judges or (), "judge"))
        for run in settings.extra_runs:
            benchmark_notes.at_key(f".extra_runs: '{run}'").add(*name_checks.run_problems(run, name))
        if settings.release.kind == "constructed" and settings.construction is None:
            benchmark_notes.at_key(".construction").add(
                "missing; `release: {kind: constructed}` needs it to construct the release."
            )
    for package in list_packages(suite.benchmarks.values()):
        load_module(package, "configuration").check(name_checks, notes)
    overview_lines = suite.overview_lines()
    line_counts = Counter(line.model for line in overview_lines)
    for line in overview_lines:
        line_notes = notes.at_key(f"overview: '{line.model}'")
        line_notes.add(
            *name_checks.model_problems([line.model]), *name_checks.sampling_problems(line.samplings.values())
        )
        if line_counts[line.model] > 1:
            line_notes.add("duplicate; a model has one line in the overview.")
        for benchmark in {*(line.benchmarks or ()), *line.samplings}:
            line_notes.check_names("benchmark", [benchmark], suite.benchmarks)
            if benchmark in config.tables and config.tables[benchmark].overview is None:
                line_notes.add(f"{benchmark} has no part in the overview.")


def _check_baseline(name_checks: NameChecks, notes: ProblemNotes) -> None:
    """Check that the baseline exists, runs on any machine and answers all kinds of requests."""
    name = name_checks.configuration.suite.baseline
    name_checks.checked_models.update([name] if name else [])
    adapters = {slug: ADAPTERS[model.adapter] for slug, model in name_checks.configuration.models.items()}
    local = {slug: adapter for slug, adapter in adapters.items() if not adapter.needs_weights and not adapter.is_remote}
    suitable = [slug for slug, adapter in local.items() if set(ALL_REQUEST_TYPES) <= set(adapter.request_types)]
    if name not in (None, *suitable, *name_checks.unreadable_names):
        notes.add(
            f"'{name}': a baseline must answer all kinds of requests without weights or a server."
            f"{describe_choices(str(name), suitable)}"
        )
