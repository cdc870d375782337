"""`config/tables/<benchmark>.yaml`: the rows (runs) and columns (metrics) of a paper's tables."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from reprise.config.names import Slug, TableName
from reprise.core.settings import Settings, setting_error


class PublishedAs(Settings):
    """Names of a column in the csv file of published numbers, if they differ from the row's settings."""

    row: str | None = None
    """Row in the csv file."""
    frames: str | None = None
    """Number of frames in the csv file."""
    group: str | None = None
    """Group in the csv file."""
    values_in_text: dict[str, float] = Field({})
    """Published values that only the text of the paper contains, by row of the csv file."""


class Ratio(Settings):
    """A metric of a run as a percentage of the same metric under another sampling."""

    metric: str
    """The metric."""
    over: Slug
    """Sampling of the run in the denominator."""


class Column(Settings):
    """One or several metrics of a group of items, or the rows' numbers of frames."""

    title: str
    """Column header."""
    span: str | None = None
    """Header that spans this column and its neighbours with the same `span`."""
    shows: Literal["metrics", "frames"] = "metrics"
    """`frames` prints the rows' `frames` instead of a metric."""
    metrics: list[str] | None = None
    """Metrics of a cell; by default those of the table."""
    group: str | None = None
    """Group of items; a row's `group` takes precedence."""
    model: Slug | None = None
    """Overrides the row's model."""
    protocol: Slug | None = None
    """Overrides the row's protocol."""
    sampling: Slug | None = None
    """Overrides the row's sampling."""
    ratio: Ratio | None = None
    """Show a metric as a percentage of its value under another sampling."""
    published: PublishedAs | None = PublishedAs()
    """Names in the csv file of published numbers; `null` if the paper has no such column."""
    decimals: int = Field(1, ge=0, le=4)
    """Decimals; by default those of the table."""
    signed: bool = False
    """Print a plus sign before positive values."""
    best: Literal["highest", "lowest", "nearest_zero"] = "highest"
    """Which value is best: use `lowest` for errors and `nearest_zero` for biases."""


class RowSettings(Settings):
    """Settings of a row; a section can set them for all its rows."""

    model: Slug | None = None
    """Name of the model. A row without a model shows published numbers only."""
    protocol: Slug | None = None
    """Protocol of the benchmark."""
    sampling: Slug | None = None
    """Sampling of `config/config.yaml`."""
    dataset: bool = False
    """Show statistics of the data instead of a model's scores."""
    group: str | None = None
    """Group of items; overrides the columns' groups."""
    frames: str | None = None
    """Number of frames as the paper prints it; also selects the row in the csv file of published numbers."""
    published: str | None = None
    """Label in the csv file of published numbers; by default `label`."""


class Row(RowSettings):
    """One row: a run (`model`), random guessing (`chance`), the data (`dataset`), or published numbers only."""

    label: str
    """Row label."""
    chance: bool = False
    """Show the score of random guessing."""
    judges: list[Slug] = Field([])
    """Judges in order of preference, instead of those of the suite."""
    wording: Slug | None = None
    """Variant of the columns' protocols: with `letter`, a column with protocol `mmbench` shows protocol
    `mmbench.letter`."""

    def for_column(self, column: Column) -> "Row":
        """Return the row with the overrides of a column."""
        protocol = f"{column.protocol}.{self.wording}" if column.protocol and self.wording else column.protocol
        overrides = {"model": column.model, "protocol": protocol, "sampling": column.sampling}
        changed_fields = {name: value for name, value in overrides.items() if value is not None}
        return self.model_copy(update=changed_fields) if changed_fields else self


class Section(RowSettings):
    """Rows under a title. Its settings are the defaults of its rows."""

    title: str | None = None
    """Title above the rows."""
    published_suffix: str = ""
    """Suffix of each row's label in the csv file of published numbers."""
    best: bool = True
    """Include these rows when the best value is marked."""
    rows: list[Row] = Field(min_length=1)
    """Rows of the section."""

    def resolve(self) -> list[Row]:
        """Return the rows with the section's settings as defaults."""
        section_settings = {name: getattr(self, name) for name in RowSettings.model_fields}
        rows = []
        for row in self.rows:
            # A row leaves a field to its section if the field is None, or False for `dataset`.
            defaults = {name: value for name, value in section_settings.items() if getattr(row, name) in (None, False)}
            published = row.published or self.published or f"{row.label}{self.published_suffix}"
            rows.append(row.model_copy(update=defaults | {"published": published}))
        return rows


class TableSpec(Settings):
    """One table of the paper."""

    title: str
    """Table title."""
    caption: str
    """Text below the title."""
    stub: str | None = None
    """Header of the first column, which has the row labels; by default `Model`, `Judge` or `Data set`."""
    metrics: list[str] = Field([])
    """Default metrics of the columns."""
    decimals: int = Field(1, ge=0, le=4)
    """Default decimals of the columns."""
    columns: list[Column] = Field(min_length=1)
    """Columns of the table."""
    sections: list[Section] = Field(min_length=1)
    """Sections of rows."""
    judge: str | None = None
    """Judge that the paper used; the caption names it."""
    notes: list[str] = Field([])
    """Sentences for the footnotes."""
    best: bool = True
    """Mark the best value of each column."""
    significance: bool = False
    """Mark values above chance."""
    is_damaged: bool = False
    """Whether numbers were lost when the paper's text was extracted from its PDF. The footnotes then say that an
    empty cell may have a number in the paper."""
    bold: Literal["best", "significant"] = "best"
    """Values in bold: the best ones, or those above chance."""
    compared_with: str | None = None
    """Group of items. Mark values that differ significantly from the same run's value for this group."""
    intervals: bool = False
    """Print the interval of each measured value."""

    @model_validator(mode="before")
    @classmethod
    def _apply_default_decimals(cls, content: Any) -> Any:
        """Apply the table's decimals to the columns without their own."""
        if not isinstance(content, dict) or "decimals" not in content or not isinstance(content.get("columns"), list):
            return content
        defaults = {"decimals": content["decimals"]}
        columns = [defaults | column if isinstance(column, dict) else column for column in content["columns"]]
        return content | {"columns": columns}

    def rows(self) -> list[Row]:
        """Return all rows with the settings of their sections."""
        return [row for section in self.sections for row in section.resolve()]

    def cells(self) -> list[Row]:
        """Return each row with the overrides of each column, once for each distinct run.

        The column of a ratio also adds the run of its denominator.
        """
        denominators = [
            column.model_copy(update={"sampling": column.ratio.over}) for column in self.columns if column.ratio
        ]
        columns_by_overrides = {
            (column.model, column.protocol, column.sampling): column for column in (*self.columns, *denominators)
        }
        return [row.for_column(column) for row in self.rows() for column in columns_by_overrides.values()]

    def list_metrics(self, column: Column) -> list[str]:
        """Return the metrics that a column shows."""
        return (column.metrics or self.metrics) if column.shows == "metrics" else []


class Overview(Settings):
    """A benchmark's part of the overview: its main metrics and their runs."""

    table: TableName | None = None
    """The paper's main table. For models of this table, the overview shows the table's row. If a model has several
    rows, it shows the row whose protocol and sampling are most like `protocol` and `sampling` here."""
    protocol: Slug
    """Protocol of all other models."""
    protocol_without_scores: Slug | None = None
    """Protocol of models without likelihoods, such as those behind a plain server, if `protocol` requests scores."""
    sampling: Slug
    """Sampling of all other models."""
    columns: list[Column] = Field(min_length=1)
    """The benchmark's columns in the overview. Temporal profiles use the metric of the last column."""


class Tables(Settings):
    """`config/tables/<benchmark>.yaml`: the rows (runs) and columns (metrics) of a paper's tables."""

    benchmark: Slug
    """The benchmark."""
    overview: Overview | None = None
    """This benchmark's columns in the overview table."""
    abbreviations: dict[str, str] = Field({})
    """Abbreviations in the tables, with their meanings."""
    tables: dict[TableName, TableSpec] = Field({})
    """Tables by name: `table<N>` with N as in the paper."""

    @model_validator(mode="after")
    def _check_main_table(self) -> Self:
        if self.overview is not None and self.overview.table not in (None, *self.tables):
            raise setting_error(f"overview.table: no {self.overview.table} here. There are: {', '.join(self.tables)}.")
        return self
