"""A benchmark that is filtered by what a model answers is there twice: before the filter and after it."""

from typing import Any

from reprise.config.configuration import Configuration
from reprise.construction.settings import MmbenchVideoSettings, StaticFilter
from reprise.core.names import UNFILTERED


def static_filters(found: Configuration) -> dict[str, StaticFilter]:
    """Benchmark -> its filter of static questions."""
    made = {name: entry.construction for name, entry in found.suite.benchmarks.items()}
    filtered = {name: how for name, how in made.items() if isinstance(how, MmbenchVideoSettings)}
    return {name: how.static for name, how in filtered.items() if how.static is not None}


def with_unfiltered(found: Configuration) -> Configuration:
    """The configuration, and each of these benchmarks before its filter: of no table, with the runs that filter it."""
    suite, benchmarks, tables = found.suite, dict(found.benchmarks), dict(found.tables)
    entries = dict(suite.benchmarks)
    for name, how in static_filters(found).items():
        before = f"{name}{UNFILTERED}"
        nothing = dict.fromkeys(("construction", "figures", "ratings", "subset"))
        changes: dict[str, Any] = {**nothing, "extra_runs": how.runs(), "people": {}}
        entries[before] = suite.benchmarks[name].model_copy(update=changes)
        benchmarks[before] = found.benchmarks[name]
        tables[before] = found.tables[name].model_copy(update={"benchmark": before, "tables": {}, "overview": None})
    changed = {"suite": suite.model_copy(update={"benchmarks": entries}), "benchmarks": benchmarks, "tables": tables}
    return found.model_copy(update=changed)
