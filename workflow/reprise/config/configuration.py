"""Everything that one suite needs, read and checked."""

import re
from dataclasses import dataclass

from reprise.config.benchmark import Benchmark
from reprise.config.figures import Figures
from reprise.config.main import Main
from reprise.config.model import Model
from reprise.config.suite import OverviewLine, Suite
from reprise.config.tables import Overview, Row, Section, Tables, TableSpec
from reprise.core.names import SLUG
from reprise.models.adapters import ADAPTERS
from reprise.models.settings import ImportSettings

EXTERNAL = "config/external.yaml"
LIMITED = re.compile(rf"({SLUG})-limit([1-9]\d*)")
UNPUBLISHED = "(in no table)"  # no row of the published numbers is called so


def split_name(name: str) -> tuple[str, int | None]:
    """The name of a suite, and of how many units of each benchmark: `demo-limit20` is a part of `demo`."""
    found = LIMITED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


def part_name(suite: str, limit: int | None) -> str:
    return suite if limit is None else f"{suite}-limit{limit}"


@dataclass(frozen=True)
class Configuration:
    name: str  # of the suite, or of a part of it: `<suite>-limit<N>`
    limit: int | None  # units of each benchmark that are asked about, where the name says so
    main: Main
    suite: Suite
    benchmarks: dict[str, Benchmark]
    tables: dict[str, Tables]
    figures: dict[str, Figures]
    models: dict[str, Model]
    external: frozenset[str]  # the models of config/external.yaml

    @property
    def whole(self) -> str:
        """The name of the suite, also where this is a part of it."""
        return split_name(self.name)[0] if self.limit else self.name

    @property
    def file(self) -> str:
        return f"config/suites/{self.whole}.yaml"

    def is_import(self, slug: str) -> bool:
        return ADAPTERS[self.models[slug].adapter].is_import

    def file_of(self, slug: str) -> str:
        return EXTERNAL if slug in self.external else f"config/models/{slug}.yaml"

    def imports(self, slug: str) -> ImportSettings:
        return ImportSettings.model_validate(self.models[slug].settings)

    def overview_of(self, benchmark: str) -> TableSpec | None:
        """A benchmark's part of the overview as a table, a row a line; none where it, or the suite, has no overview."""
        settings, main = self.benchmarks.get(benchmark), self.tables[benchmark].overview
        lines = self.suite.overview_lines()
        if settings is None or main is None or not lines:
            return None
        title, columns = settings.title, main.columns
        above = [column.model_copy(update={"span": title}) for column in columns]
        before = [column.model_copy(update={"title": f"{title} {column.title}"}) for column in columns]
        return TableSpec(
            title="Overview",
            caption=title,
            columns=before if len(columns) == 1 else above,
            sections=[Section(rows=[self._overview_row(line, benchmark, main) for line in lines])],
            best=False,  # rows may be of other questions and frames
            intervals=True,
        )

    def _overview_row(self, line: OverviewLine, benchmark: str, main: Overview) -> Row:
        """A line's row; one without a model where the line leaves the benchmark out.

        Of the model's rows in the main table that one counts which is nearest to what all models are asked.
        """
        label = self.models[line.model].label if line.model in self.models else line.model
        if line.benchmarks is not None and benchmark not in line.benchmarks:
            return Row(label=label, published=UNPUBLISHED)
        sampling = line.samplings.get(benchmark)
        rows = [
            row
            for row in (self.tables[benchmark].tables[main.table].rows() if main.table else ())
            if row.model == line.model and row.protocol and row.sampling and sampling in (None, row.sampling)
        ]
        other = Row(
            label=label,
            model=line.model,
            published=UNPUBLISHED,
            protocol=main.protocol,
            sampling=sampling or main.sampling,
        )
        known = max(rows, key=lambda row: (row.protocol == main.protocol, row.sampling == main.sampling), default=other)
        shown = ("protocol", "sampling", "frames", "published")
        return other.model_copy(update={name: getattr(known, name) for name in shown})

    def runs_of(self, benchmark: str) -> set[str]:
        """The runs that tables and overview show of a benchmark, and extra ones: `<protocol>/<sampling>/<model>`."""
        overview = self.overview_of(benchmark)
        tables = [*self.tables[benchmark].tables.values(), *([overview] if overview else [])]
        shown = {
            f"{row.protocol}/{row.sampling}/{row.model}"
            for table in tables
            for row in table.cells()
            if row.model and row.protocol and row.sampling and not row.chance and not row.dataset
        }
        return shown | set(self.suite.benchmarks[benchmark].extra_runs)
