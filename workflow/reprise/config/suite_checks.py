"""Check a suite's file against other files and side packages."""

from collections import Counter

from reprise.config.known import Known
from reprise.config.problems import Notes, unknown_name
from reprise.config.side_packages import module_of, packages_of
from reprise.core.errors import choices
from reprise.models.adapters import ADAPTERS, ANYTHING

TERMS = ("local", "none", "all")


def check_suite(known: Known, notes: Notes) -> None:
    """Note the problems of the suite's file."""
    config, suite = known.found, known.found.suite
    for term in suite.run:
        if isinstance(term, str):
            reasons = unknown_name("model", term, [*TERMS, *config.models, *known.unreadable])
            notes.at("run").say(*(f"{reason} Also: {', '.join(TERMS)}, {{gpus: N}}." for reason in reasons))
    notes.at("skip").say(*known.models(suite.skip))
    notes.at("judges").say(*known.writing(suite.judges, "judge"))
    _check_stand_in(known, notes.at("stand_in"))
    for name, entry in suite.benchmarks.items():
        benchmark_notes = notes.at(f"benchmarks.{name}")
        benchmark_notes.at(".judges").say(*known.writing(entry.judges or (), "judge"))
        for run in entry.extra_runs:
            benchmark_notes.at(f".extra_runs: '{run}'").say(*known.run(run, name))
        if entry.release.kind == "constructed" and entry.construction is None:
            benchmark_notes.at(".construction").say(
                "missing; `release: {kind: constructed}` says that the release is made as this says."
            )
    for package in packages_of(suite.benchmarks.values()):
        module_of(package, "configuration").check(known, notes)
    lines = suite.overview_lines()
    line_counts = Counter(line.model for line in lines)
    for line in lines:
        line_notes = notes.at(f"overview: '{line.model}'")
        line_notes.say(*known.models([line.model]), *known.samplings(line.samplings.values()))
        if line_counts[line.model] > 1:
            line_notes.say("named twice; a model has one line.")
        for benchmark in {*(line.benchmarks or ()), *line.samplings}:
            line_notes.expect("benchmark", [benchmark], suite.benchmarks)
            if benchmark in config.tables and config.tables[benchmark].overview is None:
                line_notes.say(f"{benchmark} has no part in the overview.")


def _check_stand_in(known: Known, notes: Notes) -> None:
    """Check that the baseline exists, runs on any machine and answers all kinds of questions."""
    name = known.found.suite.stand_in
    adapters = {slug: ADAPTERS[model.adapter] for slug, model in known.found.models.items()}
    local = {slug: adapter for slug, adapter in adapters.items() if not adapter.needs_weights and not adapter.is_remote}
    suitable = [slug for slug, adapter in local.items() if set(ANYTHING) <= set(adapter.asks)]
    if name not in (None, *suitable, *known.unreadable):
        notes.say(
            f"'{name}': a baseline that answers all kinds of questions, without weights or a server, stands in for "
            f"others.{choices(str(name), suitable)}"
        )
