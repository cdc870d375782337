"""Define how answers are scored: the metrics of a form of question, and the groups of items they are computed for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.annotations import Item, is_in_group, to_items
from reprise.stats.measures import Measure, compute_measure, unit_weights

Convention: TypeAlias = Literal["fixed", "authors"]
"""How failed and unparsed answers count: `fixed` counts them as wrong, `authors` as the benchmark's own script does."""

ACCURACY = "accuracy per question"
"""title of the score per question of answers that choose an option; it depends on how readily a model says Yes or A"""
SAMPLE_COLUMNS = ("item_id", "cluster", "task", "right")
"""columns of a sample's outcome, for comparing two models sample by sample"""

GroupFilters: TypeAlias = Mapping[str, pl.Expr]
"""Group -> expression that selects its items."""


class RunAnswers(NamedTuple):
    """The answers of one run to a protocol, ready for scoring."""

    items: pl.DataFrame
    """items that the protocol queries, without their texts"""
    verdicts: pl.DataFrame
    """one row per request that was sent"""
    convention: Convention = "fixed"

    def join_verdicts(self) -> pl.DataFrame:
        """Return the queried items joined with their verdicts, for forms with one request per item."""
        verdict_columns = self.verdicts.select("item_id", "value", "score", "right", "failed", "unparsed")
        return self.items.join(verdict_columns, on="item_id", how="inner", maintain_order="left")


class QuestionScores(NamedTuple):
    """The score of each single question, for temporal profiles.

    Unlike some metrics, it compares scores with each other instead of with a threshold, and does not need several
    questions to be right together.
    """

    title: str
    chance: float | None
    """mean score of random answers in percent; None if there is none, as for ratings"""
    rows: pl.DataFrame
    """one row (`SAMPLE_COLUMNS`) per question, with `right` from 0 to 1"""
    metric: str = ""
    """metric of `compute_outcomes` with the same samples; empty if there is none"""
    is_text_useless: bool = False
    """whether the questions are balanced so that no answer from the text alone is right more often than by chance"""


@dataclass(frozen=True)
class Scoring:
    """How the answers to one form of question are scored."""

    metrics: frozenset[str]
    compute_measures: Callable[[RunAnswers, float], list[Measure]]
    """answers and confidence level -> every metric of every group"""
    compute_outcomes: Callable[[RunAnswers], dict[str, pl.DataFrame]] = field(default=lambda run_answers: {})
    """metric -> one row (`SAMPLE_COLUMNS`) per sample, to compare two models sample by sample"""
    compute_questions: Callable[[RunAnswers], QuestionScores] | None = None
    """the score of each question, for temporal profiles; None if the form has none"""
    headline_metric: str = ""
    """the main metric of the benchmark's tables, one of those of `compute_outcomes`"""
    averaged_tasks: tuple[str, ...] = ()
    """tasks that the headline number averages; if empty, it is the mean of all samples"""
    max_score: float = 100
    """score if `right` is 1 for every sample"""
    chance: Mapping[str, float] = field(default_factory=dict)
    """metric -> score of random answers to this form, in percent, if it differs from the benchmark's CHANCE"""
    compute_confidences: Callable[[RunAnswers], pl.DataFrame] | None = None
    """the model's confidence in its answer to each question (columns `item_id` and `confidence`), without use of the
    right answer; None if answers have no scores"""

    @property
    def decimals(self) -> int:
        """Return the number of decimals of printed scores."""
        return count_decimals(self.max_score)


def count_decimals(max_score: float) -> int:
    """Return the number of decimals of a printed score: one of a percentage, two of a rating."""
    return 1 if max_score >= 100 else 2


def filter_group(items: pl.DataFrame, group: str, group_filters: GroupFilters) -> pl.DataFrame:
    """Return the items of a group, selected by its filter or else by the items' own `groups`."""
    return items.filter(group_filters.get(group, is_in_group(group)))


def score_items(chance: float | None, run_answers: RunAnswers) -> QuestionScores:
    """Score the questions of a form with one request per item: right or wrong."""
    return QuestionScores(ACCURACY, chance, run_answers.join_verdicts().select(SAMPLE_COLUMNS))


def score_requests(chance: float, run_answers: RunAnswers) -> QuestionScores:
    """Score each request as a question of its own, for a form with several requests per item."""
    verdicts = run_answers.verdicts.select("item_id", "role", "right")
    rows = verdicts.join(run_answers.items.select("item_id", "cluster", "task"), on="item_id", how="inner")
    question_id = pl.concat_str("item_id", pl.lit("#"), "role")
    return QuestionScores(ACCURACY, chance, rows.with_columns(item_id=question_id).select(SAMPLE_COLUMNS))


def build_accuracy_scoring(metric: str, group_filters: GroupFilters) -> Scoring:
    """Return the scoring for a form with one question per item: the share of items answered right.

    Failed and unparsed answers are wrong under both conventions.
    """

    def compute_measures(run_answers: RunAnswers, level: float) -> list[Measure]:
        rows = run_answers.join_verdicts()
        rows_by_group = {group: rows.filter(is_member) for group, is_member in group_filters.items()}
        return [
            compute_measure(metric, group, group_rows, [(group_rows["right"], unit_weights(group_rows))], level)
            for group, group_rows in rows_by_group.items()
        ]

    return Scoring(
        frozenset({metric}),
        compute_measures,
        lambda run_answers: {metric: run_answers.join_verdicts().select(SAMPLE_COLUMNS)},
        partial(score_items, None),
        metric,
    )


# Groups of analyses are not in the release. They are derived from items' texts or from clip metadata.

MetadataByClip: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Clip id -> metadata of the clip; empty if no clip was measured."""


class Range(NamedTuple):
    """A group of the items with a measurement above `lower` and at most `upper`."""

    group: str
    lower: float
    upper: float = float("inf")


@dataclass(frozen=True)
class AnalysisGroups:
    """The groups that a benchmark's analyses add to those of its release."""

    groups: frozenset[str]
    assign_groups: Callable[[Sequence[Item], MetadataByClip], Mapping[str, Sequence[str]]]
    """items and clip metadata -> item id -> groups of the item"""
    needs_clip_metadata: bool = False


def find_range_group(number: float | None, ranges: Sequence[Range]) -> Iterator[str]:
    """Yield the group of the range that contains a number; nothing if no range does, or if the number is None."""
    if number is not None:
        yield from (range_.group for range_ in ranges if range_.lower < number <= range_.upper)


def list_nonempty_groups(items: pl.DataFrame, groups: Sequence[str]) -> list[str]:
    """Return the groups that contain an item; without clip metadata, groups that depend on it are empty."""
    present_groups = set(items["groups"].explode().unique())
    return [group for group in groups if group in present_groups]


def add_analysis_groups(
    items: pl.DataFrame, clip_metadata: pl.DataFrame | None, analyses: AnalysisGroups
) -> pl.DataFrame:
    """Drop the items' texts and add the groups of the analyses that each item belongs to."""
    metadata_by_clip = (
        {} if clip_metadata is None else {row["clip_id"]: row for row in clip_metadata.iter_rows(named=True)}
    )
    groups_by_item = analyses.assign_groups(to_items(items), metadata_by_clip)
    added_groups = pl.Series(
        [list(groups_by_item.get(item_id, ())) for item_id in items["item_id"]], dtype=pl.List(pl.String)
    )
    return items.drop("texts").with_columns(groups=pl.col("groups").list.concat(added_groups))
