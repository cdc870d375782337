"""Look up the names that a paper's tables give to metrics and groups of items, instead of the short names in files."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, cast

from reprise.benchmarks.health import EXTRACTED_BY, LIMITS, OPTION, OPTIONS_PROBABILITY, RIGHT_OPTION, SPREAD
from reprise.core.paths import settings_name
from reprise.core.settings import Settings
from reprise.report.keys import ReportedBenchmark
from reprise.tables.builder import column_name
from reprise.tables.keys import TableKey

HEALTH_NAMES = {name: limit.summary for name, limit in LIMITS.items()} | {
    OPTION: "chosen",
    RIGHT_OPTION: "right",
    OPTIONS_PROBABILITY: "probability of the options together",
    SPREAD: "standard deviation of scores",
    EXTRACTED_BY: "extracted by this rule",
}


class TableNames(NamedTuple):
    metrics: Mapping[tuple[str, str], str]
    """metric and group -> `StrictVLE: AgBind (agent binding)`"""
    groups: Mapping[str, str]
    """group -> `AgBind (agent binding)`"""

    def metric_name(self, metric: str, group: str) -> str:
        if metric in HEALTH_NAMES:
            return f"{group}, {HEALTH_NAMES[metric]}"
        group_name = self.groups.get(group) or group.replace("_", " ")
        return self.metrics.get((metric, group)) or f"{metric.replace('_', ' ')}, {group_name}"


def read_table_names(benchmark: ReportedBenchmark, settings: Mapping[str, Settings]) -> TableNames:
    """Return names from the columns of a benchmark's tables, first from its main table, then in their order."""
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
            metrics = key.spec.list_metrics(column)
            for metric in metrics:
                suffix = f", {metric}" if len(metrics) > 1 else ""
                numbers.setdefault((metric, column.group), f"{key.spec.title}: {name}{suffix}")
    return TableNames(numbers, groups)
