"""Present a temporal profile's numbers as tables and as tidy rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from reprise.tables.render.table import Cell, Column, ColumnGroup, Number, Section, Table, TableRow, Text, format_value
from reprise.timecard.card import ORDER, PART_TITLES, PLANNED, VIEW_TITLES, Card, CardBenchmark
from reprise.timecard.card import Number as Measured

TIDY = pl.Schema(
    {
        "suite": pl.String,
        "model": pl.String,
        "benchmark": pl.String,
        "protocol": pl.String,
        "sampling": pl.String,
        "metric": pl.String,
        "kind": pl.String,  # score | change | part | chance | published | missing
        "name": pl.String,  # name of the view or the part
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "lost": pl.Int64,
        "gained": pl.Int64,
        "samples": pl.Int64,
        "clusters": pl.Int64,
        "best": pl.Float64,
        "run": pl.String,
        "note": pl.String,
    }
)
MIN_PRINTED_P = 0.0001


def tidy(cards: Sequence[Card]) -> pl.DataFrame:
    """Return every number of the cards as one row each; rows of kind `missing` say why a view was not run."""
    return pl.DataFrame([row for card in cards for row in _rows(card)], schema=TIDY)


def _rows(card: Card) -> Iterator[dict[str, Any]]:
    for benchmark in card.benchmarks:
        common = {
            "suite": card.suite, "model": card.model, "benchmark": benchmark.name, "protocol": benchmark.protocol,
            "sampling": benchmark.sampling, "metric": benchmark.score, "samples": benchmark.samples,
            "clusters": benchmark.clusters, "best": benchmark.best,
        }  # fmt: skip
        for view in benchmark.views:
            yield common | {"kind": "score", "name": view.view, "run": view.run} | view.score.model_dump()
            if view.change:
                yield common | {"kind": "change", "name": view.view, "run": view.run} | view.change.model_dump()
        for part in benchmark.parts:
            yield common | {"kind": "part", "name": part.name, "p": part.p} | part.number.model_dump()
        if benchmark.chance is not None:
            yield common | {"kind": "chance", "value": benchmark.chance}
        for result in benchmark.published:
            yield common | {"kind": "published", "name": result.view, "value": result.value, "note": result.source}
        for view_name, reason in benchmark.missing.items():
            yield common | {"kind": "missing", "name": view_name, "note": reason}


def parts_table(cards: Sequence[Card], title: str, label: str, stub: str) -> Table:
    """Return the parts of every score as a table.

    A single model gets one row per benchmark; several models get one section per benchmark with one row per model.
    """
    pairs = [(card, benchmark) for card in cards for benchmark in card.benchmarks]
    titles = {part.name: part.title for _, benchmark in pairs for part in benchmark.parts}
    names = [*(name for name in PART_TITLES if name in titles), *(name for name in titles if name not in PART_TITLES)]
    headings = ["Score", *(titles[name][:1].upper() + titles[name][1:] for name in names), "Chance"]
    if len(cards) == 1:
        sections = [Section(tuple(_parts_row(benchmark.title, benchmark, names) for _, benchmark in pairs))]
    else:
        sections = [
            Section(
                tuple(_parts_row(card.title, benchmark, names) for card, benchmark in pairs if benchmark.name == name),
                heading,
            )
            for name, heading in dict.fromkeys((benchmark.name, benchmark.title) for _, benchmark in pairs)
        ]
    level = cards[0].level if cards else 0.95
    return Table(
        title=title,
        caption="What a score is made of: words alone, one frame, more frames in any order, their order in time. "
        f"The parts add up to the score; {100 * level:g} % intervals.",
        label=label,
        stub=stub,
        groups=(ColumnGroup(tuple(map(Column, headings))),),
        sections=tuple(sections),
        notice=cards[0].notice if cards else "",
        notes=tuple(dict.fromkeys(_note(benchmark) for _, benchmark in pairs)),
    )


def _parts_row(label: str, benchmark: CardBenchmark, names: Sequence[str]) -> TableRow:
    planned = benchmark.view(PLANNED)
    parts = [
        _cell(part.number if (part := benchmark.part(name)) else None, benchmark, signed=name != names[0])
        for name in names
    ]
    chance = Cell((Number(benchmark.chance, benchmark.chance_decimals),))
    return TableRow(label, (_cell(planned.score if planned else None, benchmark), *parts, chance))


def _cell(number: Measured | None, benchmark: CardBenchmark, *, signed: bool = False) -> Cell:
    if number is None:
        return Cell((Number(None),))
    interval = None if number.low is None or number.high is None else (number.low, number.high)
    return Cell((Number(number.value, benchmark.decimals, signed=signed, interval=interval),))


def _note(benchmark: CardBenchmark) -> str:
    exclusions = f" ({benchmark.left_out} left out that some view was not asked)" if benchmark.left_out else ""
    return f"{benchmark.title}: {benchmark.score_title}, {benchmark.samples} samples{exclusions}."


def views_table(card: Card) -> Table:
    has_published = any(benchmark.published for benchmark in card.benchmarks)
    headers = ("Score", "Change", "p", "Lost", "Gained", *(["Published"] if has_published else []))
    return Table(
        title="Every view",
        caption="Each view against the clips as planned, sample by sample: the change with its interval, "
        "two-sided p by swapping views video by video, how many samples get worse and better.",
        label=f"tab:time-{card.model}-views",
        stub="View",
        groups=(ColumnGroup(tuple(map(Column, headers))),),
        sections=tuple(
            Section(tuple(_view_rows(benchmark, has_published)), f"{benchmark.title}: {benchmark.score_title}")
            for benchmark in card.benchmarks
        ),
        notice=card.notice,
    )


def _view_rows(benchmark: CardBenchmark, has_published: bool) -> Iterator[TableRow]:
    for name, title in VIEW_TITLES.items():
        view = benchmark.view(name)
        score = _cell(view.score if view else None, benchmark)
        results = [result for result in benchmark.published if result.view == name]
        published = Cell(
            tuple(
                Number(result.value, benchmark.decimals, state="published", notes=(result.source,))
                for result in results
            )
        )
        change = view.change if view else None
        change_cells: tuple[Cell | Text, ...] = (Cell(),) * 4
        if change:
            p = f"{change.p:.4f}" if change.p >= MIN_PRINTED_P else f"<{MIN_PRINTED_P}"
            change_cells = (
                _cell(change, benchmark, signed=True),
                Text(p),
                Text(str(change.lost)),
                Text(str(change.gained)),
            )
        notes = () if view else (f"Not shown: {benchmark.missing.get(name, 'not asked')}.",)
        yield TableRow(title, (score, *change_cells, *([published] if has_published else [])), notes=notes)


def tables_of(card: Card) -> list[Table]:
    title = f"{card.title}: the parts of its scores"
    return [parts_table([card], title, f"tab:time-{card.model}", "Benchmark"), views_table(card)]


def in_order(cards: Sequence[Card]) -> list[Card]:
    """Sort models by the part of their scores that is due to order; those without one come last."""
    return sorted(cards, key=lambda card: (card.order is None, -(card.order or 0.0), card.title))


def all_table(cards: Sequence[Card]) -> Table:
    return (
        tables_of(cards[0])[0]
        if len(cards) == 1
        else parts_table(in_order(cards), "The parts of all scores", "tab:time-all", "Model")
    )


def order_words(card: Card) -> str:
    if card.order is None:
        return f"what is due to {PART_TITLES[ORDER]} is not known"
    return f"{format_value(card.order, 1)} % of the best score is due to {PART_TITLES[ORDER]}"
