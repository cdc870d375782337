"""Checks of a suite's file by what other files say: whom it asks, and what its side packages say."""

from collections import Counter

from reprise.config.known import Known
from reprise.config.problems import Notes, unknown_name
from reprise.config.side_packages import module_of, packages_of
from reprise.core.errors import choices
from reprise.models.adapters import ADAPTERS, ANYTHING

TERMS = ("local", "none", "all")


def check_suite(known: Known, notes: Notes) -> None:
    found, suite = known.found, known.found.suite
    for term in suite.run:
        if isinstance(term, str):
            reasons = unknown_name("model", term, [*TERMS, *found.models, *known.unreadable])
            notes.at("run").say(*(f"{one} Also: {', '.join(TERMS)}, {{gpus: N}}." for one in reasons))
    notes.at("skip").say(*known.models(suite.skip))
    notes.at("judges").say(*known.writing(suite.judges, "judge"))
    _check_stand_in(known, notes.at("stand_in"))
    for name, entry in suite.benchmarks.items():
        here = notes.at(f"benchmarks.{name}")
        here.at(".judges").say(*known.writing(entry.judges or (), "judge"))
        for run in entry.extra_runs:
            here.at(f".extra_runs: '{run}'").say(*known.run(run, name))
        if entry.release.kind == "constructed" and entry.construction is None:
            here.at(".construction").say(
                "missing; `release: {kind: constructed}` says that the release is made as this says."
            )
    for package in packages_of(suite.benchmarks.values()):
        module_of(package, "configuration").check(known, notes)
    lines = suite.overview_lines()
    named = Counter(line.model for line in lines)
    for line in lines:
        here = notes.at(f"overview: '{line.model}'")
        here.say(*known.models([line.model]), *known.samplings(line.samplings.values()))
        if named[line.model] > 1:
            here.say("named twice; a model has one line.")
        for benchmark in {*(line.benchmarks or ()), *line.samplings}:
            here.expect("benchmark", [benchmark], suite.benchmarks)
            if benchmark in found.tables and found.tables[benchmark].overview is None:
                here.say(f"{benchmark} has no part in the overview.")


def _check_stand_in(known: Known, notes: Notes) -> None:
    """A stand-in must exist, run on any machine, and answer whatever is asked."""
    name = known.found.suite.stand_in
    adapters = {slug: ADAPTERS[model.adapter] for slug, model in known.found.models.items()}
    here = {slug: one for slug, one in adapters.items() if not one.needs_weights and not one.is_remote}
    able = [slug for slug, one in here.items() if set(ANYTHING) <= set(one.asks)]
    if name not in (None, *able, *known.unreadable):
        notes.say(
            f"'{name}': a baseline that answers all kinds of questions, without weights or a server, stands in for "
            f"others.{choices(str(name), able)}"
        )
