"""`config/figures/<benchmark>.yaml`: the figures of a paper and of our own analyses, drawn from its tables."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from reprise.config.names import FigureName, Slug, TableName
from reprise.config.tables import Column, PublishedAs, TableSpec
from reprise.core.settings import Settings, setting_error

Venue = Literal[
    "neurips",
    "iclr",
    "cvpr",
    "cvpr-column",
    "cvpr-page",
    "icml",
    "icml-column",
    "icml-page",
    "acl",
    "acl-column",
    "acl-page",
]
# Venue -> width of a column and of the text in inches, from the venue's LaTeX style.
VENUE_WIDTHS = {
    "neurips": (5.5, 5.5), "iclr": (5.5, 5.5), "cvpr": (3.25, 6.875), "icml": (3.25, 6.75), "acl": (3.03, 6.3),
}  # fmt: skip
PrintedWidth = Literal["column", "page"]


def _get_width_tag(entry: Any) -> str:
    """Return the tag of the value of `figure_width:`: a number, or the name of a venue."""
    return "(number)" if isinstance(entry, int | float) else "(text)"


FigureWidth = Annotated[
    Annotated[Venue, Tag("(text)")] | Annotated[float, Field(ge=2, le=10), Tag("(number)")],
    Discriminator(_get_width_tag),
]


def compute_width(figure_width: FigureWidth, printed_width: PrintedWidth) -> float:
    """Return the width in inches of a figure that is printed over a column or over the page."""
    if not isinstance(figure_width, str):
        return figure_width
    venue, _, override = figure_width.partition("-")
    column, page = VENUE_WIDTHS[venue]
    return column if (override or printed_width) == "column" else page


class FigureColumn(Settings):
    """A column that the table itself does not show."""

    title: str
    """Column label."""
    group: str
    """Group of items."""
    metric: str | None = None
    """The metric; by default the first of the table."""
    span: str | None = None
    """Panel of the column, in a figure with several panels."""
    published: PublishedAs | None = None
    """Where the column is in the csv file of published numbers; by default it has no published numbers."""


class Part(Settings):
    """Rows and columns of one table, whose measured and published values a figure shows."""

    table: TableName
    """Table of the suite for this benchmark."""
    sections: list[str] = Field([])
    """Titles of sections, `""` for a section without a title; by default all."""
    rows: list[str] = Field([])
    """Labels of rows; by default all."""
    frames: list[str] = Field([])
    """Numbers of frames of the rows to show, as the paper prints them; by default all."""
    metrics: list[str] = Field([])
    """Metrics of the columns; by default all."""
    columns: list[FigureColumn] | None = Field(None, min_length=1)
    """Columns to show instead of the table's."""

    def select(self, spec: TableSpec) -> TableSpec:
        """Return the selected rows and columns as a separate table with one metric per cell."""
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
        """Return the columns to show: those of the table with a selected metric, or the part's `columns`."""
        if self.columns is None:
            selected_columns = []
            for column in spec.columns:
                metrics = [metric for metric in spec.list_metrics(column) if not self.metrics or metric in self.metrics]
                if metrics:
                    selected_columns.append(column.model_copy(update={"metrics": metrics[:1]}))
            return selected_columns
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
    """Title, caption and size of a figure."""

    title: str
    """Figure title."""
    caption: str
    """Caption; it is also the description in the files' metadata."""
    axis: str = ""
    """Label of the value axis."""
    width: PrintedWidth = "column"
    """Printed width: over one column or over the page. `figure_width:` of the suite states both in inches."""
    notes: list[str] = Field([])
    """Sentences for the footnotes."""


class TableFigure(FigureText):
    """A figure of the rows and columns of tables."""

    of: list[Part] = Field(min_length=1)
    """Parts, drawn side by side."""

    def tables(self) -> list[TableName]:
        return [part.table for part in self.of]


class Points(TableFigure):
    """Points with intervals. If the rows or columns on the axis are models, there is a panel for each other label."""

    kind: Literal["points"]
    along: Literal["rows", "columns"] = "columns"
    """Labels on the axis: the columns of the tables, with a point for each row, or the reverse."""


class Lines(TableFigure):
    """A line for each row, or with `along: frames` for each section, whose rows differ in their number of frames."""

    kind: Literal["lines"]
    along: Literal["frames", "columns"] = "columns"
    """Horizontal axis: the rows' numbers of frames (logarithmic), or the tables' columns, which must have an order,
    such as ranges of durations."""


class Scatter(TableFigure):
    """A point for each item, by the scores of two of its requests, with a panel for each row and column."""

    kind: Literal["scatter"]
    across: str
    """Role of the request on the horizontal axis, such as that of the correct caption."""
    up: str
    """Role of the request on the vertical axis, such as that of the incorrect caption."""
    panels: int = Field(4, ge=1)
    """Panels per line, if the figure is wide enough; more of them if it is too high for a page."""
    items: Slug | None = None
    """Group of items to show, such as `subset`; by default all items."""


class Marks(Settings):
    """Published values that a distribution shows as lines."""

    table: TableName
    """Table with the values."""
    metric: str
    """The metric."""


class CountedGroup(Settings):
    """A group of items and its label."""

    title: str
    """Label."""
    group: str
    """The group."""


class ConstructionCount(Settings):
    """A statistic of a benchmark's construction."""

    title: str
    """Label."""
    statistic: str
    """Name of the statistic in column `statistic` of the construction's `statistics.csv`."""


class Distribution(FigureText):
    """Bars that count something. By default, these are clips by task; the keys select other counts."""

    kind: Literal["distribution"]
    measurement: Literal["duration_s", "shots", "black_share"] | None = None
    """Count the clips by this measurement."""
    step: float = Field(1, gt=0)
    """Bin width of the measurement."""
    closed: Literal["left", "right"] = "left"
    """Closed end of each bin: with `right`, 10 counts in the bin (9, 10]."""
    groups: list[CountedGroup] | None = None
    """Count the items of these groups."""
    construction_statistics: list[ConstructionCount] | None = Field(None, min_length=1)
    """Show these statistics of the benchmark's construction, one in each panel."""
    task: str | None = None
    """Count items of this task only."""
    group: str | None = None
    """Count items of this group only."""
    unit: str = ""
    """Unit of the horizontal axis, such as seconds."""
    marks: Marks | None = None
    """Published values to show as lines, one for each row."""
    extra_panels: list[CountedGroup] = Field([])
    """Groups to show in further panels, if their data are available."""

    @model_validator(mode="after")
    def _check_single_count(self) -> Self:
        counts = [
            name for name in ("construction_statistics", "groups", "measurement") if getattr(self, name) is not None
        ]
        if len(counts) > 1:
            raise setting_error(f"{counts[0]}: conflicts with `{counts[1]}`; a figure counts one of them. Remove one.")
        return self

    def tables(self) -> list[TableName]:
        return [self.marks.table] if self.marks else []


Figure = Annotated[Points | Lines | Scatter | Distribution, Field(discriminator="kind")]


class Figures(Settings):
    """`config/figures/<benchmark>.yaml`: the figures of a paper and of our own analyses, drawn from its tables."""

    benchmark: Slug
    """The benchmark."""
    figures: dict[FigureName, Figure]
    """Figures by name: `fig<N>` with N as in the paper, or `own_<name>`."""
