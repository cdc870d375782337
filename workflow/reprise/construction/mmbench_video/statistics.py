"""Numbers of the construction beside the paper's: sections 3.1 and 3.2, Table 1, appendices C and F."""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.mmbench_video.analyses import OTHER_TYPE, QUESTION_TYPES, question_type
from reprise.benchmarks.mmbench_video.taxonomy import HALVES, L2_OF
from reprise.construction.filters import Row, beside, kept
from reprise.construction.mmbench_video.candidates import POOL_FILTERS, ROW_FILTERS
from reprise.construction.mmbench_video.review import STATIC_FILTERS
from reprise.construction.mmbench_video.writing import SAMPLE_FILTERS
from reprise.construction.review import REVIEW_FILTERS
from reprise.construction.settings import MmbenchVideoSettings

HOUR = 3600
SHOTS = "counted on the videos: Table 1 of the benchmark"
IN_FIGURE = "the paper shows it in a figure"
FILTERS = {
    "pool": POOL_FILTERS, "candidates": ROW_FILTERS, "samples": SAMPLE_FILTERS, "reviewed": REVIEW_FILTERS,
    "static": STATIC_FILTERS,
}  # fmt: skip


def statistics(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> list[Row]:
    static = tables.get("static")
    released = kept(tables["reviewed"] if static is None else static)
    removed = None if static is None else static.height - kept(static).height
    videos = kept(tables["pool"]).join(released, on="video", how="semi")
    lengths = (videos["end_s"] - videos["start_s"]).to_list()
    named = released["dimensions"].to_list()
    leaves = Counter(leaf for one in named for leaf in one)
    groups = Counter(name for one in named for name in {L2_OF[leaf] for leaf in one})
    kinds = Counter(map(question_type, released["question"].to_list()))
    l2 = [name for half in HALVES.values() for name in half]
    words = {name: [len(text.split()) for text in released[name].to_list()] for name in ("question", "answer")}
    return [
        beside("videos collected", "all", None, tables["pool"].height, "the paper does not say"),
        beside("video clips", "all", 609, videos.height, "with a question that is released"),
        beside("categories of videos", "all", 16, videos["video_type"].n_unique()),
        *_spread("duration of a clip (s)", 165.4, 80.7, lengths),
        beside("duration of a clip (s)", "shortest", 30, min(lengths, default=None), "16.9 in the paper's datasheet"),
        beside("duration of a clip (s)", "longest", 360, max(lengths, default=None)),
        beside("duration of all clips (h)", "all", 28, sum(lengths) / HOUR),
        beside("shots of a clip", "mean", 32.6, None, SHOTS),
        beside("shots of a clip", "standard deviation", 33.5, None, SHOTS),
        beside("shots of a clip", "most", 210, None, SHOTS),
        beside("questions written", "all", None, tables["candidates"].height, "rows of the annotators"),
        beside("questions cross-validated", "all", None, kept(tables["reviewed"]).height, "before the static filter"),
        beside("static questions removed", "all", 246, removed),
        beside("questions", "all", 1998, released.height),
        beside("leaf abilities", "all", 26, len(leaves)),
        *(beside("questions of an ability (level 2)", name, None, groups[name], IN_FIGURE) for name in l2),
        *(beside("questions of a leaf", leaf, None, leaves[leaf], IN_FIGURE) for leaf in L2_OF),
        *(beside("questions of a type", kind, None, kinds[kind], IN_FIGURE) for kind in (*QUESTION_TYPES, OTHER_TYPE)),
        *_spread("words of a question", 10.9, 4.1, words["question"]),
        *_spread("words of an answer", 8.4, 7.7, words["answer"]),
    ]


def _spread(what: str, mean: float, deviation: float, values: Sequence[float]) -> list[Row]:
    """Mean and standard deviation of all values, as Table 1 counts them."""
    centre = sum(values) / len(values) if values else None
    ours = None if centre is None else (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [beside(what, "mean", mean, centre), beside(what, "standard deviation", deviation, ours)]
