"""A benchmark's part of the overview as a table of its own: a row for each model, and the run that the row shows."""

from collections.abc import Mapping, Sequence

from reprise.config.suite import OverviewLine
from reprise.config.tables import Column, Overview, Row, Section, Tables, TableSpec

# No row of the published numbers is called so.
UNPUBLISHED = "(in no table)"


def overview_spec(
    benchmark: str, title: str, tables: Tables, lines: Sequence[OverviewLine], labels: Mapping[str, str]
) -> TableSpec | None:
    """The part, with all lines in their order; none where the benchmark or the suite has no overview."""
    main = tables.overview
    if main is None or not lines:
        return None
    rows = [_row(line, labels.get(line.model, line.model), benchmark, main, tables) for line in lines]
    return TableSpec(
        title="Overview",
        caption=title,
        columns=[_headed(column, title, is_alone=len(main.columns) == 1) for column in main.columns],
        sections=[Section(rows=rows)],
        best=False,  # rows may be of other questions and frames
        intervals=True,
    )


def _headed(column: Column, title: str, *, is_alone: bool) -> Column:
    """A column with the benchmark's title, above it or, where it stands alone, before its own."""
    return column.model_copy(update={"title": f"{title} {column.title}"} if is_alone else {"span": title})


def _row(line: OverviewLine, label: str, benchmark: str, main: Overview, tables: Tables) -> Row:
    """A line's row; one without a model where the line leaves the benchmark out."""
    if line.benchmarks is not None and benchmark not in line.benchmarks:
        return Row(label=label, published=UNPUBLISHED)
    wanted = line.samplings.get(benchmark)
    known = _known_row(line.model, wanted, main, tables)
    if known is None:
        sampling = wanted or main.sampling
        return Row(label=label, model=line.model, protocol=main.protocol, sampling=sampling, published=UNPUBLISHED)
    return Row(
        label=label,
        model=line.model,
        protocol=known.protocol,
        sampling=known.sampling,
        frames=known.frames,
        published=known.published,
    )


def _known_row(model: str, sampling: str | None, main: Overview, tables: Tables) -> Row | None:
    """The model's row of the main table, of several the one that is nearest to what all models are asked."""
    rows = [
        row
        for row in tables.tables[main.table].rows()
        if row.model == model and row.protocol and row.sampling and sampling in (None, row.sampling)
    ]
    return max(rows, key=lambda row: (row.protocol == main.protocol, row.sampling == main.sampling), default=None)
