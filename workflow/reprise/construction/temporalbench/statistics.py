"""Numbers of the construction beside the paper's: sections 3 and 4.5, Tables 1 and 5."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.construction.filters import Row, beside, counts, kept
from reprise.construction.replies import LIST_PROBLEMS
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.temporalbench.candidates import EVENTS, POOL_FILTERS, WORDS
from reprise.construction.temporalbench.long_videos import LongVideo, long_videos
from reprise.construction.temporalbench.negatives import CATEGORY_PROBLEMS, CENTRAL, NEGATIVE_FILTERS
from reprise.construction.temporalbench.option_sets import option_sets
from reprise.construction.temporalbench.review import OPTION_FILTERS
from reprise.construction.temporalbench.samples import SAMPLE_FILTERS
from reprise.construction.writing import FAILED

# Table 1: data set -> clips, mean words of the original captions, mean words of the paper's.
TABLE1 = {
    "ActivityNet": (281, 13.03, 49.55), "EgoExo4D": (307, 7.73, 47.79), "Charades": (298, 6.21, 44.16),
    "Movie_Description": (326, 12.39, 35.33), "Oops": (294, 10.06, 43.27), "COIN": (385, 5.01, 50.06),
    "FineGym": (288, 21.92, 21.92),
}  # fmt: skip
LONG_DATASETS = ("ActivityNet", "Charades", "COIN", "FineGym")
VIDEOS, QUESTIONS = 2179, 9918
OF_TOTALS = f"not a number of the paper; its totals give {QUESTIONS / VIDEOS:.2f}"
# Table 5: category -> questions.
TABLE5 = {
    "Action Order": 130, "Action Frequency": 531, "Action Type": 2812, "Motion Magnitude": 321,
    "Motion Direction/Orientation": 1554, "Action Effector": 1118, "Event Order": 2105, "Others": 1347,
}  # fmt: skip
WRITTEN_FILTERS = (FAILED, *LIST_PROBLEMS, *NEGATIVE_FILTERS, *CATEGORY_PROBLEMS)


def filter_counts(tables: Mapping[str, pl.DataFrame]) -> list[Row]:
    """What every filter of every step dropped."""
    found = kept(tables["samples"]).select("sample_id")
    steps: Sequence[tuple[str, pl.DataFrame, Sequence[str]]] = (
        ("pool", tables["pool"], POOL_FILTERS),
        ("written", tables["written"], WRITTEN_FILTERS),
        ("samples", tables["samples"], SAMPLE_FILTERS),
        ("reviewed", tables["reviewed"].join(found, on="sample_id", how="semi"), OPTION_FILTERS),
    )
    return [row for step, table, names in steps for row in counts(step, table, names)]


def statistics(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> list[Row]:
    """The paper's numbers and ours."""
    pool = kept(tables["pool"])
    released = kept(tables["reviewed"]).filter(pl.col("level") != CENTRAL)
    videos = pool.join(released, on="clip", how="semi")
    listed = tables["samples"].filter(pl.col("level") != CENTRAL)
    rows = [
        beside("source data sets", "all", 7, videos["dataset"].n_unique()),
        *_table1(videos),
        beside("captions refined", "all", None, pool.filter("is_refined").height, "the paper says that, not how many"),
        beside("seconds of the longest clip", "all", 20, _most(videos["seconds"].drop_nulls().to_list()), "at most"),
        beside("negatives of a caption as written, most", WORDS, 9, _most_of_level(listed, WORDS), "at most"),
        beside("negatives of a caption as written, most", EVENTS, 6, _most_of_level(listed, EVENTS), "at most"),
        beside("language models that write", "all", 3, 1, "GPT-4o, Gemini-1.5-Pro and Llama-3.1-405b; one writer here"),
        *_table5(released),
        beside("questions (Table 5)", "all", QUESTIONS, released.height, "9,867 in the authors' release"),
        beside("questions of a video", "all", None, _share(released.height, videos.height), OF_TOTALS),
        beside("chance that all questions of a video are right, %", "all", 9.4, _chance(released)),
        *_of_long_videos(long_videos(tables["reviewed"], settings)),
        *_of_option_sets(tables["reviewed"], videos.height),
    ]  # fmt: skip
    return rows


def _table1(videos: pl.DataFrame) -> list[Row]:
    rows = []
    for name, (clips, original, ours) in TABLE1.items():
        own = videos.filter(pl.col("dataset") == name)
        rows += [
            beside("videos (Table 1)", name, clips, own.height),
            beside("words of the original description (Table 1)", name, original, _words(own["description"])),
            beside("words of the caption (Table 1)", name, ours, _words(own["caption"])),
        ]
    note = "mean over the data sets, as in the paper"
    means = {what: _mean(row["ours"] for row in rows if row["what"].startswith(what)) for what in WORDS_OF}
    return [
        *rows,
        beside("videos (Table 1)", "all", VIDEOS, videos.height),
        *(beside(f"{what} (Table 1)", "all", number, means[what], note) for what, number in WORDS_OF.items()),
    ]


def _of_long_videos(found: Sequence[LongVideo]) -> Iterator[Row]:
    counted = Counter(one.dataset for one in found)
    yield beside("data sets of long videos", "all", len(LONG_DATASETS), len(counted))
    yield from (
        beside("long videos", name, None, counted[name], "how many: not in the paper") for name in LONG_DATASETS
    )
    yield beside("negatives of a long video", "all", 4, _mean(len(one.negatives) for one in found), "about 4; our mean")


def _of_option_sets(reviewed: pl.DataFrame, videos: int) -> Iterator[Row]:
    found = len(list(option_sets(reviewed.to_dicts())))
    yield beside("option sets (Table 4)", "all", None, found, "one of a video; how many: not in the paper")
    yield beside(
        "videos without an option set",
        "all",
        None,
        videos - found,
        "see the filter `no_option_set`, and those before it",
    )


def _table5(released: pl.DataFrame) -> list[Row]:
    counted = Counter(released["category"])
    return [beside("questions (Table 5)", name, TABLE5[name], counted[name]) for name in CATEGORIES]


WORDS_OF = {"words of the original description": 10.9, "words of the caption": 41.72}


def _most_of_level(rows: pl.DataFrame, level: str) -> float | None:
    return _most(rows.filter(pl.col("level") == level).group_by("clip").len()["len"].to_list())


def _chance(released: pl.DataFrame) -> float | None:
    return _mean(100 * 0.5**count for count in released.group_by("clip", maintain_order=True).len()["len"])


def _words(texts: Iterable[str]) -> float | None:
    return _mean(len(text.split()) for text in texts)


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _most(values: Sequence[float]) -> float | None:
    return float(max(values)) if values else None
