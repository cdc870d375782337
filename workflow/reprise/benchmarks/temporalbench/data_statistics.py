"""Compute the statistics of TemporalBench's data."""

from collections.abc import Callable, Sequence

import polars as pl

from reprise.benchmarks.annotations import Item, group_by_key, list_flaws, to_items
from reprise.benchmarks.data_statistics import DataStatistics, Statistic
from reprise.benchmarks.temporalbench.option_sets import caption_pair
from reprise.benchmarks.temporalbench.taxonomy import DATASETS, GROUPS, GROUPS_BY_TASK, OVERALL
from reprise.stats.chance import chance_all_above, chance_all_right


def _compute_item_statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[Statistic]:
    """Count videos and words of captions (Table 1) and questions (Table 5), and compute chance."""
    short_items = items.filter(pl.col("task") == "short")
    statistics = []
    for group in GROUPS_BY_TASK["short"]:
        rows = short_items.filter(GROUPS[group])
        statistics += [
            Statistic("samples", group, rows["clip_id"].n_unique()),
            Statistic("questions", group, rows.height),
        ]
    mean_words_by_dataset = {dataset: _mean_words(short_items.filter(GROUPS[dataset])) for dataset in DATASETS}
    available_means = {
        dataset: word_count for dataset, word_count in mean_words_by_dataset.items() if word_count is not None
    }
    statistics += [Statistic("words", dataset, word_count) for dataset, word_count in available_means.items()]
    if available_means:
        statistics.append(Statistic("words", OVERALL, sum(available_means.values()) / len(available_means)))
    statistics.append(Statistic("flawed", OVERALL, len(list_flaws(items))))
    for form, task, compute_chance in CHANCE_FUNCTIONS:
        statistics += _compute_chance_by_group(
            f"chance.{form}.mba", items.filter(pl.col("task") == task), GROUPS_BY_TASK[task], compute_chance
        )
    return statistics


def _mean_words(rows: pl.DataFrame) -> float | None:
    """Return the mean number of words of the videos' right captions; None without captions."""
    captions = {item.clip_id: pair[0] for item in to_items(rows) if (pair := caption_pair(item))}
    return sum(len(text.split()) for text in captions.values()) / len(captions) if captions else None


def _compute_chance_by_group(
    metric: str, items: pl.DataFrame, groups: Sequence[str], compute_chance: Callable[[list[list[Item]]], float | None]
) -> list[Statistic]:
    """Compute the chance score of each group that has videos."""
    statistics = []
    for group in groups:
        items_by_video = group_by_key(to_items(items.filter(GROUPS[group])), lambda item: item.clip_id)
        chance = compute_chance(list(items_by_video.values()))
        if chance is not None:
            statistics.append(Statistic(metric, group, 100 * chance))
    return statistics


def _chance_by_answers(videos: list[list[Item]]) -> float | None:
    """Return the chance that all of a video's questions are answered right: 1/2^m for m questions."""
    option_count = 2
    return chance_all_right([[option_count] * len(video_items) for video_items in videos])


def _chance_by_similarities(videos: list[list[Item]]) -> float | None:
    """Return the chance of similarity scores, which exceeds 1/2^m.

    The right caption is the same text in all questions of a video. Its similarity is therefore compared with that of
    every wrong caption.
    """
    chances = [chance_all_above([pair for item in video if (pair := caption_pair(item))]) for video in videos]
    return sum(chances) / len(chances) if chances else None


CHANCE_FUNCTIONS = (
    ("short", "short", _chance_by_answers),
    ("long", "long", _chance_by_answers),
    ("short_similarity", "short", _chance_by_similarities),
    ("long_similarity", "long", _chance_by_similarities),
)
"""form of question, task of its items, and the function that computes its chance score"""
STATISTICS = DataStatistics(
    frozenset({"samples", "words", "words_original", "questions", "flawed"}), _compute_item_statistics
)
