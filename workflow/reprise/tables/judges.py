"""The table of judges: the agreement of two judges on the same answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.core.version import VERSION
from reprise.stats.agreement import kappa, rank_correlation, weighted_kappa
from reprise.stats.measures import Measure, difference, first, measure, ones
from reprise.tables.keys import AgreementKey, JudgePairKey
from reprise.tables.render.table import EN_DASH, Cell, Column, ColumnGroup, Number, Table, TableRow, Text, sections_of

HIGHEST = 3.0  # the highest value of most rating scales
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


class JudgeComparison(NamedTuple):
    """Two judges' verdicts on the same answers, counted and compared."""

    pair: JudgePairKey
    counts: tuple[int, ...]
    """number of answers for which both judges' replies could be read, only the first's, only the second's, neither"""
    failed: int
    numbers: dict[str, Number]


def compare(pair: JudgePairKey, verdicts: Mapping[tuple[str, str], pl.DataFrame], level: float) -> JudgeComparison:
    """Compare two judges on the same answers.

    `verdicts` holds what the robust reader read from a judge's replies, with the unit of each answer, by run and judge.
    """
    columns = ["request_id", "unit", "value", "score", "right", "failed"]
    parts = []
    for run in pair.runs:
        first_verdicts, second_verdicts = (verdicts[run, judge].select(columns) for judge in pair.judges)
        parts.append(
            first_verdicts.join(second_verdicts, on="request_id", suffix="_other", validate="1:1").with_columns(
                run=pl.lit(run)
            )
        )
    answers = pl.concat(parts)
    judged = answers.filter(~(pl.col("failed") & pl.col("failed_other")))
    has_first, has_second = pl.col("value") != "", pl.col("value_other") != ""
    groups = [
        judged.filter(is_member)
        for is_member in (
            has_first & has_second,
            has_first & ~has_second,
            ~has_first & has_second,
            ~has_first & ~has_second,
        )
    ]
    return JudgeComparison(
        pair, tuple(group.height for group in groups), answers.height - judged.height, dict(_numbers(groups[0], level))
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
    yield AGREEMENT, _number(measure(AGREEMENT, "", numbers, [(equal, ones(numbers))], level, first), 1)
    first_values, second_values = (numbers[side].to_list() for side in SIDES)
    labels = (numbers["value"].to_list(), numbers["value_other"].to_list())
    yield KAPPA, Number(weighted_kappa(first_values, second_values) if is_rated else kappa(*labels), 2)
    sides = [(numbers[side], ones(numbers)) for side in SIDES]
    scale, highest = (1, max([HIGHEST, *first_values, *second_values])) if is_rated else (100, 1)
    yield (
        DIFFERENCE,
        _number(measure(DIFFERENCE, "", numbers, sides, level, difference, scale, (0, highest)), 2, signed=True),
    )
    means = numbers.group_by("run", maintain_order=True).agg(pl.col(*SIDES).mean())
    yield RANKS, Number(rank_correlation(*(means[side].to_list() for side in SIDES)), 2)


def _number(estimate: Measure, decimals: int, *, signed: bool = False) -> Number:
    interval = None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
    return Number(estimate.value, decimals, signed, interval=interval)


def agreement_table(key: AgreementKey, comparisons: Sequence[JudgeComparison]) -> Table:
    runs = sorted({run for comparison in comparisons for run in comparison.pair.runs})
    return Table(
        title="Agreement of judges",
        caption=CAPTION.format(level=f"{100 * key.confidence:g}"),
        label="tab:judges",
        stub="First / second judge",
        groups=GROUPS,
        sections=sections_of((comparison.pair.title, _row(key, comparison)) for comparison in comparisons),
        notice=key.notice,
        provenance=(f"Suite {key.suite} ({key.suite_title}), Reprise {VERSION}.", *runs),
    )


def _row(key: AgreementKey, comparison: JudgeComparison) -> TableRow:
    cells = {
        name: Text(EN_DASH) if number.value is None else Cell((number,)) for name, number in comparison.numbers.items()
    }
    *counts, runs = (Cell((Number(float(count), 0),)) for count in (*comparison.counts, len(comparison.pair.runs)))
    notes = (f"{comparison.failed} answers failed, so that there was nothing to judge.",) if comparison.failed else ()
    label = " / ".join(key.judges[judge] for judge in comparison.pair.judges)
    return TableRow(label, (*counts, cells[AGREEMENT], cells[KAPPA], cells[DIFFERENCE], runs, cells[RANKS]), notes)


def tidy_rows(key: AgreementKey, comparisons: Sequence[JudgeComparison]) -> Iterator[dict[str, Any]]:
    for comparison in comparisons:
        both, *unread_counts = comparison.counts
        shared = {
            "suite": key.suite,
            "table": "judges",
            "section": comparison.pair.title,
            "row": ", ".join(comparison.pair.judges),
            "group": "",
            "asked": sum(comparison.counts) + comparison.failed,
            "scored": both,
            "failed": comparison.failed,
            "unparsed": sum(unread_counts),
            "missing": 0,
            "reader": "robust",
            "source": "reproduced",
        }
        unread = zip((ONLY_FIRST, ONLY_SECOND, NEITHER), unread_counts, strict=True)
        counts = {name.replace(" ", "_"): Number(float(count)) for name, count in unread}
        for metric, number in (comparison.numbers | counts).items():
            low, high = number.interval or (None, None)
            yield shared | {"column": metric, "metric": metric, "value": number.value, "low": low, "high": high}
