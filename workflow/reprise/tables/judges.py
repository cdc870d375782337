"""The table of judges: how far two of them agree about the same answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise import __version__
from reprise.stats.agreement import kappa, rank_correlation, weighted_kappa
from reprise.stats.measures import difference, first, measure, ones
from reprise.tables.keys import AgreementKey, JudgePairKey
from reprise.tables.render.numbers import EN_DASH
from reprise.tables.render.table import Cell, Column, ColumnGroup, Number, Section, Table, TableRow, Text

HIGHEST = 3.0  # of most ratings
READ, ONLY_FIRST, ONLY_SECOND, NEITHER = "both", "first only", "second only", "neither"
AGREEMENT, KAPPA, DIFFERENCE, RANKS = "agreement", "kappa", "difference", "rank_correlation"
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
Judgement = Mapping[tuple[str, str], pl.DataFrame]
"""Run and judge -> verdicts of the judge's replies by the robust reader, with the unit of each."""


class Compared(NamedTuple):
    """What one pair comes to."""

    pair: JudgePairKey
    counts: tuple[int, int, int, int]
    failed: int
    numbers: dict[str, tuple[float | None, tuple[float, float] | None]]
    """metric -> value, and its interval if it has one"""


def compare(pair: JudgePairKey, verdicts: Judgement, level: float) -> Compared:
    """Compare two judges on the runs of a pair."""
    answers = pl.concat([_side_by_side(run, pair, verdicts) for run in pair.runs])
    failed = answers.filter(pl.col("failed") & pl.col("failed_other"))
    put = answers.filter(~(pl.col("failed") & pl.col("failed_other")))
    has_first, has_second = pl.col("value") != "", pl.col("value_other") != ""
    both = put.filter(has_first & has_second)
    counts = tuple(
        put.filter(one).height
        for one in (has_first & has_second, has_first & ~has_second, ~has_first & has_second, ~has_first & ~has_second)
    )
    assert len(counts) == 4
    return Compared(pair, counts, failed.height, dict(_numbers(both, level)))


def _side_by_side(run: str, pair: JudgePairKey, verdicts: Judgement) -> pl.DataFrame:
    mine, other = (verdicts[run, judge] for judge in pair.judges)
    columns = ["request_id", "unit", "value", "score", "right", "failed"]
    joined = mine.select(columns).join(other.select(columns), on="request_id", suffix="_other", validate="1:1")
    return joined.with_columns(run=pl.lit(run))


def _numbers(both: pl.DataFrame, level: float) -> Iterator[tuple[str, tuple[float | None, tuple[float, float] | None]]]:
    is_rated = bool(both["score"].is_not_null().all() and both["score_other"].is_not_null().all())
    ours, theirs = ("score", "score_other") if is_rated else ("right", "right_other")
    numbers = both.with_columns(
        first=pl.col(ours).cast(pl.Float64), second=pl.col(theirs).cast(pl.Float64), unparsed=pl.lit(value=False)
    ).with_columns(failed=pl.lit(value=False))
    equal = (numbers["value"] == numbers["value_other"]).cast(pl.Float64)
    agreed = measure(AGREEMENT, "", numbers, [(equal, ones(numbers))], level, first)
    yield AGREEMENT, (agreed.value, _interval(agreed.low, agreed.high))
    kappas = (
        weighted_kappa(numbers["first"].to_list(), numbers["second"].to_list())
        if is_rated
        else kappa(numbers["value"].to_list(), numbers["value_other"].to_list())
    )
    yield KAPPA, (kappas, None)
    highest = max([HIGHEST, *numbers["first"], *numbers["second"]])
    apart = measure(
        DIFFERENCE, "", numbers, [(numbers[name], ones(numbers)) for name in ("first", "second")], level, difference,
        scale=1 if is_rated else 100, limits=(0, highest) if is_rated else (0, 1),
    )  # fmt: skip
    yield DIFFERENCE, (apart.value, _interval(apart.low, apart.high))
    means = numbers.group_by("run", maintain_order=True).agg(pl.col("first", "second").mean())
    yield RANKS, (rank_correlation(means["first"].to_list(), means["second"].to_list()), None)


def _interval(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def agreement_table(key: AgreementKey, found: Sequence[Compared]) -> Table:
    """The table object: a section for each protocol, a row for each pair of judges."""
    titles = dict.fromkeys(one.pair.title for one in found)
    sections = [
        Section(tuple(_row(key, one) for one in found if one.pair.title == title), title=title) for title in titles
    ]
    runs = sorted({run for one in found for run in one.pair.runs})
    return Table(
        title="Agreement of judges",
        caption=CAPTION.format(level=f"{100 * key.confidence:g}"),
        label="tab:judges",
        stub="First / second judge",
        groups=GROUPS,
        sections=tuple(sections),
        notice=key.notice,
        provenance=(f"Suite {key.suite} ({key.suite_title}), Reprise {__version__}.", *(f"{run}" for run in runs)),
    )


def _row(key: AgreementKey, one: Compared) -> TableRow:
    decimals: dict[str, int] = {AGREEMENT: 1, KAPPA: 2, DIFFERENCE: 2, RANKS: 2}
    cells: dict[str, Cell | Text] = {
        name: Cell((Number(value, decimals[name], signed=name == DIFFERENCE, interval=interval),))
        if value is not None
        else Text(EN_DASH)
        for name, (value, interval) in one.numbers.items()
    }
    counts = [Cell((Number(float(count), 0),)) for count in one.counts]
    order = (Cell((Number(float(len(one.pair.runs)), 0),)), cells[RANKS])
    notes = (f"{one.failed} answers failed, so that there was nothing to judge.",) if one.failed else ()
    label = " / ".join(key.judges[judge] for judge in one.pair.judges)
    return TableRow(label, (*counts, cells[AGREEMENT], cells[KAPPA], cells[DIFFERENCE], *order), notes)


def tidy_rows(key: AgreementKey, found: Sequence[Compared]) -> Iterator[dict[str, Any]]:
    """The rows of the csv: one for each number of each pair."""
    for one in found:
        both, *others = one.counts
        place = {"suite": key.suite, "table": "judges", "section": one.pair.title, "row": ", ".join(one.pair.judges)}
        counts = {
            "asked": both + sum(others) + one.failed,
            "scored": both,
            "failed": one.failed,
            "unparsed": sum(others),
        }
        for metric, (value, interval) in one.numbers.items():
            low, high = interval or (None, None)
            numbers = {"column": metric, "metric": metric, "group": "", "value": value, "low": low, "high": high}
            yield place | counts | numbers | {"missing": 0, "reader": "robust", "source": "reproduced"}
        for name, count in zip((ONLY_FIRST, ONLY_SECOND, NEITHER), others, strict=True):
            metric = name.replace(" ", "_")
            yield place | counts | {"column": metric, "metric": metric, "group": "", "value": float(count)} | {
                "missing": 0, "reader": "robust", "source": "reproduced",
            }  # fmt: skip
