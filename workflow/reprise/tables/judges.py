"""The table of judges: how far two of them agree about the same answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.core.version import VERSION
from reprise.stats.agreement import kappa, rank_correlation, weighted_kappa
from reprise.stats.measures import Measure, difference, first, measure, ones
from reprise.tables.keys import AgreementKey, JudgePairKey
from reprise.tables.render.table import EN_DASH, Cell, Column, ColumnGroup, Number, Table, TableRow, Text, sections_of

HIGHEST = 3.0  # of most ratings
READ, ONLY_FIRST, ONLY_SECOND, NEITHER = "both", "first only", "second only", "neither"
AGREEMENT, KAPPA, DIFFERENCE, RANKS = "agreement", "kappa", "difference", "rank_correlation"
SIDES = "first", "second"
GROUPS = (
    ColumnGroup(tuple(map(Column, (READ, ONLY_FIRST, ONLY_SECOND, NEITHER))), "Answers read by"),
    ColumnGroup((Column("Equal (%)"), Column("Kappa"), Column("First minus second"))),
    ColumnGroup((Column("Runs"), Column("Rank corr.")), "Order"),
)
CAPTION = (
    "Agreement of two judges about the same answers, all runs of a protocol together, with {level} % intervals over "
    "videos. All numbers but the counts are of the answers that both judges' replies could be read for. Ratings: "
    "Cohen's kappa with quadratic weights, difference of the mean ratings. Options: Cohen's kappa, difference of "
    "the shares that are right, in points. Rank correlation: Spearman's, of the mean of each run, where there are at "
    "least three."
)


class Compared(NamedTuple):
    pair: JudgePairKey
    counts: tuple[int, ...]
    """answers that both judges' replies could be read for, only the first's, only the second's, neither"""
    failed: int
    numbers: dict[str, Number]


def compare(pair: JudgePairKey, verdicts: Mapping[tuple[str, str], pl.DataFrame], level: float) -> Compared:
    """Run and judge give the verdicts of the judge's replies by the robust reader, with the unit of each."""
    columns = ["request_id", "unit", "value", "score", "right", "failed"]
    parts = []
    for run in pair.runs:
        mine, other = (verdicts[run, judge].select(columns) for judge in pair.judges)
        parts.append(mine.join(other, on="request_id", suffix="_other", validate="1:1").with_columns(run=pl.lit(run)))
    answers = pl.concat(parts)
    put = answers.filter(~(pl.col("failed") & pl.col("failed_other")))
    first, second = pl.col("value") != "", pl.col("value_other") != ""
    read = [put.filter(one) for one in (first & second, first & ~second, ~first & second, ~first & ~second)]
    return Compared(
        pair, tuple(one.height for one in read), answers.height - put.height, dict(_numbers(read[0], level))
    )


def _numbers(both: pl.DataFrame, level: float) -> Iterator[tuple[str, Number]]:
    is_rated = bool(both["score"].is_not_null().all() and both["score_other"].is_not_null().all())
    names = ("score", "score_other") if is_rated else ("right", "right_other")
    numbers = both.with_columns(
        *(pl.col(name).cast(pl.Float64).alias(side) for name, side in zip(names, SIDES, strict=True)),
        failed=pl.lit(value=False),
        unparsed=pl.lit(value=False),
    )
    equal = (numbers["value"] == numbers["value_other"]).cast(pl.Float64)
    yield AGREEMENT, _measured(measure(AGREEMENT, "", numbers, [(equal, ones(numbers))], level, first), 1)
    ours, theirs = (numbers[side].to_list() for side in SIDES)
    labels = (numbers["value"].to_list(), numbers["value_other"].to_list())
    yield KAPPA, Number(weighted_kappa(ours, theirs) if is_rated else kappa(*labels), 2)
    sides = [(numbers[side], ones(numbers)) for side in SIDES]
    scale, highest = (1, max([HIGHEST, *ours, *theirs])) if is_rated else (100, 1)
    yield (
        DIFFERENCE,
        _measured(measure(DIFFERENCE, "", numbers, sides, level, difference, scale, (0, highest)), 2, signed=True),
    )
    means = numbers.group_by("run", maintain_order=True).agg(pl.col(*SIDES).mean())
    yield RANKS, Number(rank_correlation(*(means[side].to_list() for side in SIDES)), 2)


def _measured(found: Measure, decimals: int, *, signed: bool = False) -> Number:
    interval = None if found.low is None or found.high is None else (found.low, found.high)
    return Number(found.value, decimals, signed, interval=interval)


def agreement_table(key: AgreementKey, found: Sequence[Compared]) -> Table:
    runs = sorted({run for one in found for run in one.pair.runs})
    return Table(
        title="Agreement of judges",
        caption=CAPTION.format(level=f"{100 * key.confidence:g}"),
        label="tab:judges",
        stub="First / second judge",
        groups=GROUPS,
        sections=sections_of((one.pair.title, _row(key, one)) for one in found),
        notice=key.notice,
        provenance=(f"Suite {key.suite} ({key.suite_title}), Reprise {VERSION}.", *runs),
    )


def _row(key: AgreementKey, one: Compared) -> TableRow:
    cells = {name: Text(EN_DASH) if of.value is None else Cell((of,)) for name, of in one.numbers.items()}
    *counts, runs = (Cell((Number(float(count), 0),)) for count in (*one.counts, len(one.pair.runs)))
    notes = (f"{one.failed} answers failed, so that there was nothing to judge.",) if one.failed else ()
    label = " / ".join(key.judges[judge] for judge in one.pair.judges)
    return TableRow(label, (*counts, cells[AGREEMENT], cells[KAPPA], cells[DIFFERENCE], runs, cells[RANKS]), notes)


def tidy_rows(key: AgreementKey, found: Sequence[Compared]) -> Iterator[dict[str, Any]]:
    for one in found:
        both, *others = one.counts
        shared = {
            "suite": key.suite,
            "table": "judges",
            "section": one.pair.title,
            "row": ", ".join(one.pair.judges),
            "group": "",
            "asked": sum(one.counts) + one.failed,
            "scored": both,
            "failed": one.failed,
            "unparsed": sum(others),
            "missing": 0,
            "reader": "robust",
            "source": "reproduced",
        }
        unread = zip((ONLY_FIRST, ONLY_SECOND, NEITHER), others, strict=True)
        counts = {name.replace(" ", "_"): Number(float(count)) for name, count in unread}
        for metric, number in (one.numbers | counts).items():
            low, high = number.interval or (None, None)
            yield shared | {"column": metric, "metric": metric, "value": number.value, "low": low, "high": high}
