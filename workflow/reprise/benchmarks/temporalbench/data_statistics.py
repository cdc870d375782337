"""Numbers of TemporalBench's data."""

import polars as pl

from reprise.benchmarks.flaws import flaws_of
from reprise.benchmarks.temporalbench.captions import caption_pair
from reprise.benchmarks.temporalbench.taxonomy import BY_SIMILARITY, DATASETS, OVERALL, groups_of, in_group
from reprise.stats.chance import chance_all_above, chance_all_right

STATISTICS = frozenset({"samples", "words", "words_original", "questions", "flawed"})


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1 (videos and words of their captions), Table 5 (questions), and what a guesser reaches."""
    short = items.filter(pl.col("task") == "short")
    found = []
    for group in groups_of("short"):
        rows = in_group(short, group)
        found += [("samples", group, float(rows["clip_id"].n_unique())), ("questions", group, float(rows.height))]
    words = {dataset: _words(in_group(short, dataset)) for dataset in DATASETS}
    counted = {dataset: count for dataset, count in words.items() if count is not None}
    found += [("words", dataset, count) for dataset, count in counted.items()]
    if counted:
        found.append(("words", OVERALL, sum(counted.values()) / len(counted)))
    found.append(("flawed", OVERALL, float(len(flaws_of(items)))))
    return found + [number for form in ("short", "long", *BY_SIMILARITY) for number in _chance(items, form)]


def _words(rows: pl.DataFrame) -> float | None:
    """Mean number of words of the videos' positive captions."""
    captions = {row["clip_id"]: pair[0] for row in rows.iter_rows(named=True) if (pair := caption_pair(row))}
    return sum(len(text.split()) for text in captions.values()) / len(captions) if captions else None


def _chance(items: pl.DataFrame, form: str) -> list[tuple[str, str, float]]:
    """What a guesser reaches: all m questions of a video with 1/2^m; by similarities less rarely.

    The right caption of a video is one text, whose one similarity is compared with those of all its negatives.
    """
    task = BY_SIMILARITY.get(form, form)
    found = []
    for group in groups_of(task):
        rows = in_group(items.filter(pl.col("task") == task), group)
        videos = [list(of_video.iter_rows(named=True)) for _, of_video in rows.group_by("clip_id", maintain_order=True)]
        if form in BY_SIMILARITY:
            known = [chance_all_above([pair for row in video if (pair := caption_pair(row))]) for video in videos]
            chance = sum(known) / len(known) if known else None
        else:
            chance = chance_all_right([[2] * len(video) for video in videos])
        if chance is not None:
            found.append((f"chance.{form}.mba", group, 100 * chance))
    return found
