"""The names that a paper's tables give to numbers and groups of items, in place of the short names in files."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, cast

from reprise.benchmarks.health import LIMITS, OPTION, READ_BY, RIGHT_OPTION, SHARE, SPREAD
from reprise.core.paths import settings_name
from reprise.core.settings import Settings
from reprise.report.keys import ReportedBenchmark
from reprise.tables.build import column_name
from reprise.tables.keys import TableKey

HEALTH = {name: limit.summary for name, limit in LIMITS.items()} | {
    OPTION: "chosen",
    RIGHT_OPTION: "right",
    SHARE: "probability of the options together",
    SPREAD: "standard deviation of scores",
    READ_BY: "read by this row",
}


class Names(NamedTuple):
    numbers: Mapping[tuple[str, str], str]
    """metric and group -> `StrictVLE: AgBind (agent binding)`"""
    groups: Mapping[str, str]
    """group -> `AgBind (agent binding)`"""

    def number(self, metric: str, group: str) -> str:
        if metric in HEALTH:
            return f"{group}, {HEALTH[metric]}"
        group_name = self.groups.get(group) or group.replace("_", " ")
        return self.numbers.get((metric, group)) or f"{metric.replace('_', ' ')}, {group_name}"


def names_of(benchmark: ReportedBenchmark, settings: Mapping[str, Settings]) -> Names:
    """Return names from the columns of a benchmark's tables, first from its main table, then in the given order."""
    main = benchmark.headline.table if benchmark.headline else None
    numbers: dict[tuple[str, str], str] = {}
    groups: dict[str, str] = {}
    for table in sorted(benchmark.tables, key=lambda table: table.name != main):
        key = cast(TableKey, settings[settings_name("tables", benchmark.name, table.name)])
        columns_by_group = Counter(column.group for column in key.spec.columns)
        for column in key.spec.columns:
            if column.group is None or column.model or column.sampling:  # its title identifies a run, not a group
                continue
            meaning = key.abbreviations.get(column.title, "")
            name = f"{column_name(column)} ({meaning})" if meaning else column_name(column)
            if columns_by_group[column.group] == 1:  # otherwise the titles distinguish metrics, not groups
                groups.setdefault(column.group, name)
            metrics = key.spec.metrics_of(column)
            for metric in metrics:
                suffix = f", {metric}" if len(metrics) > 1 else ""
                numbers.setdefault((metric, column.group), f"{key.spec.title}: {name}{suffix}")
    return Names(numbers, groups)
