"""Numbers of MMBench-Video's data and videos."""

from collections.abc import Sequence

import polars as pl

from reprise.benchmarks.counting import DataStatistics, Number
from reprise.benchmarks.mmbench_video.taxonomy import (
    ALL,
    GROUPS_OF,
    LEAF,
    MMBENCH,
    MMSTAR,
    OWN_NAME,
    option_texts,
    other_sets,
)
from reprise.benchmarks.rows import chosen_items, items_of
from reprise.stats.chance import chance_all_right

TEXT_METRICS = ("capabilities", "question_words_mean", "question_words_std", "answer_words_mean", "answer_words_std")
VIDEO_METRICS = ("duration_s_mean", "duration_s_std", "shots_mean", "shots_std")


def _of_data(table: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """Table 1: abilities (where a set names them), and the words of questions and answers; and what Table 4 needs."""
    found = []
    for name, group in _sets(table):
        items = items_of(chosen_items(table, name))
        found.append(Number("videos", group, len({item.clip_id for item in items})))
        found.append(Number("questions", group, len(items)))
        if leaves := {tag.text for item in items for tag in item.tags if tag.name == LEAF}:
            found.append(Number("capabilities", group, len(leaves)))
        found += _spread("question_words", group, [len(item.texts["question"].split()) for item in items])
        found += _spread("answer_words", group, [len(item.answer.split()) for item in items])
    return [*found, *_of_images(table)]


def _of_images(table: pl.DataFrame) -> list[Number]:
    """Questions by group, and chance: 1/k for k options, and (1/k)^k under all their rotations."""
    found = []
    for data_set, form in ((MMBENCH, "circular"), (MMSTAR, "choice")):
        for group in GROUPS_OF[data_set]:
            counts = [len(option_texts(item)) for item in items_of(chosen_items(table, group))]
            chance = chance_all_right([[count] * (count if form == "circular" else 1) for count in counts])
            if chance is not None:
                found.append(Number("questions", group, len(counts)))
                found.append(Number(f"chance.{form}.accuracy", group, 100 * chance))
    return found


def _of_videos(items: pl.DataFrame, facts: pl.DataFrame) -> list[Number]:
    """Table 1: durations and shot numbers of the videos that were found."""
    found = []
    for name, group in _sets(items):
        mine = facts.filter(pl.col("clip_id").is_in(chosen_items(items, name)["clip_id"].unique().to_list()))
        found += _spread("duration_s", group, mine["duration_s"].to_list())
        found += _spread("shots", group, mine["shots"].to_list())
    return found


def _sets(items: pl.DataFrame) -> list[tuple[str, str]]:
    """The sets of videos that a release has, and what their numbers are called."""
    return [(OWN_NAME, ALL), *((name, name) for name in other_sets(items))]


def _spread(name: str, group: str, values: Sequence[float]) -> list[Number]:
    """Mean and standard deviation over all values; the paper does not say which deviation, this is the population's."""
    if not values:
        return []
    centre = sum(values) / len(values)
    deviation = (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [Number(f"{name}_mean", group, centre), Number(f"{name}_std", group, deviation)]


STATISTICS = DataStatistics(frozenset({"videos", "questions", *TEXT_METRICS, *VIDEO_METRICS}), _of_data, _of_videos)
