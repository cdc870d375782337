"""Numbers of MMBench-Video's data and videos."""

from collections.abc import Sequence

import polars as pl

from reprise.benchmarks.counting import DataStatistics, Number
from reprise.benchmarks.mmbench_video.images.data_statistics import image_numbers
from reprise.benchmarks.mmbench_video.taxonomy import ALL, LEAF, OWN_NAME, other_sets
from reprise.benchmarks.rows import chosen_items, items_of

TEXT_METRICS = ("capabilities", "question_words_mean", "question_words_std", "answer_words_mean", "answer_words_std")
VIDEO_METRICS = ("duration_s_mean", "duration_s_std", "shots_mean", "shots_std")


def _of_data(items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """Table 1: abilities, and the words of questions and answers; and the chance of Table 4."""
    found = [number for name, group in _sets(items) for number in _of_texts(chosen_items(items, name), group)]
    return [*found, *image_numbers(items)]


def _sets(items: pl.DataFrame) -> list[tuple[str, str]]:
    """The sets of videos that a release has, and what their numbers are called."""
    return [(OWN_NAME, ALL), *((name, name) for name in other_sets(items))]


def _of_texts(table: pl.DataFrame, group: str) -> list[Number]:
    """A set's size, abilities and words; their abilities are counted only where they are named."""
    items = items_of(table)
    leaves = {tag.text for item in items for tag in item.tags if tag.name == LEAF}
    return [
        Number("videos", group, len({item.clip_id for item in items})),
        Number("questions", group, len(items)),
        *([Number("capabilities", group, len(leaves))] if leaves else []),
        *_spread("question_words", group, [len(item.texts["question"].split()) for item in items]),
        *_spread("answer_words", group, [len(item.answer.split()) for item in items]),
    ]


def _of_videos(items: pl.DataFrame, facts: pl.DataFrame) -> list[Number]:
    """Table 1: durations and shot numbers of the videos that were found."""
    found = []
    for name, group in _sets(items):
        clips = chosen_items(items, name)["clip_id"].unique().to_list()
        mine = facts.filter(pl.col("clip_id").is_in(clips))
        found += _spread("duration_s", group, mine["duration_s"].to_list())
        found += _spread("shots", group, mine["shots"].to_list())
    return found


def _spread(name: str, group: str, values: Sequence[float]) -> list[Number]:
    """Mean and standard deviation over all values; the paper does not say which deviation, this is the population's."""
    if not values:
        return []
    centre = sum(values) / len(values)
    deviation = (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [Number(f"{name}_mean", group, centre), Number(f"{name}_std", group, deviation)]


STATISTICS = DataStatistics(frozenset({"videos", "questions", *TEXT_METRICS, *VIDEO_METRICS}), _of_data, _of_videos)
