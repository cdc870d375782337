"""Compute the statistics of MMBench-Video's data and videos."""

from collections.abc import Sequence

import polars as pl

from reprise.benchmarks.annotations import select_items, to_items
from reprise.benchmarks.data_statistics import DataStatistics, Statistic
from reprise.benchmarks.mmbench_video.taxonomy import (
    ALL,
    BENCHMARK_NAME,
    GROUPS_BY_DATA_SET,
    LEAF_TAG,
    MMBENCH,
    MMSTAR,
    list_other_sets,
    options_by_letter,
)
from reprise.stats.chance import chance_all_right

TEXT_METRICS = ("capabilities", "question_words_mean", "question_words_std", "answer_words_mean", "answer_words_std")
VIDEO_METRICS = ("duration_s_mean", "duration_s_std", "shots_mean", "shots_std")


def _compute_item_statistics(item_table: pl.DataFrame, clips: pl.DataFrame) -> list[Statistic]:
    """Compute Table 1 (numbers of abilities, and words of questions and answers) and the counts behind Table 4."""
    statistics = []
    for name, group in _list_sets(item_table):
        items = to_items(select_items(item_table, name))
        statistics.append(Statistic("videos", group, len({item.clip_id for item in items})))
        statistics.append(Statistic("questions", group, len(items)))
        if leaves := {tag.text for item in items for tag in item.tags if tag.name == LEAF_TAG}:
            statistics.append(Statistic("capabilities", group, len(leaves)))
        statistics += _mean_and_deviation(
            "question_words", group, [len(item.texts["question"].split()) for item in items]
        )
        statistics += _mean_and_deviation("answer_words", group, [len(item.answer.split()) for item in items])
    return [*statistics, *_compute_image_statistics(item_table)]


def _compute_image_statistics(item_table: pl.DataFrame) -> list[Statistic]:
    """Count questions by group, and compute chance: 1/k for k options, and (1/k)^k under all their rotations."""
    statistics = []
    for data_set, form in ((MMBENCH, "circular"), (MMSTAR, "choice")):
        for group in GROUPS_BY_DATA_SET[data_set]:
            option_counts = [len(options_by_letter(item)) for item in to_items(select_items(item_table, group))]
            # A question of the form `circular` is asked once for each rotation, which are as many as its options.
            options_of_requests = [[count] * (count if form == "circular" else 1) for count in option_counts]
            chance = chance_all_right(options_of_requests)
            if chance is not None:
                statistics.append(Statistic("questions", group, len(option_counts)))
                statistics.append(Statistic(f"chance.{form}.accuracy", group, 100 * chance))
    return statistics


def _compute_video_statistics(items: pl.DataFrame, clip_metadata: pl.DataFrame) -> list[Statistic]:
    """Compute the durations and shot counts of Table 1 for the videos whose files are present."""
    statistics = []
    for name, group in _list_sets(items):
        clip_ids = select_items(items, name)["clip_id"].unique().to_list()
        set_metadata = clip_metadata.filter(pl.col("clip_id").is_in(clip_ids))
        statistics += _mean_and_deviation("duration_s", group, set_metadata["duration_s"].to_list())
        statistics += _mean_and_deviation("shots", group, set_metadata["shots"].to_list())
    return statistics


def _list_sets(items: pl.DataFrame) -> list[tuple[str, str]]:
    """Return the names of the video sets in a release, each with the group of its statistics."""
    return [(BENCHMARK_NAME, ALL), *((name, name) for name in list_other_sets(items))]


def _mean_and_deviation(name: str, group: str, values: Sequence[float]) -> list[Statistic]:
    """Return mean and population standard deviation; the paper does not say which deviation it uses."""
    if not values:
        return []
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return [Statistic(f"{name}_mean", group, mean), Statistic(f"{name}_std", group, deviation)]


STATISTICS = DataStatistics(
    frozenset({"videos", "questions", *TEXT_METRICS, *VIDEO_METRICS}),
    _compute_item_statistics,
    _compute_video_statistics,
)
