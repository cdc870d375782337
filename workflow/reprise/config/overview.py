"""A benchmark's part of the overview as a table of its own: a row for each model, and the run that the row shows."""

from collections.abc import Mapping, Sequence

from reprise.config.suite import OverviewLine
from reprise.config.tables import Overview, Row, Section, Tables, TableSpec

# No row of the published numbers is called so.
UNPUBLISHED = "(in no table)"


def overview_spec(
    benchmark: str, title: str, tables: Tables, lines: Sequence[OverviewLine], labels: Mapping[str, str]
) -> TableSpec | None:
    """The part, with all lines in their order; none where the benchmark or the suite has no overview."""
    main = tables.overview
    if main is None or not lines:
        return None
    is_alone = len(main.columns) == 1  # then the benchmark's title stands before its own, else above them
    return TableSpec(
        title="Overview",
        caption=title,
        columns=[
            column.model_copy(update={"title": f"{title} {column.title}"} if is_alone else {"span": title})
            for column in main.columns
        ],
        sections=[
            Section(rows=[_row(line, labels.get(line.model, line.model), benchmark, main, tables) for line in lines])
        ],
        best=False,  # rows may be of other questions and frames
        intervals=True,
    )


def _row(line: OverviewLine, label: str, benchmark: str, main: Overview, tables: Tables) -> Row:
    """A line's row; one without a model where the line leaves the benchmark out.

    Of the model's rows in the main table that one counts which is nearest to what all models are asked.
    """
    if line.benchmarks is not None and benchmark not in line.benchmarks:
        return Row(label=label, published=UNPUBLISHED)
    sampling = line.samplings.get(benchmark)
    rows = [
        row
        for row in (tables.tables[main.table].rows() if main.table else ())
        if row.model == line.model and row.protocol and row.sampling and sampling in (None, row.sampling)
    ]
    other = Row(
        label=label,
        model=line.model,
        protocol=main.protocol,
        sampling=sampling or main.sampling,
        published=UNPUBLISHED,
    )
    known = max(rows, key=lambda row: (row.protocol == main.protocol, row.sampling == main.sampling), default=other)
    shown = ("protocol", "sampling", "frames", "published")
    return other.model_copy(update={name: getattr(known, name) for name in shown})
