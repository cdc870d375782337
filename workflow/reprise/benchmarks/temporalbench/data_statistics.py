"""Numbers of TemporalBench's data."""

from collections.abc import Callable, Sequence

import polars as pl

from reprise.benchmarks.counting import DataStatistics, Number
from reprise.benchmarks.rows import Item, flaws_of, grouped, items_of
from reprise.benchmarks.temporalbench.option_sets import caption_pair
from reprise.benchmarks.temporalbench.taxonomy import DATASETS, GROUPS, GROUPS_OF_TASK, OVERALL
from reprise.stats.chance import chance_all_above, chance_all_right


def _numbers(items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """Table 1 (videos and words of their captions), Table 5 (questions), and chance."""
    short = items.filter(pl.col("task") == "short")
    found = []
    for group in GROUPS_OF_TASK["short"]:
        rows = short.filter(GROUPS[group])
        found += [Number("samples", group, rows["clip_id"].n_unique()), Number("questions", group, rows.height)]
    words = {dataset: _words(short.filter(GROUPS[dataset])) for dataset in DATASETS}
    counted = {dataset: count for dataset, count in words.items() if count is not None}
    found += [Number("words", dataset, count) for dataset, count in counted.items()]
    if counted:
        found.append(Number("words", OVERALL, sum(counted.values()) / len(counted)))
    found.append(Number("flawed", OVERALL, len(flaws_of(items))))
    for form, task, guess in GUESSES:
        found += _chance(f"chance.{form}.mba", items.filter(pl.col("task") == task), GROUPS_OF_TASK[task], guess)
    return found


def _words(rows: pl.DataFrame) -> float | None:
    """Mean number of words of the videos' positive captions."""
    captions = {item.clip_id: pair[0] for item in items_of(rows) if (pair := caption_pair(item))}
    return sum(len(text.split()) for text in captions.values()) / len(captions) if captions else None


def _chance(
    metric: str, items: pl.DataFrame, groups: Sequence[str], guess: Callable[[list[list[Item]]], float | None]
) -> list[Number]:
    """Chance on the videos of each group that has any."""
    found = []
    for group in groups:
        videos = grouped(items_of(items.filter(GROUPS[group])), lambda item: item.clip_id)
        chance = guess(list(videos.values()))
        if chance is not None:
            found.append(Number(metric, group, 100 * chance))
    return found


def _by_answers(videos: list[list[Item]]) -> float | None:
    """All m questions of a video are answered right with 1/2^m."""
    return chance_all_right([[2] * len(video) for video in videos])


def _by_similarities(videos: list[list[Item]]) -> float | None:
    """Higher: the right caption of a video is one text, whose one similarity is compared with all others."""
    known = [chance_all_above([pair for item in video if (pair := caption_pair(item))]) for video in videos]
    return sum(known) / len(known) if known else None


GUESSES = (
    ("short", "short", _by_answers),
    ("long", "long", _by_answers),
    ("short_similarity", "short", _by_similarities),
    ("long_similarity", "long", _by_similarities),
)
"""form of question, the task whose questions it asks, and how it is guessed"""
STATISTICS = DataStatistics(frozenset({"samples", "words", "words_original", "questions", "flawed"}), _numbers)
