"""How a suite makes benchmarks: what is wrong with it by what other files say, and the benchmarks before a filter."""

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
    for name, how in static_filters(known.found).items():
        _check_static(known, name, how, notes.at(f"benchmarks.{name}.construction.static"))
    made = [name for name, entry in suite.benchmarks.items() if entry.construction is not None]
    if known.found.limit is not None and made:
        notes.say(f"it makes benchmarks ({', '.join(made)}), of which there is no part. Name another suite.")


def static_filters(found: Configuration) -> dict[str, StaticFilter]:
    made = {name: entry.construction for name, entry in found.suite.benchmarks.items()}
    return {name: how.static for name, how in made.items() if isinstance(how, MmbenchVideoSettings) and how.static}


def completed(found: Configuration) -> Configuration:
    """The configuration, and each of these benchmarks before its filter: of no table, with the runs that filter it."""
    suite, entries = found.suite, dict(found.suite.benchmarks)
    benchmarks, tables = dict(found.benchmarks), dict(found.tables)
    for name, how in static_filters(found).items():
        before, nothing = f"{name}{UNFILTERED}", dict.fromkeys(("construction", "figures", "ratings", "subset"))
        changes: dict[str, Any] = {**nothing, "extra_runs": how.runs(), "people": {}}
        entries[before] = suite.benchmarks[name].model_copy(update=changes)
        benchmarks[before] = found.benchmarks[name]
        tables[before] = found.tables[name].model_copy(update={"benchmark": before, "tables": {}, "overview": None})
    changed = suite.model_copy(update={"benchmarks": entries})
    return replace(found, suite=changed, benchmarks=benchmarks, tables=tables)


def _check_construction(known: Known, name: str, here: Notes) -> None:
    entry = known.found.suite.benchmarks[name]
    made: Construction | None = entry.construction
    notes = here.at(".construction")
    if made is None:
        return
    if entry.release.kind != "constructed":
        here.at(".release").say("should be `{kind: constructed}`, since `construction:` says how it is made.")
    if made.kind != name:
        notes.at(".kind").say(f"found '{made.kind}', but this is '{name}'.")
    notes.at(".review.verdicts").check_files(made.review.verdicts, known.root, "reviews/*.csv")
    if isinstance(made, Constructing):
        for writer in writers_of(made):
            of_writer = notes.at(".writer" if writer == made.writer else ".other_writers")
            of_writer.say(*known.writing([writer], "write"))
            if writer in known.found.models and known.found.is_import(writer):
                of_writer.say(f"'{writer}' cannot write: its answers are imported. Name a model that is asked here.")
        _check_prompts(known, made.prompts, PROMPTS[made.kind], notes.at(".prompts"))
    if isinstance(made, MmbenchVideoSettings) and made.other_sets:
        for one, file in made.other_sets.files().items():
            if not located(file, known.root).is_file():
                notes.at(f".other_sets.scoring.{one}").say(f"no file '{file}' with the questions of this set.")


def _check_static(known: Known, name: str, how: StaticFilter, notes: Notes) -> None:
    spec, entry = known.found.benchmarks.get(name), known.found.suite.benchmarks[name]
    for run in how.runs():
        notes.say(*known.run(run, name))
    asked = spec.protocols.get(how.protocol) if spec else None
    if spec and asked and asked.judge is None:
        judged = [one for one, protocol in spec.protocols.items() if protocol.judge is not None]
        notes.at(".protocol").say(f"'{how.protocol}' has no judge. Allowed: {', '.join(judged)}.")
    if not (known.found.suite.judges if entry.judges is None else entry.judges):
        notes.say("nobody rates its answers. Name a judge in `judges:` of the suite or of the benchmark.")
    main, samplings = known.found.main, known.found.main.samplings
    drawn = [one for one, rule in samplings.items() if rule["rule"] == "random_one" and not main.is_viewed(one)]
    for sampling in how.samplings:
        if sampling in samplings and sampling not in drawn:
            notes.at(".samplings").say(f"'{sampling}' is no random frame. Allowed: {', '.join(drawn)}.")


def _check_prompts(known: Known, file: str, needed: tuple[str, ...], notes: Notes) -> None:
    if notes.check_file(file, known.root, "resources/prompts"):
        try:
            missing = [name for name in needed if name not in load_prompts(located(file, known.root))]
            notes.say(*(f"{file} has no prompt '{name}'. Needed: {', '.join(needed)}." for name in missing))
        except UserError as error:
            notes.say(str(error))
