"""Build the table of judges: the agreement of each pair of judges on the same answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.core.notation import EN_DASH
from reprise.core.version import VERSION
from reprise.stats.agreement import kappa, rank_correlation, weighted_kappa
from reprise.stats.measures import Measure, compute_measure, subtract_second, take_first, unit_weights
from reprise.tables.keys import AgreementKey, JudgePairKey
from reprise.tables.render.table import (
    Cell,
    ColumnGroup,
    Table,
    TableColumn,
    TableNumber,
    TableRow,
    TextCell,
    group_into_sections,
)

DEFAULT_MAX_RATING = 3.0  # the highest value of most rating scales
BOTH_PARSED, ONLY_FIRST_PARSED, ONLY_SECOND_PARSED, NEITHER_PARSED = "both", "first only", "second only", "neither"
AGREEMENT, KAPPA, DIFFERENCE, RANK_CORRELATION = "agreement", "kappa", "difference", "rank_correlation"
# Names of the two judges of a pair, and of the columns with their verdicts as numbers.
SIDES = "first", "second"
COLUMN_GROUPS = (
    ColumnGroup(
        tuple(map(TableColumn, (BOTH_PARSED, ONLY_FIRST_PARSED, ONLY_SECOND_PARSED, NEITHER_PARSED))),
        "Answers extracted by",
    ),
    ColumnGroup((TableColumn("Equal (%)"), TableColumn("Kappa"), TableColumn("First minus second"))),
    ColumnGroup((TableColumn("Runs"), TableColumn("Rank corr.")), "Order"),
)
CAPTION = (
    "Agreement of two judges about the same answers, all runs of a protocol together, with {level} % intervals over "
    "videos. All numbers except the counts cover the answers for which both judges' replies could be parsed. Ratings: "
    "Cohen's kappa with quadratic weights, and the difference of the mean ratings. Options: Cohen's kappa, and the "
    "difference of the shares of right answers, in points. Rank correlation: Spearman's, of the means of the runs, if "
    "there are at least three."
)


class JudgeComparison(NamedTuple):
    """Comparison of two judges' verdicts on the same answers."""

    pair: JudgePairKey
    counts: tuple[int, ...]
    """numbers of answers whose replies could be parsed: of both judges, only the first, only the second, neither"""
    failed_count: int
    numbers: dict[str, TableNumber]
    """measure of agreement, such as KAPPA -> its number"""


def compare_judges(
    pair: JudgePairKey, verdicts: Mapping[tuple[str, str], pl.DataFrame], level: float
) -> JudgeComparison:
    """Compare two judges on the same answers.

    `verdicts` maps run and judge to the verdicts that the extractor `robust` takes from the judge's replies, with the
    additional column `cluster`.
    """
    columns = ["request_id", "cluster", "value", "score", "right", "failed"]
    answers_by_run = []
    for run in pair.runs:
        first_verdicts, second_verdicts = (verdicts[run, judge].select(columns) for judge in pair.judges)
        answers_by_run.append(
            first_verdicts.join(second_verdicts, on="request_id", suffix="_other", validate="1:1").with_columns(
                run=pl.lit(run)
            )
        )
    answers = pl.concat(answers_by_run)
    judged = answers.filter(~(pl.col("failed") & pl.col("failed_other")))
    first_parsed, second_parsed = pl.col("value") != "", pl.col("value_other") != ""
    groups = [
        judged.filter(is_member)
        for is_member in (
            first_parsed & second_parsed,
            first_parsed & ~second_parsed,
            ~first_parsed & second_parsed,
            ~first_parsed & ~second_parsed,
        )
    ]
    return JudgeComparison(
        pair,
        tuple(group.height for group in groups),
        answers.height - judged.height,
        dict(_compute_agreement(groups[0], level)),
    )


def _compute_agreement(parsed_answers: pl.DataFrame, level: float) -> Iterator[tuple[str, TableNumber]]:
    """Yield the measures of agreement on the answers for which both judges' replies were parsed."""
    is_rated = all(parsed_answers[name].is_not_null().all() for name in ("score", "score_other"))
    names = ("score", "score_other") if is_rated else ("right", "right_other")
    # The columns `first` and `second` have the judges' verdicts as numbers: ratings, or 1 for a right option.
    answers = parsed_answers.with_columns(
        *(pl.col(name).cast(pl.Float64).alias(side) for name, side in zip(names, SIDES, strict=True)),
        failed=pl.lit(value=False),
        unparsed=pl.lit(value=False),
    )
    equal = (answers["value"] == answers["value_other"]).cast(pl.Float64)
    yield (
        AGREEMENT,
        _number(compute_measure(AGREEMENT, "", answers, [(equal, unit_weights(answers))], level, take_first), 1),
    )
    first_values, second_values = (answers[side].to_list() for side in SIDES)
    labels = (answers["value"].to_list(), answers["value_other"].to_list())
    yield KAPPA, TableNumber(weighted_kappa(first_values, second_values) if is_rated else kappa(*labels), 2)
    means_by_judge = [(answers[side], unit_weights(answers)) for side in SIDES]
    # A difference of ratings is in units of the rating, and a difference of shares in points.
    scale, max_value = (1, max([DEFAULT_MAX_RATING, *first_values, *second_values])) if is_rated else (100, 1)
    yield (
        DIFFERENCE,
        _number(
            compute_measure(DIFFERENCE, "", answers, means_by_judge, level, subtract_second, scale, (0, max_value)),
            2,
            signed=True,
        ),
    )
    means = answers.group_by("run", maintain_order=True).agg(pl.col(*SIDES).mean())
    yield RANK_CORRELATION, TableNumber(rank_correlation(*(means[side].to_list() for side in SIDES)), 2)


def _number(measure: Measure, decimals: int, *, signed: bool = False) -> TableNumber:
    interval = None if measure.low is None or measure.high is None else (measure.low, measure.high)
    return TableNumber(measure.value, decimals, signed, interval=interval)


def build_agreement_table(key: AgreementKey, comparisons: Sequence[JudgeComparison]) -> Table:
    """Return the table of judges: a row for each pair of judges and protocol."""
    runs = sorted({run for comparison in comparisons for run in comparison.pair.runs})
    return Table(
        title="Agreement of judges",
        caption=CAPTION.format(level=f"{100 * key.confidence:g}"),
        label="tab:judges",
        stub="First / second judge",
        groups=COLUMN_GROUPS,
        sections=group_into_sections((comparison.pair.title, _row(key, comparison)) for comparison in comparisons),
        notice=key.notice,
        provenance=(f"Suite {key.suite} ({key.suite_title}), Reprise {VERSION}.", *runs),
    )


def _row(key: AgreementKey, comparison: JudgeComparison) -> TableRow:
    cells = {
        name: TextCell(EN_DASH) if number.value is None else Cell((number,))
        for name, number in comparison.numbers.items()
    }
    *counts, runs = (Cell((TableNumber(float(count), 0),)) for count in (*comparison.counts, len(comparison.pair.runs)))
    notes = (f"{comparison.failed_count} failed answers were not judged.",) if comparison.failed_count else ()
    label = " / ".join(key.judges[judge] for judge in comparison.pair.judges)
    return TableRow(
        label, (*counts, cells[AGREEMENT], cells[KAPPA], cells[DIFFERENCE], runs, cells[RANK_CORRELATION]), notes
    )


def tidy_rows(key: AgreementKey, comparisons: Sequence[JudgeComparison]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the csv: a row for each measure of agreement, and for each count of unparsed replies."""
    for comparison in comparisons:
        both, *unparsed_counts = comparison.counts
        shared_columns = {
            "suite": key.suite,
            "table": "judges",
            "section": comparison.pair.title,
            "row": ", ".join(comparison.pair.judges),
            "group": "",
            "requested": sum(comparison.counts) + comparison.failed_count,
            "scored": both,
            "failed": comparison.failed_count,
            "unparsed": sum(unparsed_counts),
            "missing": 0,
            "extractor": "robust",
            "source": "reproduced",
        }
        unparsed = zip((ONLY_FIRST_PARSED, ONLY_SECOND_PARSED, NEITHER_PARSED), unparsed_counts, strict=True)
        unparsed_numbers = {name.replace(" ", "_"): TableNumber(float(count)) for name, count in unparsed}
        for metric, number in (comparison.numbers | unparsed_numbers).items():
            low, high = number.interval or (None, None)
            yield shared_columns | {"column": metric, "metric": metric, "value": number.value, "low": low, "high": high}
