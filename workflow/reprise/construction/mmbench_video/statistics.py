"""Numbers of the construction beside the paper's: sections 3.1 and 3.2, Table 1, appendices C and F."""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.mmbench_video.analysed import OTHER_TYPE, QUESTION_TYPES
from reprise.benchmarks.mmbench_video.analyses import question_type
from reprise.benchmarks.mmbench_video.taxonomy import HALVES, L2_OF
from reprise.construction.filters import Row, beside, counts, kept
from reprise.construction.mmbench_video.candidates import ROW_FILTERS
from reprise.construction.mmbench_video.collection import POOL_FILTERS
from reprise.construction.mmbench_video.guidelines import SAMPLE_FILTERS
from reprise.construction.mmbench_video.static import STATIC_FILTERS
from reprise.construction.review import REVIEW_FILTERS
from reprise.construction.settings import MmbenchVideoSettings

HOUR = 3600
SHOTS = "counted on the videos: Table 1 of the benchmark"
IN_FIGURE = "the paper shows it in a figure"


def filter_counts(tables: Mapping[str, pl.DataFrame]) -> list[Row]:
    """What every filter of every step dropped."""
    passed = kept(tables["samples"]).select("sample_id")
    steps: list[tuple[str, pl.DataFrame, Sequence[str]]] = [
        ("pool", tables["pool"], POOL_FILTERS),
        ("candidates", tables["candidates"], ROW_FILTERS),
        ("samples", tables["samples"], SAMPLE_FILTERS),
        ("reviewed", tables["reviewed"].join(passed, on="sample_id", how="semi"), REVIEW_FILTERS),
    ]
    if "static" in tables:
        steps.append(("static", tables["static"], STATIC_FILTERS))
    return [row for step, table, names in steps for row in counts(step, table, names)]


def statistics(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> list[Row]:
    """The paper's numbers and ours."""
    released = kept(tables.get("static", tables["reviewed"]))
    videos = kept(tables["pool"]).join(released, on="video", how="semi")
    return [*_of_videos(tables["pool"], videos), *_of_questions(tables, released), *_of_words(released)]


def _of_videos(collected: pl.DataFrame, videos: pl.DataFrame) -> list[Row]:
    lengths = (videos["end_s"] - videos["start_s"]).to_list()
    return [
        beside("videos collected", "all", None, collected.height, "the paper does not say"),
        beside("video clips", "all", 609, videos.height, "with a question that is released"),
        beside("categories of videos", "all", 16, videos["video_type"].n_unique()),
        *_spread("duration of a clip (s)", 165.4, 80.7, lengths),
        beside("duration of a clip (s)", "shortest", 30, min(lengths, default=None), "16.9 in the paper's datasheet"),
        beside("duration of a clip (s)", "longest", 360, max(lengths, default=None)),
        beside("duration of all clips (h)", "all", 28, sum(lengths) / HOUR),
        beside("shots of a clip", "mean", 32.6, None, SHOTS),
        beside("shots of a clip", "standard deviation", 33.5, None, SHOTS),
        beside("shots of a clip", "most", 210, None, SHOTS),
    ]


def _of_questions(tables: Mapping[str, pl.DataFrame], released: pl.DataFrame) -> list[Row]:
    static = tables.get("static")
    leaves = Counter(leaf for named in released["dimensions"].to_list() for leaf in named)
    kinds = Counter(map(question_type, released["question"].to_list()))
    l2 = [name for half in HALVES.values() for name in half]
    groups = Counter(name for named in released["dimensions"].to_list() for name in {L2_OF[leaf] for leaf in named})
    return [
        beside("questions written", "all", None, tables["candidates"].height, "rows of the annotators"),
        beside("questions cross-validated", "all", None, kept(tables["reviewed"]).height, "before the static filter"),
        beside("static questions removed", "all", 246, None if static is None else static.height - kept(static).height),
        beside("questions", "all", 1998, released.height),
        beside("leaf abilities", "all", 26, len(leaves)),
        *(beside("questions of an ability (level 2)", name, None, groups[name], IN_FIGURE) for name in l2),
        *(beside("questions of a leaf", leaf, None, leaves[leaf], IN_FIGURE) for leaf in L2_OF),
        *(beside("questions of a type", kind, None, kinds[kind], IN_FIGURE) for kind in (*QUESTION_TYPES, OTHER_TYPE)),
    ]


def _of_words(released: pl.DataFrame) -> list[Row]:
    words = {name: [len(text.split()) for text in released[name].to_list()] for name in ("question", "answer")}
    return [
        *_spread("words of a question", 10.9, 4.1, words["question"]),
        *_spread("words of an answer", 8.4, 7.7, words["answer"]),
    ]


def _spread(what: str, mean: float, deviation: float, values: Sequence[float]) -> list[Row]:
    """Mean and standard deviation of all values, as Table 1 counts them."""
    centre = sum(values) / len(values) if values else None
    ours = None if centre is None else (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [beside(what, "mean", mean, centre), beside(what, "standard deviation", deviation, ours)]
