"""Checks of a suite's constructions against other files, and the unfiltered benchmarks that static filters need."""

from dataclasses import replace
from typing import Any

from reprise.benchmarks.prompts import load_prompts
from reprise.config.configuration import Configuration
from reprise.config.name_checks import NameChecks
from reprise.config.problems import ProblemNotes
from reprise.core.errors import UserError
from reprise.core.names import UNFILTERED
from reprise.core.paths import locate

from construction.settings import Construction, MmbenchVideoSettings, StaticFilter, WrittenConstruction, writers_of

REQUIRED_PROMPTS = {  # kind of construction -> the names of its writer's prompts
    "velociti": ("caption", "action_adv", "action_manner"),
    "vinoground": ("pairs", "more"),
    "temporalbench": ("words", "events", "category"),
}


def check(checks: NameChecks, notes: ProblemNotes) -> None:
    """Note the problems of the suite's constructions, each at the key of the suite that causes it."""
    suite = checks.configuration.suite
    for name in suite.benchmarks:
        _check_construction(checks, name, notes.at_key(f"benchmarks.{name}"))
    for name, static_filter in static_filters(checks.configuration).items():
        _check_static(checks, name, static_filter, notes.at_key(f"benchmarks.{name}.construction.static"))
    constructed = [name for name, entry in suite.benchmarks.items() if entry.construction is not None]
    if checks.configuration.limit is not None and constructed:
        notes.add(
            f"`limit` cannot be used with a suite that constructs benchmarks ({', '.join(constructed)}). "
            "Name another suite."
        )


def static_filters(configuration: Configuration) -> dict[str, StaticFilter]:
    """Return benchmark -> its filter of questions that a single frame answers."""
    constructions = {name: entry.construction for name, entry in configuration.suite.benchmarks.items()}
    return {
        name: construction.static
        for name, construction in constructions.items()
        if isinstance(construction, MmbenchVideoSettings) and construction.static
    }


def complete(configuration: Configuration) -> Configuration:
    """Add an unfiltered copy of each benchmark with a static filter.

    The runs of the copy are those that the filter reads. No table shows the copy.
    """
    suite, entries = configuration.suite, dict(configuration.suite.benchmarks)
    benchmarks, tables = dict(configuration.benchmarks), dict(configuration.tables)
    for name, static_filter in static_filters(configuration).items():
        unfiltered = f"{name}{UNFILTERED}"
        cleared_keys = dict.fromkeys(("construction", "figures", "ratings", "subset"))  # set to None
        changes: dict[str, Any] = {**cleared_keys, "extra_runs": static_filter.runs(), "annotators": {}}
        entries[unfiltered] = suite.benchmarks[name].model_copy(update=changes)
        benchmarks[unfiltered] = configuration.benchmarks[name]
        tables[unfiltered] = configuration.tables[name].model_copy(
            update={"benchmark": unfiltered, "tables": {}, "overview": None}
        )
    completed_suite = suite.model_copy(update={"benchmarks": entries})
    return replace(configuration, suite=completed_suite, benchmarks=benchmarks, tables=tables)


def _check_construction(checks: NameChecks, benchmark: str, benchmark_notes: ProblemNotes) -> None:
    entry = checks.configuration.suite.benchmarks[benchmark]
    construction: Construction | None = entry.construction
    notes = benchmark_notes.at_key(".construction")
    if construction is None:
        return
    if entry.release.kind != "constructed":
        benchmark_notes.at_key(".release").add(
            "should be `{kind: constructed}` because the benchmark has a `construction:`."
        )
    if construction.kind != benchmark:
        notes.at_key(".kind").add(f"'{construction.kind}' does not match the benchmark; write '{benchmark}'.")
    notes.at_key(".review.verdicts").check_files(construction.review.verdicts, checks.root, "reviews/*.csv")
    if isinstance(construction, WrittenConstruction):
        for writer in writers_of(construction):
            writer_notes = notes.at_key(".writer" if writer == construction.writer else ".other_writers")
            writer_notes.add(*checks.writing_problems([writer], "write"))
            if writer in checks.configuration.models and checks.configuration.is_import(writer):
                writer_notes.add(
                    f"'{writer}' cannot write texts because its responses are imported. Name a model that runs here."
                )
        _check_prompts(checks, construction.prompts, REQUIRED_PROMPTS[construction.kind], notes.at_key(".prompts"))
    if isinstance(construction, MmbenchVideoSettings) and construction.other_sets:
        for set_name, file in construction.other_sets.files().items():
            if not locate(file, checks.root).is_file():
                notes.at_key(f".other_sets.scoring.{set_name}").add(
                    f"file '{file}' with the questions of this set does not exist."
                )


def _check_static(checks: NameChecks, benchmark: str, static_filter: StaticFilter, notes: ProblemNotes) -> None:
    spec, entry = checks.configuration.benchmarks.get(benchmark), checks.configuration.suite.benchmarks[benchmark]
    for run in static_filter.runs():
        notes.add(*checks.run_problems(run, benchmark))
    protocol_spec = spec.protocols.get(static_filter.protocol) if spec else None
    if spec and protocol_spec and protocol_spec.judge is None:
        judged_protocols = [key for key, protocol in spec.protocols.items() if protocol.judge is not None]
        notes.at_key(".protocol").add(
            f"'{static_filter.protocol}' has no judge. Allowed: {', '.join(judged_protocols)}."
        )
    if not (checks.configuration.suite.judges if entry.judges is None else entry.judges):
        notes.add("no judge rates the answers. Name a judge in `judges:` of the suite or of the benchmark.")
    main = checks.configuration.main
    random_frame_samplings = [
        key for key, rule in main.samplings.items() if rule["rule"] == "random_one" and not main.is_transformed(key)
    ]
    for sampling in static_filter.samplings:
        if sampling in main.samplings and sampling not in random_frame_samplings:
            notes.at_key(".samplings").add(
                f"'{sampling}' does not select one random frame. Allowed: {', '.join(random_frame_samplings)}."
            )


def _check_prompts(checks: NameChecks, file: str, required: tuple[str, ...], notes: ProblemNotes) -> None:
    if notes.check_file(file, checks.root, "resources/prompts"):
        try:
            missing = [name for name in required if name not in load_prompts(locate(file, checks.root))]
            notes.add(*(f"{file} has no prompt '{name}'. Needed: {', '.join(required)}." for name in missing))
        except UserError as error:
            notes.add(str(error))
