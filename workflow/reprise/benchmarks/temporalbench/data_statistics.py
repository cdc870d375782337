"""Compute the numbers of TemporalBench's data."""

from collections.abc import Callable, Sequence

import polars as pl

from reprise.benchmarks.annotations import Item, group_by_key, list_flaws, to_items
from reprise.benchmarks.data_statistics import DataStatistics, Statistic
from reprise.benchmarks.temporalbench.option_sets import caption_pair
from reprise.benchmarks.temporalbench.taxonomy import DATASETS, GROUPS, GROUPS_BY_TASK, OVERALL
from reprise.stats.chance import chance_all_above, chance_all_right


def _numbers(items: pl.DataFrame, clips: pl.DataFrame) -> list[Statistic]:
    """Count videos and words of captions (Table 1) and questions (Table 5), and compute chance."""
    short = items.filter(pl.col("task") == "short")
    numbers = []
    for group in GROUPS_BY_TASK["short"]:
        rows = short.filter(GROUPS[group])
        numbers += [Statistic("samples", group, rows["clip_id"].n_unique()), Statistic("questions", group, rows.height)]
    mean_words = {dataset: _mean_words(short.filter(GROUPS[dataset])) for dataset in DATASETS}
    available_means = {dataset: count for dataset, count in mean_words.items() if count is not None}
    numbers += [Statistic("words", dataset, count) for dataset, count in available_means.items()]
    if available_means:
        numbers.append(Statistic("words", OVERALL, sum(available_means.values()) / len(available_means)))
    numbers.append(Statistic("flawed", OVERALL, len(list_flaws(items))))
    for form, task, guess in GUESSES:
        numbers += _chance(f"chance.{form}.mba", items.filter(pl.col("task") == task), GROUPS_BY_TASK[task], guess)
    return numbers


def _mean_words(rows: pl.DataFrame) -> float | None:
    """Return the mean number of words of the videos' positive captions; None without captions."""
    captions = {item.clip_id: pair[0] for item in to_items(rows) if (pair := caption_pair(item))}
    return sum(len(text.split()) for text in captions.values()) / len(captions) if captions else None


def _chance(
    metric: str, items: pl.DataFrame, groups: Sequence[str], guess: Callable[[list[list[Item]]], float | None]
) -> list[Statistic]:
    """Compute chance for each group that has videos."""
    numbers = []
    for group in groups:
        videos = group_by_key(to_items(items.filter(GROUPS[group])), lambda item: item.clip_id)
        chance = guess(list(videos.values()))
        if chance is not None:
            numbers.append(Statistic(metric, group, 100 * chance))
    return numbers


def _chance_by_answers(videos: list[list[Item]]) -> float | None:
    """Return the chance that all of a video's questions are answered right: 1/2^m for m questions."""
    return chance_all_right([[2] * len(video) for video in videos])


def _chance_by_similarities(videos: list[list[Item]]) -> float | None:
    """Return the chance of similarity scores, which exceeds 1/2^m.

    The right caption is the same text in all questions of a video, so its one similarity is compared with all others.
    """
    chances = [chance_all_above([pair for item in video if (pair := caption_pair(item))]) for video in videos]
    return sum(chances) / len(chances) if chances else None


GUESSES = (
    ("short", "short", _chance_by_answers),
    ("long", "long", _chance_by_answers),
    ("short_similarity", "short", _chance_by_similarities),
    ("long_similarity", "long", _chance_by_similarities),
)
"""form of question, the task of its questions, and the function that computes its chance"""
STATISTICS = DataStatistics(frozenset({"samples", "words", "words_original", "questions", "flawed"}), _numbers)
