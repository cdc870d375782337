"""Numbers of MMBench-Video's data and videos."""

from collections.abc import Sequence

import polars as pl

from reprise.benchmarks.mmbench_video.images.data_statistics import statistics as image_statistics
from reprise.benchmarks.mmbench_video.taxonomy import ALL, OWN_NAME, other_sets
from reprise.core.schemas import in_group_named

OF_TEXTS = ("capabilities", "question_words_mean", "question_words_std", "answer_words_mean", "answer_words_std")
OF_VIDEOS = ("duration_s_mean", "duration_s_std", "shots_mean", "shots_std")
STATISTICS = frozenset({"videos", "questions", *OF_TEXTS, *OF_VIDEOS})


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1: abilities, and the words of questions and answers; and what Table 4's guesser reaches."""
    own = items.filter(in_group_named(OWN_NAME))
    found = _of_texts(own, ALL)
    for name in other_sets(items):
        found += _of_texts(items.filter(in_group_named(name)), name)
    return [*found, *image_statistics(items)]


def _of_texts(items: pl.DataFrame, group: str) -> list[tuple[str, str, float]]:
    """A set's size, abilities and words; a set that names no abilities has no number of them."""
    leaves = {g["text"] for groups in items["groups"].to_list() for g in groups if g["name"] == "leaf"}
    questions = [next(t["text"] for t in texts if t["name"] == "question") for texts in items["texts"].to_list()]
    return [
        ("videos", group, float(items["clip_id"].n_unique())),
        ("questions", group, float(items.height)),
        *([("capabilities", group, float(len(leaves)))] if leaves else []),
        *_spread("question_words", group, [len(text.split()) for text in questions]),
        *_spread("answer_words", group, [len(text.split()) for text in items["answer"].to_list()]),
    ]


def video_statistics(items: pl.DataFrame, facts: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1: durations and shot numbers of the videos that are there."""
    found = []
    for name, group in [(OWN_NAME, ALL), *((name, name) for name in other_sets(items))]:
        clips = items.filter(in_group_named(name))["clip_id"].unique().to_list()
        mine = facts.filter(pl.col("clip_id").is_in(clips))
        found += _spread("duration_s", group, mine["duration_s"].to_list())
        found += _spread("shots", group, mine["shots"].to_list())
    return found


def _spread(name: str, group: str, values: Sequence[float]) -> list[tuple[str, str, float]]:
    """Mean and standard deviation over all values; the paper does not say which deviation, this is the population's."""
    if not values:
        return []
    centre = sum(values) / len(values)
    deviation = (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [(f"{name}_mean", group, centre), (f"{name}_std", group, deviation)]
