"""For figures.smk: pictures of tables' numbers, of items one by one, and of the data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.config.figures import Distribution, Figure, Scatter
from reprise.core.paths import Scored, figure_file
from reprise.core.settings import Key
from reprise.figures.keys import FigureKey
from reprise.plan.rules import Asked
from reprise.plan.rules.tables import as_text, import_problems, table_key
from reprise.plan.run_keys import LEFT_OUT, RunKeys, parts
from reprise.tables.published import published_file

SHOWN_READER = "robust"
# A figure takes a table's numbers before they are written in any format.
FORMATS = tuple(f"reprise.tables.render.{name}" for name in ("latex*", "html", "markdown"))


class Figures(Asked):
    """What the rules of figures ask. Targets have been checked before."""

    def keys(self, runs: RunKeys) -> Iterator[tuple[Path, Key]]:
        for benchmark, figure, spec in self._plan.figures():
            config, suite = self._plan.config, self._plan.config.suite
            shown = self._plan.figure_parts(benchmark, figure)
            key = FigureKey(
                suite=config.name,
                notice=suite.notice,
                benchmark=benchmark,
                benchmark_title=config.benchmarks[benchmark].title,
                figure=figure,
                spec=spec,
                parts=tuple(table_key(self._plan, runs, benchmark, table, part) for table, part in shown),
                show_published=suite.show_published,
                published_sha256=self._plan.digest_of(published_file(benchmark) if suite.show_published else None),
            )
            coded = runs.coded("figure", key, *parts(benchmark, "scores"), left_out=(*LEFT_OUT, *FORMATS))
            yield self._results.key("figures", benchmark, figure), coded

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
        return import_problems(self._plan, self._scored(wildcards))

    def published(self, wildcards: Any) -> list[Path]:
        """The paper's own numbers, where the suite shows them."""
        return [published_file(wildcards.benchmark)] if self._plan.config.suite.show_published else []

    def statistics(self, wildcards: Any) -> list[Path]:
        """Numbers of the data, for a figure that shows them where the data can be had."""
        shown = self._plan.figure_parts(wildcards.benchmark, wildcards.figure)
        is_needed = any(self._plan.shows_data(wildcards.benchmark, spec) for _, spec in shown)
        return [self._results.statistics(wildcards.benchmark)] if is_needed else []

    def verdicts(self, wildcards: Any) -> list[Path]:
        """The verdicts behind a figure that shows items one by one."""
        shown = self._scored(wildcards) if isinstance(self._spec(wildcards), Scatter) else []
        return [self._results.verdicts(one.run, one.judge or SHOWN_READER) for one in shown]

    def items(self, wildcards: Any) -> list[Path]:
        """The items of such a figure, or of one that counts them, where the data can be had."""
        spec, benchmark = self._spec(wildcards), wildcards.benchmark
        is_counted = isinstance(spec, Distribution) and spec.made is None and self._plan.has_data(benchmark)
        is_shown = isinstance(spec, Scatter) and self._scored(wildcards)
        return [self._results.items(benchmark)] if is_counted or is_shown else []

    def facts(self, wildcards: Any) -> list[Path]:
        """Facts of the videos, for a figure that shows them where videos are fetched."""
        spec, benchmark = self._spec(wildcards), wildcards.benchmark
        is_needed = isinstance(spec, Distribution) and spec.fact is not None
        return [self._results.facts(benchmark)] if is_needed and benchmark in self._plan.data_benchmarks else []

    def made(self, wildcards: Any) -> list[Path]:
        """What the making of the benchmark counted, for a figure that shows it where the benchmark is made."""
        spec, benchmark = self._spec(wildcards), wildcards.benchmark
        is_made = self._plan.config.suite.benchmarks[benchmark].construction is not None
        counted = self._results.construction(benchmark, "statistics.parquet")
        return [counted] if isinstance(spec, Distribution) and spec.made is not None and is_made else []

    def _spec(self, wildcards: Any) -> Figure:
        return self._plan.figure(wildcards.benchmark, wildcards.figure)

    def _scored(self, wildcards: Any) -> list[Scored]:
        return self._plan.table_scored(wildcards.benchmark, wildcards.figure)

    # What `snakemake --report` says of them

    def category(self, wildcards: Any) -> str:
        return self._plan.config.benchmarks[wildcards.benchmark].title

    def caption(self, wildcards: Any) -> str:
        spec = self._spec(wildcards)
        return as_text(f"{self._plan.config.suite.notice} {spec.title}. {spec.caption}")

    def labels(self, wildcards: Any) -> dict[str, str]:
        number = wildcards.figure.removeprefix("fig")
        what = f"Figure {number}" if number.isdecimal() else "Our analysis"
        return {"what": what, "title": self._spec(wildcards).title}
