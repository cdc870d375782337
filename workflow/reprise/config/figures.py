"""`config/figures/<benchmark>.yaml`: the figures of a paper, and those of our own analyses, read off its tables."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reprise.config.names import FigureName, Slug, TableName
from reprise.config.tables import Column, PublishedAs, TableSpec
from reprise.core.settings import Settings, mistake


class FigureColumn(Settings):
    """A number of each row that the table itself does not show."""

    title: str
    """What it is called."""
    group: str
    """Group of items."""
    metric: str | None = None
    """The metric; by default the first of the table."""
    span: str | None = None
    """Its panel, in a figure with several."""
    published: PublishedAs | None = None
    """Its names in the csv of published numbers; without them it has none there."""


class Part(Settings):
    """Rows and columns of one table, whose runs and published values a figure shows."""

    table: TableName
    """The table, of the suite's tables of this benchmark."""
    sections: list[str] = Field([])
    """Titles of its sections, empty for one without; by default all."""
    rows: list[str] = Field([])
    """Labels of its rows; by default all."""
    frames: list[str] = Field([])
    """Only the rows of these printed numbers of frames; by default all."""
    metrics: list[str] = Field([])
    """Only the columns that show one of these metrics; by default all."""
    columns: list[FigureColumn] | None = Field(None, min_length=1)
    """Other columns in place of the table's."""

    def of(self, spec: TableSpec) -> TableSpec:
        """Return the part as a table of its own with one metric per cell."""
        sections = []
        for section in spec.sections:
            rows = [
                row
                for row in section.rows
                if (not self.rows or row.label in self.rows) and (not self.frames or row.frames in self.frames)
            ]
            if rows and (not self.sections or (section.title or "") in self.sections):
                sections.append(section.model_copy(update={"rows": rows}))
        updates = {"sections": sections, "columns": self._columns(spec), "best": False, "notes": [], "intervals": True}
        return spec.model_copy(update=updates)

    def _columns(self, spec: TableSpec) -> list[Column]:
        if self.columns is None:
            pairs = [(column, spec.metrics_of(column)) for column in spec.columns]
            selected = [
                (column, [metric for metric in metrics if not self.metrics or metric in self.metrics])
                for column, metrics in pairs
            ]
            return [column.model_copy(update={"metrics": metrics[:1]}) for column, metrics in selected if metrics]
        return [
            Column(
                title=column.title,
                span=column.span,
                group=column.group,
                metrics=[column.metric] if column.metric else spec.metrics[:1],
                published=column.published,
                decimals=spec.decimals,
            )
            for column in self.columns
        ]


class FigureText(Settings):
    """What is written on a figure, and how large it is."""

    title: str
    """Title of the figure."""
    caption: str
    """What it shows; it goes into the files' descriptions."""
    axis: str = ""
    """Label of the axis of numbers."""
    width: Literal["column", "page"] = "column"
    """How wide it is made to be printed."""
    notes: list[str] = Field([])
    """Sentences below the figure."""


class OfTables(FigureText):
    """A figure of tables' rows and columns."""

    of: list[Part] = Field(min_length=1)
    """The parts, beside each other."""

    def tables(self) -> list[TableName]:
        return [part.table for part in self.of]


class Bars(OfTables):
    """Bars beside each other."""

    kind: Literal["bars"]
    along: Literal["rows", "columns"] = "columns"
    """What the bars stand at: the tables' columns, with a bar for each row, or the other way round."""


class Lines(OfTables):
    """A line for each row, or for each section's rows of different numbers of frames."""

    kind: Literal["lines"]
    along: Literal["frames", "columns"] = "columns"
    """What the numbers stand at: the rows' numbers of frames on a logarithmic axis, or the tables' columns."""


class Radar(OfTables):
    """A closed line for each row, on an axis for each column; a panel for each spanning header."""

    kind: Literal["radar"]
    top: float = Field(gt=0)
    """The number at the rim, which larger numbers move outwards."""


class Scatter(OfTables):
    """A point for each item, by the scores of two of its questions; a panel for each row and column."""

    kind: Literal["scatter"]
    across: str
    """Role of the question whose score is the first coordinate: the caption that is right."""
    up: str
    """Role of the question whose score is the second one: the caption that is wrong."""
    panels: int = Field(4, ge=1)
    """Panels in a line."""
    items: Slug | None = None
    """Only these items of the benchmark, such as `subset`; all where none are named."""


class Marks(Settings):
    """Published numbers that a distribution shows as lines."""

    table: TableName
    """The table that prints them."""
    metric: str
    """The metric."""


class CountedGroup(Settings):
    """A group of items, and what it is called."""

    title: str
    """What it is called."""
    group: str
    """The group."""


class MadeCount(Settings):
    """One of the numbers that the making of a benchmark counts."""

    title: str
    """What it is called."""
    what: str
    """Its name in column `what` of the construction's `statistics.csv`."""


class Distribution(FigureText):
    """How often something occurs in the data: clips by a fact, questions by group, or videos by task."""

    kind: Literal["distribution"]
    fact: Literal["duration_s", "shots", "black_share"] | None = None
    """Counts the clips by what was measured of them."""
    step: float = Field(1, gt=0)
    """How wide a bar is, for a fact."""
    closed: Literal["left", "right"] = "left"
    """Which end belongs to a bar: `right` counts 10 among those above 9 and at most 10."""
    groups: list[CountedGroup] | None = None
    """Counts the questions of these groups."""
    made: list[MadeCount] | None = Field(None, min_length=1)
    """Shows what was counted when the suite made the benchmark (`construction:`), a panel for each number."""
    task: str | None = None
    """Only the items of this task."""
    group: str | None = None
    """Only the items of this group."""
    unit: str = ""
    """What the bars stand at, such as seconds."""
    marks: Marks | None = None
    """Published numbers to show as lines, one for each row."""
    beside: list[CountedGroup] = Field([])
    """The same of these groups instead of `group`, each in a panel beside it, where their data are here."""

    @model_validator(mode="after")
    def _counts_one_thing(self) -> Self:
        named = [name for name in ("made", "groups", "fact") if getattr(self, name) is not None]
        if len(named) > 1:
            raise mistake(f"{named[0]}: found `{named[1]}` too; a figure counts by one of them. Remove one.")
        return self

    def tables(self) -> list[TableName]:
        return [self.marks.table] if self.marks else []


Figure = Annotated[Bars | Lines | Radar | Scatter | Distribution, Field(discriminator="kind")]


class Figures(Settings):
    """`config/figures/<benchmark>.yaml`: the figures of a paper and those of our own analyses, read off its tables."""

    benchmark: Slug
    """The benchmark."""
    figures: dict[FigureName, Figure]
    """The figures by name: `fig<N>`, N as in the paper, or `own_<name>`."""
