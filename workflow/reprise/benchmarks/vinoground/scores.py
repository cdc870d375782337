"""What Vinoground's answers are worth: text, video and group score."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from reprise.benchmarks.vinoground.taxonomy import ALL, GROUPS, HALVES, in_group
from reprise.stats import chance_pair_similarities
from reprise.stats.measures import Measure, Resampling, measure, ones

SCORES = ("text", "video", "group")
# `questions`: two about captions, two about segments of a concatenation; `similarity`: four numbers, no concatenation.
FORMS = {"questions": frozenset(SCORES), "similarity": frozenset(SCORES)}
# What the paper prints: four random similarities. Random answers to two-way questions reach 6.25 as group score.
CHANCE = {name: 100 * value for name, value in chance_pair_similarities()._asdict().items()}
ROLES = {task: [f"{task}_{half}" for half in HALVES] for task in ("text", "video")}


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """Text, video and group score over all pairs and over the pairs of each category.

    `drop_unread` is the authors' convention: every pair of the table counts, a question without an answer is wrong, and
    one that the text score stops at takes the pair's video score with it.
    """
    pairs = _pairs(form, items, verdicts, by_authors=drop_unread)
    found = []
    for group in GROUPS:
        members = in_group(pairs, group)
        for score in SCORES:
            rows = members.filter(f"{score}_asked").with_columns(
                failed=pl.col(f"{score}_failed"), unparsed=pl.col(f"{score}_unparsed")
            )
            one = measure(score, group, rows, [(rows[f"{score}_right"], ones(rows))], resampling)
            found.append(replace(one, missing=members.height - rows.height))
    return found


def _pairs(form: str, items: pl.DataFrame, verdicts: pl.DataFrame, *, by_authors: bool) -> pl.DataFrame:
    """One row a pair; for each score whether it was asked, right, failed, unparsed."""
    if form == "similarity":
        return _similarity_pairs(items, verdicts)
    pairs = _side_by_side(items, verdicts, [role for roles in ROLES.values() for role in roles])
    pairs = _as_authors(pairs) if by_authors else pairs
    roles = {**ROLES, "group": [role for roles in ROLES.values() for role in roles]}
    right = {score: pl.all_horizontal(f"{role}_right" for role in roles[score]).fill_null(False) for score in SCORES}
    return pairs.with_columns(_columns(right, roles))


def _columns(right: Mapping[str, pl.Expr], roles: Mapping[str, Sequence[str]]) -> Iterator[pl.Expr]:
    """For each score: right, whether all its answers were asked, whether any failed or could not be read."""
    for score in SCORES:
        yield right[score].alias(f"{score}_right")
        yield pl.all_horizontal(pl.col(f"{role}_failed").is_not_null() for role in roles[score]).alias(f"{score}_asked")
        for state in ("failed", "unparsed"):
            any_of = pl.any_horizontal(f"{role}_{state}" for role in roles[score])
            yield any_of.fill_null(False).alias(f"{score}_{state}")


def _side_by_side(items: pl.DataFrame, verdicts: pl.DataFrame, roles: Sequence[str]) -> pl.DataFrame:
    """One row a pair with the verdicts of its four roles; null where a question was never asked."""
    pairs = items.select("unit", "groups").unique("unit", keep="first", maintain_order=True)
    answers = verdicts.join(items.select("item_id", "unit"), on="item_id", how="inner")
    for role in roles:
        columns = [pl.col(part).alias(f"{role}_{part}") for part in ("right", "score", "failed", "unparsed")]
        one = answers.filter(pl.col("role") == role).select("unit", *columns)
        pairs = pairs.join(one, on="unit", how="left", maintain_order="left")
    return pairs


def _as_authors(pairs: pl.DataFrame) -> pl.DataFrame:
    """The released scorer: looking up an answer that is lacking or empty ends its pair there.

    It looks at the second text answer only if the first is right, and at the video answers after the text answers.
    """

    def lacks(role: str) -> pl.Expr:
        return pl.col(f"{role}_right").is_null() | pl.col(f"{role}_failed") | pl.col(f"{role}_unparsed")

    ends = lacks("text_pos") | (pl.col("text_pos_right") & lacks("text_neg"))
    right = [pl.col(f"{role}_right").fill_null(False) for role in ROLES["text"]]
    right += [pl.col(f"{role}_right").fill_null(False) & ~ends for role in ROLES["video"]]
    failed = [pl.col(f"{role}_failed").fill_null(True) for roles in ROLES.values() for role in roles]
    return pairs.with_columns(*right, *failed)


def _similarity_pairs(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """The scores by four similarities, as Winoground defines them; a tie is not larger, so it fails."""
    roles = [f"{video}_{caption}" for video in HALVES for caption in HALVES]

    def above(one: str, other: str) -> pl.Expr:
        return (pl.col(f"{one}_score") > pl.col(f"{other}_score")).fill_null(False)

    text = above("pos_pos", "pos_neg") & above("neg_neg", "neg_pos")
    video = above("pos_pos", "neg_pos") & above("neg_neg", "pos_neg")
    right = {"text": text, "video": video, "group": text & video}
    return _side_by_side(items, verdicts, roles).with_columns(_columns(right, dict.fromkeys(SCORES, roles)))


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Metric -> one row a pair, for comparing two models pair by pair."""
    pairs = _pairs(form, items, verdicts, by_authors=False)
    return {
        score: pairs.filter(f"{score}_asked").select(
            pl.col("unit").alias("item_id"), "unit", pl.lit(ALL).alias("task"), pl.col(f"{score}_right").alias("right")
        )
        for score in SCORES
    }
