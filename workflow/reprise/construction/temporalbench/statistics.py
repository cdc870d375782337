"""Numbers of the construction beside the paper's: sections 3 and 4.5, Tables 1 and 5."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.construction.filters import Row, beside, kept
from reprise.construction.settings import TemporalBenchSettings, writers_of
from reprise.construction.temporalbench.candidates import EVENTS, POOL_FILTERS, WORDS
from reprise.construction.temporalbench.review import OPTION_FILTERS, long_videos, option_sets
from reprise.construction.temporalbench.writing import CENTRAL, SAMPLE_FILTERS, WRITTEN_FILTERS

# Table 1: data set -> clips, mean words of the original captions, mean words of the paper's.
TABLE1 = {
    "ActivityNet": (281, 13.03, 49.55), "EgoExo4D": (307, 7.73, 47.79), "Charades": (298, 6.21, 44.16),
    "Movie_Description": (326, 12.39, 35.33), "Oops": (294, 10.06, 43.27), "COIN": (385, 5.01, 50.06),
    "FineGym": (288, 21.92, 21.92),
}  # fmt: skip
WORDS_OF = {"words of the original description (Table 1)": 10.9, "words of the caption (Table 1)": 41.72}
OF_MEANS = "mean over the data sets, as in the paper"
LONG_DATASETS = ("ActivityNet", "Charades", "COIN", "FineGym")
VIDEOS, QUESTIONS = 2179, 9918
OF_TOTALS = f"not a number of the paper; its totals give {QUESTIONS / VIDEOS:.2f}"
# Table 5: category -> questions.
TABLE5 = {
    "Action Order": 130, "Action Frequency": 531, "Action Type": 2812, "Motion Magnitude": 321,
    "Motion Direction/Orientation": 1554, "Action Effector": 1118, "Event Order": 2105, "Others": 1347,
}  # fmt: skip
FILTERS = {"pool": POOL_FILTERS, "written": WRITTEN_FILTERS, "samples": SAMPLE_FILTERS, "reviewed": OPTION_FILTERS}
WRITERS = "GPT-4o, Gemini-1.5-Pro and Llama-3.1-405b"
NO_SET = "see the filter `no_option_set`, and those before it"


def statistics(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> list[Row]:
    pool = kept(tables["pool"])
    released = kept(tables["reviewed"]).filter(pl.col("level") != CENTRAL)
    videos = pool.join(released, on="clip", how="semi")
    questions = released.group_by("clip", maintain_order=True).len()["len"].to_list()
    categories = Counter(released["category"])
    listed = {
        level: tables["samples"].filter(level=level).group_by("clip", "writer").len()["len"].to_list()
        for level in (WORDS, EVENTS)
    }
    long = long_videos(tables["reviewed"], settings)
    joined = Counter(one.dataset for one in long)
    sets = len(list(option_sets(tables["reviewed"].to_dicts())))
    return [
        beside("source data sets", "all", 7, videos["dataset"].n_unique()),
        *_table1(videos),
        beside("captions refined", "all", None, pool.filter("is_refined").height, "the paper says that, not how many"),
        beside("seconds of the longest clip", "all", 20, _most(videos["seconds"].drop_nulls()), "at most"),
        beside("negatives of a caption as written, most", WORDS, 9, _most(listed[WORDS]), "at most"),
        beside("negatives of a caption as written, most", EVENTS, 6, _most(listed[EVENTS]), "at most"),
        *_by_writer(tables["samples"], released, writers_of(settings)),
        *(beside("questions (Table 5)", name, TABLE5[name], categories[name]) for name in CATEGORIES),
        beside("questions (Table 5)", "all", QUESTIONS, released.height, "9,867 in the authors' release"),
        beside("questions of a video", "all", None, _mean(questions), OF_TOTALS),
        beside(
            "chance that all questions of a video are right, %", "all", 9.4, _mean(100 * 0.5**one for one in questions)
        ),
        beside("data sets of long videos", "all", len(LONG_DATASETS), len(joined)),
        *(beside("long videos", name, None, joined[name], "how many: not in the paper") for name in LONG_DATASETS),
        beside("negatives of a long video", "all", 4, _mean(len(one.negatives) for one in long), "about 4; our mean"),
        beside("option sets (Table 4)", "all", None, sets, "one of a video; how many: not in the paper"),
        beside("videos without an option set", "all", None, videos.height - sets, NO_SET),
    ]


def _by_writer(samples: pl.DataFrame, released: pl.DataFrame, writers: Sequence[str]) -> Iterator[Row]:
    """What several writers wrote, and what is left of it; what two of them wrote is the first one's."""
    if len(writers) == 1:
        yield beside("language models that write", "all", 3, 1, f"{WRITERS}; one writer here")
        return
    yield beside("language models that write", "all", 3, len(writers), WRITERS)
    of_caption = samples.filter(pl.col("level") != CENTRAL)
    steps = {"as written": of_caption, "that people review": kept(of_caption), "released": released}
    for what, table in steps.items():
        own = Counter(table["writer"])
        yield from (beside(f"negatives of captions {what}", writer, None, own[writer]) for writer in writers)


def _table1(videos: pl.DataFrame) -> list[Row]:
    rows, means = [], dict[str, list[float | None]](zip(WORDS_OF, ([], []), strict=True))
    for name, (clips, *papers) in TABLE1.items():
        own = videos.filter(dataset=name)
        rows.append(beside("videos (Table 1)", name, clips, own.height))
        for (what, ours), paper, column in zip(means.items(), papers, ("description", "caption"), strict=True):
            ours.append(_mean(len(text.split()) for text in own[column]))
            rows.append(beside(what, name, paper, ours[-1]))
    rows.append(beside("videos (Table 1)", "all", VIDEOS, videos.height))
    return [*rows, *(beside(what, "all", WORDS_OF[what], _mean(ours), OF_MEANS) for what, ours in means.items())]


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def _most(values: Iterable[float]) -> float | None:
    return max(map(float, values), default=None)
