"""What the rule of figures calls: wildcards go in, paths come out. Targets have been checked before."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from reprise.config.figures import Distribution, Scatter
from reprise.config.tables import TableSpec
from reprise.core.paths import Scored, figure_file
from reprise.plan.runs import Plan

SHOWN_READER = "robust"


class Data(Protocol):
    """What is known of the data, and of imported files."""

    def shows_data(self, benchmark: str, spec: TableSpec) -> bool: ...
    def has_data(self, benchmark: str) -> bool: ...
    def import_problems(self, scored: Sequence[Scored]) -> list[Path]: ...


class Figured:
    """The inputs of figures."""

    def __init__(self, plan: Plan, data: Data) -> None:
        self._plan, self._data, self._results = plan, data, plan.results

    def every(self, kind: str = "png") -> list[Path]:
        """Every figure of the suite, as a picture of a format."""
        return [figure_file(benchmark, figure, kind) for benchmark, figure, _ in self._plan.figures()]

    def every_key(self) -> list[Path]:
        """The keys of these, which hold their captions."""
        return [self._results.key("figures", benchmark, figure) for benchmark, figure, _ in self._plan.figures()]

    def metrics(self, wildcards: Any) -> list[Path]:
        """The metrics of the runs behind a figure that this site can make."""
        return [self._results.metrics(one) for one in self._scored(wildcards)]

    def problems(self, wildcards: Any) -> list[Path]:
        """What is wrong with the imported files behind a figure."""
        return self._data.import_problems(self._scored(wildcards))

    def statistics(self, wildcards: Any) -> list[Path]:
        """Numbers of the data, for a figure that shows them where the data can be had."""
        parts = self._plan.figure_parts(wildcards.benchmark, wildcards.figure)
        is_needed = any(self._data.shows_data(wildcards.benchmark, spec) for _, spec in parts)
        return [self._results.statistics(wildcards.benchmark)] if is_needed else []

    def verdicts(self, wildcards: Any) -> list[Path]:
        """The verdicts behind a figure that shows items one by one."""
        shown = self._scored(wildcards) if self._shows_items(wildcards) else []
        return [self._results.verdicts(one.run, one.judge or SHOWN_READER) for one in shown]

    def items(self, wildcards: Any) -> list[Path]:
        """The items of such a figure, or of one that counts them, where the data can be had."""
        benchmark, figure = wildcards.benchmark, wildcards.figure
        spec = self._plan.figure(benchmark, figure)
        is_counted = isinstance(spec, Distribution) and spec.made is None and self._data.has_data(benchmark)
        is_shown = self._shows_items(wildcards) and self._scored(wildcards)
        return [self._results.items(benchmark)] if is_counted or is_shown else []

    def facts(self, wildcards: Any) -> list[Path]:
        """Facts of the videos, for a figure that shows them where videos are fetched."""
        spec, benchmark = self._plan.figure(wildcards.benchmark, wildcards.figure), wildcards.benchmark
        is_needed = isinstance(spec, Distribution) and spec.fact is not None
        return [self._results.facts(benchmark)] if is_needed and benchmark in self._plan.data_benchmarks() else []

    def made(self, wildcards: Any) -> list[Path]:
        """What the making of the benchmark counted, for a figure that shows it where the benchmark is made."""
        spec = self._plan.figure(wildcards.benchmark, wildcards.figure)
        is_made = self._plan.config.suite.benchmarks[wildcards.benchmark].construction is not None
        counted = self._results.construction(wildcards.benchmark, "statistics.parquet")
        return [counted] if isinstance(spec, Distribution) and spec.made is not None and is_made else []

    def _shows_items(self, wildcards: Any) -> bool:
        return isinstance(self._plan.figure(wildcards.benchmark, wildcards.figure), Scatter)

    def _scored(self, wildcards: Any) -> list[Scored]:
        return self._plan.figure_scored(wildcards.benchmark, wildcards.figure)
