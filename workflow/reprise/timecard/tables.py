"""A card's numbers as tables, and as tidy rows."""

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
        "name": pl.String,  # of the view or the part
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
LEAST_P = 0.0001


def tidy(cards: Sequence[Card]) -> pl.DataFrame:
    """Every number of some cards, a row each; rows of the kind `missing` say what was not asked."""
    return pl.DataFrame([row for card in cards for row in _rows(card)], schema=TIDY)


def _rows(card: Card) -> Iterator[dict[str, Any]]:
    for one in card.benchmarks:
        named = {
            "suite": card.suite, "model": card.model, "benchmark": one.name, "protocol": one.protocol,
            "sampling": one.sampling, "metric": one.score, "samples": one.samples, "clusters": one.clusters,
            "best": one.best,
        }  # fmt: skip
        for view in one.views:
            yield named | {"kind": "score", "name": view.view, "run": view.run} | view.score.model_dump()
            if view.change:
                yield named | {"kind": "change", "name": view.view, "run": view.run} | view.change.model_dump()
        for part in one.parts:
            yield named | {"kind": "part", "name": part.name, "p": part.p} | part.number.model_dump()
        if one.chance is not None:
            yield named | {"kind": "chance", "value": one.chance}
        for paper in one.published:
            yield named | {"kind": "published", "name": paper.view, "value": paper.value, "note": paper.source}
        for view_name, reason in one.missing.items():
            yield named | {"kind": "missing", "name": view_name, "note": reason}


def parts_table(cards: Sequence[Card], title: str, label: str, stub: str) -> Table:
    """The parts of every score: a row a benchmark of one model, or a row a model in sections of benchmarks."""
    there = [(card, one) for card in cards for one in card.benchmarks]
    titles = {part.name: part.title for _, one in there for part in one.parts}
    shown = [*(name for name in PART_TITLES if name in titles), *(name for name in titles if name not in PART_TITLES)]
    headings = ["Score", *(titles[name][:1].upper() + titles[name][1:] for name in shown), "Chance"]
    if len(cards) == 1:
        sections = [Section(tuple(_parts_row(one.title, one, shown) for _, one in there))]
    else:
        sections = [
            Section(tuple(_parts_row(card.title, one, shown) for card, one in there if one.name == name), heading)
            for name, heading in dict.fromkeys((one.name, one.title) for _, one in there)
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
        notes=tuple(dict.fromkeys(_note(one) for _, one in there)),
    )


def _parts_row(label: str, one: CardBenchmark, names: Sequence[str]) -> TableRow:
    planned = one.view(PLANNED)
    parts = [_cell(part.number if (part := one.part(name)) else None, one, signed=name != names[0]) for name in names]
    chance = Cell((Number(one.chance, one.chance_decimals),))
    return TableRow(label, (_cell(planned.score if planned else None, one), *parts, chance))


def _cell(number: Measured | None, one: CardBenchmark, *, signed: bool = False) -> Cell:
    if number is None:
        return Cell((Number(None),))
    ends = None if number.low is None or number.high is None else (number.low, number.high)
    return Cell((Number(number.value, one.decimals, signed=signed, interval=ends),))


def _note(one: CardBenchmark) -> str:
    rest = f" ({one.left_out} left out that some view was not asked)" if one.left_out else ""
    return f"{one.title}: {one.score_title}, {one.samples} samples{rest}."


def views_table(card: Card) -> Table:
    has_published = any(one.published for one in card.benchmarks)
    headers = ("Score", "Change", "p", "Lost", "Gained", *(["Published"] if has_published else []))
    return Table(
        title="Every view",
        caption="Each view against the clips as planned, sample by sample: the change with its interval, "
        "two-sided p by swapping views video by video, how many samples get worse and better.",
        label=f"tab:time-{card.model}-views",
        stub="View",
        groups=(ColumnGroup(tuple(map(Column, headers))),),
        sections=tuple(
            Section(tuple(_view_rows(one, has_published)), f"{one.title}: {one.score_title}") for one in card.benchmarks
        ),
        notice=card.notice,
    )


def _view_rows(one: CardBenchmark, has_published: bool) -> Iterator[TableRow]:
    for name, title in VIEW_TITLES.items():
        view = one.view(name)
        score = _cell(view.score if view else None, one)
        printed = [paper for paper in one.published if paper.view == name]
        published = Cell(
            tuple(Number(paper.value, one.decimals, state="published", notes=(paper.source,)) for paper in printed)
        )
        change = view.change if view else None
        numbers: tuple[Cell | Text, ...] = (Cell(),) * 4
        if change:
            p = f"{change.p:.4f}" if change.p >= LEAST_P else f"<{LEAST_P}"
            numbers = (_cell(change, one, signed=True), Text(p), Text(str(change.lost)), Text(str(change.gained)))
        absent = () if view else (f"Not shown: {one.missing.get(name, 'not asked')}.",)
        yield TableRow(title, (score, *numbers, *([published] if has_published else [])), notes=absent)


def tables_of(card: Card) -> list[Table]:
    title = f"{card.title}: the parts of its scores"
    return [parts_table([card], title, f"tab:time-{card.model}", "Benchmark"), views_table(card)]


def in_order(cards: Sequence[Card]) -> list[Card]:
    """Models by the part of their scores that is due to order; those of which it is not known come last."""
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
