"""What becomes of a suite's configuration: a stand-in for its models, benchmarks before a filter, a part of it."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

from reprise.config.configuration import Configuration
from reprise.construction.settings import MmbenchVideoSettings, StaticFilter
from reprise.core.names import UNFILTERED


def with_stand_in(found: Configuration) -> Configuration:
    """The configuration with every model replaced by the suite's stand-in; labels and references stay, and so
    that rows differ, each model's slug is its seed."""
    name = found.suite.stand_in
    if name is None:
        return found
    baseline = found.models[name]
    replaced = {
        slug: baseline.model_copy(
            update={
                "label": model.label,
                "reference": model.reference,
                "settings": baseline.settings | {"seed": int(sha256(slug.encode()).hexdigest()[:8], 16)},
            }
        )
        for slug, model in found.models.items()
    }
    return replace(found, models=replaced | {name: baseline})


def static_filters(found: Configuration) -> dict[str, StaticFilter]:
    made = {name: entry.construction for name, entry in found.suite.benchmarks.items()}
    return {name: how.static for name, how in made.items() if isinstance(how, MmbenchVideoSettings) and how.static}


def with_unfiltered(found: Configuration) -> Configuration:
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


def with_limit(found: Configuration) -> Configuration:
    """The configuration; of a part, `<suite>-limit<N>`, said in the title and notice that people read."""
    if found.limit is None:
        return found
    said = {
        "title": f"{found.suite.title}, a part: {found.limit} units of each benchmark",
        "notice": f"A part only: at most {found.limit} units (videos, or pairs of Vinoground) of each benchmark, drawn "
        f"evenly over their kinds. Answers that were made elsewhere are left out. {found.suite.notice}".strip(),
    }
    return replace(found, suite=found.suite.model_copy(update=said))
