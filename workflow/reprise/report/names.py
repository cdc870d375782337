"""Look up the names that a paper's tables give to metrics and groups, which have only short names in files."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, cast

from reprise.benchmarks.health import EXTRACTED_BY, HEALTH_LIMITS, OPTION, OPTIONS_PROBABILITY, RIGHT_OPTION, SPREAD
from reprise.core.paths import settings_name
from reprise.core.settings import Settings
from reprise.report.keys import ReportedBenchmark
from reprise.tables.builder import column_name
from reprise.tables.keys import TableKey

# Health metric -> its name on the page of a run, after the group, which names the option or the rule: "Yes, chosen".
HEALTH_NAMES = {name: limit.summary for name, limit in HEALTH_LIMITS.items()} | {
    OPTION: "chosen",
    RIGHT_OPTION: "right",
    OPTIONS_PROBABILITY: "probability of the options together",
    SPREAD: "standard deviation of scores",
    EXTRACTED_BY: "extracted by this rule",
}


class TableNames(NamedTuple):
    """The names that a paper's tables give to metrics and groups."""

    metrics: Mapping[tuple[str, str], str]
    """metric and group -> name in a table, such as `StrictVLE: AgBind (agent binding)`"""
    groups: Mapping[str, str]
    """group -> name in a table, such as `AgBind (agent binding)`"""
    decimals: Mapping[tuple[str, str], int]
    """metric and group -> decimals in a table"""

    def metric_name(self, metric: str, group: str) -> str:
        """Return the name of a metric of a group; a metric that no table shows keeps its name in files."""
        if metric in HEALTH_NAMES:
            return f"{group}, {HEALTH_NAMES[metric]}"
        group_name = self.groups.get(group) or group.replace("_", " ")
        return self.metrics.get((metric, group)) or f"{metric.replace('_', ' ')}, {group_name}"


def read_table_names(benchmark: ReportedBenchmark, settings: Mapping[str, Settings]) -> TableNames:
    """Return the names from the columns of a benchmark's tables. If names differ, the main table takes precedence."""
    main_table = benchmark.headline.table if benchmark.headline else None
    metric_names: dict[tuple[str, str], str] = {}
    group_names: dict[str, str] = {}
    decimals: dict[tuple[str, str], int] = {}
    for table in sorted(benchmark.tables, key=lambda table: table.name != main_table):
        key = cast(TableKey, settings[settings_name("tables", benchmark.name, table.name)])
        columns_by_group = Counter(column.group for column in key.spec.columns)
        for column in key.spec.columns:
            if (
                column.group is None or column.model or column.sampling
            ):  # Its header names no group, but a model or a sampling.
                continue
            meaning = key.abbreviations.get(column.title, "")
            name = f"{column_name(column)} ({meaning})" if meaning else column_name(column)
            if columns_by_group[column.group] == 1:  # Titles of several columns of a group name metrics.
                group_names.setdefault(column.group, name)
            metrics = key.spec.list_metrics(column)
            for metric in metrics:
                suffix = f", {metric}" if len(metrics) > 1 else ""
                metric_names.setdefault((metric, column.group), f"{key.spec.title}: {name}{suffix}")
                decimals.setdefault((metric, column.group), column.decimals)
    return TableNames(metric_names, group_names, decimals)
