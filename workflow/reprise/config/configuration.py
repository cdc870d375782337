"""The checked configuration of one suite."""

import re
from dataclasses import dataclass

from reprise.config.benchmark import Benchmark
from reprise.config.figures import Figures
from reprise.config.main import Main
from reprise.config.model import Model
from reprise.config.suite import OverviewLine, Suite
from reprise.config.tables import Overview, Row, Section, Tables, TableSpec
from reprise.core.errors import UserError, reject_unknown
from reprise.core.names import SLUG
from reprise.models.adapters import ADAPTERS
from reprise.models.settings import ImportSettings

EXTERNAL = "config/external.yaml"
LIMITED_NAME = re.compile(rf"({SLUG})-limit([1-9]\d*)")
UNPUBLISHED = "(in no table)"  # Row name that matches no published number.


def split_name(name: str) -> tuple[str, int | None]:
    """Split a name into suite and limit: `demo-limit20` is a sample of suite `demo`."""
    match = LIMITED_NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def limited_suite_name(suite: str, limit: int | None) -> str:
    """Return the name of a suite with a limit, or the suite's own name if the limit is None."""
    return suite if limit is None else f"{suite}-limit{limit}"


@dataclass(frozen=True)
class Configuration:
    """Checked configuration of one suite."""

    name: str  # name of the suite, or of its sample: `<suite>-limit<N>`
    limit: int | None  # maximum number of clusters of each benchmark; None for the whole suite
    main: Main
    suite: Suite
    benchmarks: dict[str, Benchmark]
    tables: dict[str, Tables]
    figures: dict[str, Figures]
    models: dict[str, Model]
    external_models: frozenset[str]  # models of config/external.yaml
    # Model whose file is invalid -> its problems. The suite names none of these models; otherwise, loading it fails.
    invalid_models: dict[str, str]

    @property
    def full_suite_name(self) -> str:
        """Return the name of the suite without a limit."""
        return split_name(self.name)[0] if self.limit else self.name

    @property
    def suite_file(self) -> str:
        """Return the file of the suite."""
        return f"config/suites/{self.full_suite_name}.yaml"

    def require_model(self, slug: str, location: str) -> Model:
        """Return a model, or raise a UserError if it does not exist or if its file is invalid."""
        if slug in self.invalid_models:
            raise UserError(f"{location}: {self.invalid_models[slug]}")
        reject_unknown("model", [slug], self.models, location)
        return self.models[slug]

    def is_import(self, slug: str) -> bool:
        """Return whether a model's predictions are imported."""
        return ADAPTERS[self.models[slug].adapter].is_import

    def model_file(self, slug: str) -> str:
        """Return the file that defines a model."""
        return EXTERNAL if slug in self.external_models else f"config/models/{slug}.yaml"

    def get_import_settings(self, slug: str) -> ImportSettings:
        """Return the import settings of a model."""
        return ImportSettings.model_validate(self.models[slug].settings)

    def get_overview(self, benchmark: str) -> TableSpec | None:
        """Return a benchmark's part of the overview as a table with a row for each line.

        The result is None if the benchmark or the suite has no overview.
        """
        settings, overview = self.benchmarks.get(benchmark), self.tables[benchmark].overview
        lines = self.suite.overview_lines()
        if settings is None or overview is None or not lines:
            return None
        title, columns = settings.get_title(overview.protocol), overview.columns
        # The benchmark's title is above its columns, or in the header of its only column.
        span_columns = [column.model_copy(update={"span": title}) for column in columns]
        prefixed_columns = [column.model_copy(update={"title": f"{title} {column.title}"}) for column in columns]
        return TableSpec(
            title="Overview",
            caption=title,
            columns=prefixed_columns if len(columns) == 1 else span_columns,
            sections=[Section(rows=[self._overview_row(line, benchmark, overview) for line in lines])],
            best=False,  # Rows may differ in protocol and sampling.
            intervals=True,
        )

    def find_overview_row(self, benchmark: str, slug: str) -> Row | None:
        """Return the row that a model would have in the overview, also one without a file; None without an overview."""
        overview = self.tables[benchmark].overview
        return self._overview_row(OverviewLine(model=slug), benchmark, overview) if overview else None

    def _overview_row(self, line: OverviewLine, benchmark: str, overview: Overview) -> Row:
        """Return the row of a line; the row has no model if the line omits the benchmark.

        If the paper's main table has several rows of the model, the one closest to the overview's settings is used.
        """
        label = self.models[line.model].label if line.model in self.models else line.model
        if line.benchmarks is not None and benchmark not in line.benchmarks:
            return Row(label=label, published=UNPUBLISHED)
        sampling, line_protocol = line.samplings.get(benchmark), line.protocols.get(benchmark)
        protocol = line_protocol or self._overview_protocol(line.model, benchmark, overview)
        rows = [
            row
            for row in (self.tables[benchmark].tables[overview.table].rows() if overview.table else ())
            if row.model == line.model
            and row.protocol
            and row.sampling
            and sampling in (None, row.sampling)
            and line_protocol in (None, row.protocol)
        ]
        default_row = Row(
            label=label,
            model=line.model,
            published=UNPUBLISHED,
            protocol=protocol,
            sampling=sampling or overview.sampling,
        )
        closest = max(
            rows,
            key=lambda row: (row.protocol == protocol, row.sampling == overview.sampling),
            default=default_row,
        )
        fields = ("protocol", "sampling", "frames", "published")
        return default_row.model_copy(update={name: getattr(closest, name) for name in fields})

    def _overview_protocol(self, slug: str, benchmark: str, overview: Overview) -> str:
        """Return the protocol of a model that is in no row of the main table: one that its adapter supports."""
        model, alternative = self.models.get(slug), overview.protocol_without_scores
        if model is None or alternative is None or self.is_import(slug):
            return overview.protocol
        supported = ADAPTERS[model.adapter].get_request_types(model.settings)
        protocols = self.benchmarks[benchmark].protocols
        is_supported = {name: protocols[name].request_type in supported for name in (overview.protocol, alternative)}
        return alternative if is_supported[alternative] and not is_supported[overview.protocol] else overview.protocol

    def list_runs(self, benchmark: str) -> set[str]:
        """Return the runs of a benchmark in tables, overview and extra runs, as `<protocol>/<sampling>/<model>`."""
        overview = self.get_overview(benchmark)
        tables = [*self.tables[benchmark].tables.values(), *([overview] if overview else [])]
        run_names = {
            f"{row.protocol}/{row.sampling}/{row.model}"
            for table in tables
            for row in table.cells()
            if row.model and row.protocol and row.sampling and not row.chance and not row.dataset
        }
        return run_names | set(self.suite.benchmarks[benchmark].extra_runs)
