"""`config/tables/<benchmark>.yaml`: the rows (runs) and columns (metrics) of a paper's tables."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from reprise.config.names import Slug, TableName
from reprise.core.settings import Settings, mistake


class PublishedAs(Settings):
    """A column's names in the csv of published numbers, if they differ from the rows' settings."""

    row: str | None = None
    """Its row."""
    frames: str | None = None
    """Its number of frames."""
    group: str | None = None
    """Its group."""
    stated: dict[str, float] = Field({})
    """Row of the csv -> its number, where the paper's text states it and no table prints it."""


class Ratio(Settings):
    """A metric of a row's run, in percent of the same metric with frames of another sampling."""

    metric: str
    """The metric."""
    over: Slug
    """The sampling of the run in the denominator."""


class Column(Settings):
    """One metric, or several joined in a cell, of one group of items; or the rows' numbers of frames."""

    title: str
    """Header of the column."""
    span: str | None = None
    """Header above this column and its neighbours with the same one."""
    shows: Literal["metrics", "frames"] = "metrics"
    """`frames` prints the rows' `frames` in place of a metric."""
    metrics: list[str] | None = None
    """The metrics of a cell; by default the table's."""
    group: str | None = None
    """Group of items. A row's own group replaces it."""
    model: Slug | None = None
    """Replaces the rows' model."""
    protocol: Slug | None = None
    """Replaces the rows' protocol."""
    sampling: Slug | None = None
    """Replaces the rows' sampling."""
    ratio: Ratio | None = None
    """Divide by the same run with another sampling."""
    published: PublishedAs | None = PublishedAs()
    """The column's names in the csv of published numbers; `null` where the paper has no such column."""
    decimals: int = Field(1, ge=0, le=4)
    """Decimals to print; by default the table's."""
    signed: bool = False
    """Print a plus sign."""
    best: Literal["highest", "lowest", "nearest_zero"] = "highest"
    """Which value is the best: the highest, the lowest (of an error), or the one nearest to zero (of a bias)."""


class RowSettings(Settings):
    """Settings of a row; a section can set them for all its rows."""

    model: Slug | None = None
    """Slug of the model. A row without one shows published numbers only."""
    protocol: Slug | None = None
    """What the model is asked: a protocol of the benchmark."""
    sampling: Slug | None = None
    """Which frames it is shown: a sampling of `config/config.yaml`."""
    dataset: bool = False
    """Show numbers of the data themselves."""
    group: str | None = None
    """Group of items, in place of the columns' groups."""
    frames: str | None = None
    """Number of frames as the paper prints it; finds the row in the csv of published numbers."""
    published: str | None = None
    """Label in the csv of published numbers, if it is not the row's label."""


class Row(RowSettings):
    """One row: a run (`model`), a random guesser (`chance`), the data (`dataset`), or published numbers only."""

    label: str
    """Label in front of the row."""
    chance: bool = False
    """Show the score of random guessing."""
    judges: list[Slug] = Field([])
    """Show the ratings of the first of these judges who rated the run, in place of the suite's."""
    wording: Slug | None = None
    """Variant of the protocols that columns name: `letter` asks `mmbench.letter` in a column of `mmbench`."""

    def in_column(self, column: Column) -> "Row":
        """Return the row with the settings that a column overrides."""
        protocol = f"{column.protocol}.{self.wording}" if column.protocol and self.wording else column.protocol
        overrides = {"model": column.model, "protocol": protocol, "sampling": column.sampling}
        changes = {name: value for name, value in overrides.items() if value is not None}
        return self.model_copy(update=changes) if changes else self


class Section(RowSettings):
    """Rows under a title. A section's settings apply to all its rows that do not set their own."""

    title: str | None = None
    """Title above the rows."""
    published_suffix: str = ""
    """Follows each row's label in the csv of published numbers."""
    best: bool = True
    """Mark the best of these rows, in a table that marks any."""
    rows: list[Row] = Field(min_length=1)
    """The rows."""

    def resolved(self) -> list[Row]:
        """Return the rows with the section's settings as defaults."""
        shared = {name: getattr(self, name) for name in RowSettings.model_fields}
        return [
            row.model_copy(
                update={name: value for name, value in shared.items() if getattr(row, name) in (None, False)}
                | {"published": row.published or self.published or f"{row.label}{self.published_suffix}"}
            )
            for row in self.rows
        ]


class TableSpec(Settings):
    """One table of the paper."""

    title: str
    """Title of the table."""
    caption: str
    """Text below the title."""
    stub: str | None = None
    """Header of the row labels; by default `Model`, `Judge` above rows of judges, `Data set` above rows of data."""
    metrics: list[str] = Field([])
    """The metrics of columns that name none."""
    decimals: int = Field(1, ge=0, le=4)
    """Decimals of columns that name none."""
    columns: list[Column] = Field(min_length=1)
    """The columns."""
    sections: list[Section] = Field(min_length=1)
    """The rows, by section."""
    judge: str | None = None
    """The judge of the paper's numbers, which the caption names if it shows some, beside the judge of ours."""
    notes: list[str] = Field([])
    """Sentences below the table."""
    best: bool = True
    """Mark the best value of each column."""
    significance: bool = False
    """Mark what is above chance."""
    is_damaged: bool = False
    """Whether numbers of the paper's table are lost in its text: an empty cell then says that its number may be one."""
    bold: Literal["best", "significant"] = "best"
    """What is printed in bold: the best values, or those above chance."""
    compared_with: str | None = None
    """Group of items: mark what is above or below the same run's number of this group."""
    intervals: bool = False
    """Print the interval of every number that is measured here."""

    @model_validator(mode="before")
    @classmethod
    def _columns_take_decimals(cls, content: Any) -> Any:
        """Apply the table's decimals to the columns that set none."""
        if not isinstance(content, dict) or "decimals" not in content or not isinstance(content.get("columns"), list):
            return content
        defaults = {"decimals": content["decimals"]}
        columns = [defaults | column if isinstance(column, dict) else column for column in content["columns"]]
        return content | {"columns": columns}

    def rows(self) -> list[Row]:
        """Return all rows with the settings of their sections."""
        return [row for section in self.sections for row in section.resolved()]

    def cells(self) -> list[Row]:
        """Return each row as its columns show it, once for each distinct run.

        A ratio adds the run of its denominator.
        """
        denominators = [c.model_copy(update={"sampling": c.ratio.over}) for c in self.columns if c.ratio]
        distinct_columns = {(c.model, c.protocol, c.sampling): c for c in (*self.columns, *denominators)}.values()
        return [row.in_column(column) for row in self.rows() for column in distinct_columns]

    def metrics_of(self, column: Column) -> list[str]:
        """Return the metrics that a column shows."""
        return (column.metrics or self.metrics) if column.shows == "metrics" else []


class Overview(Settings):
    """A benchmark's part of the overview: its main numbers, and of which runs they are."""

    table: TableName | None = None
    """The paper's main table. A model that is in it is asked as there, and shows that row's published values where it
    does not run; of several rows the one counts that is nearest to `protocol` and `sampling`. Without one all models
    are asked alike."""
    protocol: Slug
    """What every other model is asked."""
    sampling: Slug
    """Which frames every other model is shown."""
    columns: list[Column] = Field(min_length=1)
    """The main numbers; each names its metrics. A card of time compares the last one."""


class Tables(Settings):
    """`config/tables/<benchmark>.yaml`: the rows (runs) and columns (metrics) of a paper's tables."""

    benchmark: Slug
    """The benchmark."""
    overview: Overview | None = None
    """Its part of the overview of models; without one the benchmark is not in it."""
    abbreviations: dict[str, str] = Field({})
    """What abbreviations in headers and labels mean; a table explains those that it has."""
    tables: dict[TableName, TableSpec] = Field({})
    """The tables by name: `table<N>`, N as in the paper."""

    @model_validator(mode="after")
    def _main_table_exists(self) -> Self:
        if self.overview is not None and self.overview.table not in (None, *self.tables):
            raise mistake(f"overview.table: no {self.overview.table} here. There are: {', '.join(self.tables)}.")
        return self
