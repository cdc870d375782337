"""Scores of Vinoground's answers: text, video and group score of each pair."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import polars as pl

from reprise.benchmarks.rows import is_in
from reprise.benchmarks.scoring import Answered, Scores, groups_there
from reprise.benchmarks.vinoground.analyses import ANALYSED
from reprise.benchmarks.vinoground.taxonomy import ALL, HALVES
from reprise.benchmarks.vinoground.taxonomy import GROUPS as CATEGORIES
from reprise.stats.chance import chance_pair_similarities
from reprise.stats.measures import Measure, measure, ones

GROUPS = CATEGORIES | {name: is_in(name) for name in ANALYSED}
METRICS = ("text", "video", "group")
# What the paper prints: four random similarities.
CHANCE: dict[str, float | None] = {name: 100 * value for name, value in chance_pair_similarities().items()}
GUESSED_GROUP = 100 / 2**4
"""random answers to four two-way questions"""

ROLES = {task: [f"{task}_{half}" for half in HALVES] for task in ("text", "video")}
FOUR = [role for roles in ROLES.values() for role in roles]

Pairs: TypeAlias = Callable[[Answered], pl.DataFrame]
"""One row per pair; for each metric whether it was asked, right, failed, unparsed"""


def _measures(pairs_of: Pairs, answered: Answered, level: float) -> list[Measure]:
    """Text, video and group score over all pairs, and over those of each category and range of the analyses."""
    pairs = pairs_of(answered)
    found = []
    for group in (*CATEGORIES, *groups_there(pairs, ANALYSED)):
        members = pairs.filter(GROUPS[group])
        for metric in METRICS:
            rows = members.filter(f"{metric}_asked").with_columns(
                failed=pl.col(f"{metric}_failed"), unparsed=pl.col(f"{metric}_unparsed")
            )
            one = measure(metric, group, rows, [(rows[f"{metric}_right"], ones(rows))], level)
            found.append(replace(one, missing=members.height - rows.height))
    return found


def _outcomes(pairs_of: Pairs, answered: Answered) -> dict[str, pl.DataFrame]:
    pairs = pairs_of(answered)
    return {
        metric: pairs.filter(f"{metric}_asked").select(
            pl.col("unit").alias("item_id"), "unit", pl.lit(ALL).alias("task"), pl.col(f"{metric}_right").alias("right")
        )
        for metric in METRICS
    }


def _by_questions(answered: Answered) -> pl.DataFrame:
    """The scores by a pair's four questions.

    By the authors' convention every pair of the table counts, a question without an answer is wrong, and one that the
    text score stops at takes the pair's video score with it.
    """
    pairs = _side_by_side(answered, FOUR)
    pairs = _as_authors_score(pairs) if answered.convention == "authors" else pairs
    roles = {**ROLES, "group": FOUR}
    right = {
        metric: pl.all_horizontal(f"{role}_right" for role in roles[metric]).fill_null(False) for metric in METRICS
    }
    return pairs.with_columns(_columns(right, roles))


def _by_similarities(answered: Answered) -> pl.DataFrame:
    """The scores by four similarities, as Winoground defines them; a tie is not larger, so it fails."""
    roles = [f"{video}_{caption}" for video in HALVES for caption in HALVES]

    def above(one: str, other: str) -> pl.Expr:
        return (pl.col(f"{one}_score") > pl.col(f"{other}_score")).fill_null(False)

    text = above("pos_pos", "pos_neg") & above("neg_neg", "neg_pos")
    video = above("pos_pos", "neg_pos") & above("neg_neg", "pos_neg")
    right = {"text": text, "video": video, "group": text & video}
    return _side_by_side(answered, roles).with_columns(_columns(right, dict.fromkeys(METRICS, roles)))


def _columns(right: Mapping[str, pl.Expr], roles: Mapping[str, Sequence[str]]) -> Iterator[pl.Expr]:
    """For each metric: right, whether all its answers were asked, whether any failed or could not be read."""
    for metric in METRICS:
        yield right[metric].alias(f"{metric}_right")
        was_asked = pl.all_horizontal(pl.col(f"{role}_failed").is_not_null() for role in roles[metric])
        yield was_asked.alias(f"{metric}_asked")
        for state in ("failed", "unparsed"):
            any_of = pl.any_horizontal(f"{role}_{state}" for role in roles[metric])
            yield any_of.fill_null(False).alias(f"{metric}_{state}")


def _side_by_side(answered: Answered, roles: Sequence[str]) -> pl.DataFrame:
    """One row per pair with the verdicts of its four roles; null where a question was never asked."""
    items = answered.items
    pairs = items.select("unit", "groups").unique("unit", keep="first", maintain_order=True)
    answers = answered.verdicts.join(items.select("item_id", "unit"), on="item_id", how="inner")
    for role in roles:
        columns = [pl.col(part).alias(f"{role}_{part}") for part in ("right", "score", "failed", "unparsed")]
        one = answers.filter(pl.col("role") == role).select("unit", *columns)
        pairs = pairs.join(one, on="unit", how="left", maintain_order="left")
    return pairs


def _as_authors_score(pairs: pl.DataFrame) -> pl.DataFrame:
    """The released scorer: looking up an answer that is missing or empty ends its pair there.

    It looks at the second text answer only if the first is right, and at the video answers after the text answers.
    """

    def is_missing(role: str) -> pl.Expr:
        return pl.col(f"{role}_right").is_null() | pl.col(f"{role}_failed") | pl.col(f"{role}_unparsed")

    ends = is_missing("text_pos") | (pl.col("text_pos_right") & is_missing("text_neg"))
    right = [pl.col(f"{role}_right").fill_null(False) for role in ROLES["text"]]
    right += [pl.col(f"{role}_right").fill_null(False) & ~ends for role in ROLES["video"]]
    failed = [pl.col(f"{role}_failed").fill_null(True) for role in FOUR]
    return pairs.with_columns(*right, *failed)


SCORES = {
    form: Scores(
        frozenset(METRICS), partial(_measures, pairs_of), partial(_outcomes, pairs_of), "group", guessed=guessed
    )
    for form, pairs_of, guessed in (
        ("questions", _by_questions, {"group": GUESSED_GROUP}),
        ("similarity", _by_similarities, {}),
    )
}
