"""Checks of a suite's constructions against other files, and the benchmarks that exist before the static filter."""

from dataclasses import replace
from typing import Any

from reprise.benchmarks.prompts import load_prompts
from reprise.config.configuration import Configuration
from reprise.config.known import Known
from reprise.config.problems import Notes
from reprise.core.errors import UserError
from reprise.core.names import UNFILTERED
from reprise.core.paths import located

from construction.settings import Constructing, Construction, MmbenchVideoSettings, StaticFilter, writers_of

PROMPTS = {  # kind of construction -> the prompts that it asks its writer by
    "velociti": ("caption", "action_adv", "action_manner"),
    "vinoground": ("pairs", "more"),
    "temporalbench": ("words", "events", "category"),
}


def check(known: Known, notes: Notes) -> None:
    suite = known.found.suite
    for name in suite.benchmarks:
        _check_construction(known, name, notes.at(f"benchmarks.{name}"))
    for name, static_filter in static_filters(known.found).items():
        _check_static(known, name, static_filter, notes.at(f"benchmarks.{name}.construction.static"))
    constructed = [name for name, entry in suite.benchmarks.items() if entry.construction is not None]
    if known.found.limit is not None and constructed:
        notes.say(f"it makes benchmarks ({', '.join(constructed)}), of which there is no part. Name another suite.")


def static_filters(found: Configuration) -> dict[str, StaticFilter]:
    constructions = {name: entry.construction for name, entry in found.suite.benchmarks.items()}
    return {
        name: construction.static
        for name, construction in constructions.items()
        if isinstance(construction, MmbenchVideoSettings) and construction.static
    }


def completed(found: Configuration) -> Configuration:
    """Return the configuration plus each filtered benchmark before its filter, in no table, with the filter's runs."""
    suite, entries = found.suite, dict(found.suite.benchmarks)
    benchmarks, tables = dict(found.benchmarks), dict(found.tables)
    for name, static_filter in static_filters(found).items():
        unfiltered, cleared = f"{name}{UNFILTERED}", dict.fromkeys(("construction", "figures", "ratings", "subset"))
        changes: dict[str, Any] = {**cleared, "extra_runs": static_filter.runs(), "people": {}}
        entries[unfiltered] = suite.benchmarks[name].model_copy(update=changes)
        benchmarks[unfiltered] = found.benchmarks[name]
        tables[unfiltered] = found.tables[name].model_copy(
            update={"benchmark": unfiltered, "tables": {}, "overview": None}
        )
    completed_suite = suite.model_copy(update={"benchmarks": entries})
    return replace(found, suite=completed_suite, benchmarks=benchmarks, tables=tables)


def _check_construction(known: Known, name: str, benchmark_notes: Notes) -> None:
    entry = known.found.suite.benchmarks[name]
    construction: Construction | None = entry.construction
    notes = benchmark_notes.at(".construction")
    if construction is None:
        return
    if entry.release.kind != "constructed":
        benchmark_notes.at(".release").say(
            "should be `{kind: constructed}`, since `construction:` says how it is made."
        )
    if construction.kind != name:
        notes.at(".kind").say(f"found '{construction.kind}', but this is '{name}'.")
    notes.at(".review.verdicts").check_files(construction.review.verdicts, known.root, "reviews/*.csv")
    if isinstance(construction, Constructing):
        for writer in writers_of(construction):
            writer_notes = notes.at(".writer" if writer == construction.writer else ".other_writers")
            writer_notes.say(*known.writing([writer], "write"))
            if writer in known.found.models and known.found.is_import(writer):
                writer_notes.say(f"'{writer}' cannot write: its answers are imported. Name a model that is asked here.")
        _check_prompts(known, construction.prompts, PROMPTS[construction.kind], notes.at(".prompts"))
    if isinstance(construction, MmbenchVideoSettings) and construction.other_sets:
        for set_name, file in construction.other_sets.files().items():
            if not located(file, known.root).is_file():
                notes.at(f".other_sets.scoring.{set_name}").say(f"no file '{file}' with the questions of this set.")


def _check_static(known: Known, name: str, static_filter: StaticFilter, notes: Notes) -> None:
    spec, entry = known.found.benchmarks.get(name), known.found.suite.benchmarks[name]
    for run in static_filter.runs():
        notes.say(*known.run(run, name))
    protocol_spec = spec.protocols.get(static_filter.protocol) if spec else None
    if spec and protocol_spec and protocol_spec.judge is None:
        with_judge = [key for key, protocol in spec.protocols.items() if protocol.judge is not None]
        notes.at(".protocol").say(f"'{static_filter.protocol}' has no judge. Allowed: {', '.join(with_judge)}.")
    if not (known.found.suite.judges if entry.judges is None else entry.judges):
        notes.say("nobody rates its answers. Name a judge in `judges:` of the suite or of the benchmark.")
    main, samplings = known.found.main, known.found.main.samplings
    random_frames = [key for key, rule in samplings.items() if rule["rule"] == "random_one" and not main.is_viewed(key)]
    for sampling in static_filter.samplings:
        if sampling in samplings and sampling not in random_frames:
            notes.at(".samplings").say(f"'{sampling}' is no random frame. Allowed: {', '.join(random_frames)}.")


def _check_prompts(known: Known, file: str, needed: tuple[str, ...], notes: Notes) -> None:
    if notes.check_file(file, known.root, "resources/prompts"):
        try:
            missing = [name for name in needed if name not in load_prompts(located(file, known.root))]
            notes.say(*(f"{file} has no prompt '{name}'. Needed: {', '.join(needed)}." for name in missing))
        except UserError as error:
            notes.say(str(error))
