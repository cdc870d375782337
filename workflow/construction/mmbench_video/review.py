"""MMBench-Video's cross-validation, its filter of static questions (appendix C.1), its release and its numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from human_evaluation.tasks import Problem, Task, as_csv, counted, known_as, read_verdicts
from reprise.benchmarks.mmbench_video.analyses import OTHER_TYPE, QUESTION_TYPES, question_type
from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.benchmarks.mmbench_video.scores import mean_ratings
from reprise.benchmarks.mmbench_video.taxonomy import HALVES, L2_OF

from construction.filters import KEPT, Row, beside, kept
from construction.review import Reviewed, decided, judged, task_rows
from construction.settings import MmbenchVideoSettings

OF_QUESTIONS = (
    "correct", "answer is wrong", "ability is wrong", "breaks a guideline", "cannot be told from the video",
)  # fmt: skip
OF_FRAMES = ("needs the video", "one frame is enough")
SHOWN = ("video", "question", "answer", "dimensions")


def _shown(row: Row, *columns: str) -> dict[str, str]:
    return {name: "; ".join(row[name]) if isinstance(row[name], list) else row[name] for name in (*SHOWN, *columns)}


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: MmbenchVideoSettings) -> Reviewed:
    """The questions with what people said of them, who did not write them, and what is left for people to do."""
    rows = tables["samples"].to_dicts()
    tasks = [Task(row["sample_id"], OF_QUESTIONS, _shown(row, "warnings")) for row in rows if not row["filter"]]
    authors = {row["sample_id"]: known_as(row["annotator"]) for row in rows}
    own, others = [], []
    for one in read_verdicts(verdicts):
        if known_as(one.reviewer) and known_as(one.reviewer) == authors.get(one.task_id):
            own.append(Problem(one.where, "own_question", f"'{one.reviewer}' wrote {one.task_id}"))
        else:
            others.append(one)
    votes = counted(tasks, others)
    reviewed = judged(tables["samples"], decided(tasks, votes, settings.review))
    left = task_rows(tasks, votes, settings.review.votes)
    return Reviewed(reviewed, votes.said(votes.by_task), left, (*SHOWN, "warnings"), [*own, *votes.problems])


def static(
    reviewed: pl.DataFrame, rated: Sequence[pl.DataFrame], checked: Sequence[Path], settings: MmbenchVideoSettings
) -> Reviewed:
    """The questions with their ratings on one frame, and the list that people check by hand, highest means first."""
    assert settings.static is not None  # the filter is asked for
    means = dict(mean_ratings(rated).iter_rows())
    ratings = [dict(one.select("item_id", "score").iter_rows()) for one in rated]
    rows: list[Row] = [
        {**row, "mean": means.get(row["index"]), "ratings": [one.get(row["index"]) for one in ratings]}
        for row in kept(reviewed).iter_rows(named=True)
    ]
    rows = sorted(rows, key=lambda row: (-(row["mean"] or 0.0), row["sample_id"]))
    tasks = [Task(f"static/{row['sample_id']}", OF_FRAMES, _shown(row)) for row in rows]
    votes, needed, least = counted(tasks, read_verdicts(checked)), settings.review.votes, settings.static.least
    shown, decisions = {}, []
    for task, row in zip(tasks, rows, strict=True):
        mean, *digits = ("-" if one is None else f"{one:g}" for one in (row["mean"], *row["ratings"]))
        shown[task.task_id] = {"mean": mean, "ratings": " ".join(digits)}
        given = votes.by_task.get(task.task_id, {})
        in_favour = sum(verdict == OF_FRAMES[0] for verdict in given.values())
        against = len(given) - in_favour
        # What most people say if enough have looked, else what the ratings say. A question that was not asked stays.
        is_static, is_decided = row["mean"] is not None and row["mean"] >= least, len(given) >= needed
        verdict = KEPT
        if is_static and not (is_decided and in_favour > against):
            verdict = {"filter": "static", "why": f"mean rating {row['mean']:g} on one frame, {least:g} or more"}
        elif is_decided and against > in_favour:
            verdict = {"filter": "static_by_hand", "why": f"{against} of {len(given)} say so"}
        decisions.append(row | {"votes": len(given), "in_favour": in_favour} | verdict)
    listed = [task | shown[task["task_id"]] for task in task_rows(tasks, votes, needed)]
    return Reviewed(decisions, [], listed, ("mean", "ratings", *SHOWN), votes.problems)


def release(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> dict[str, str]:
    """File -> content, of the one table that is given. Questions are in the order of their videos and indices."""
    [questions] = tables.values()
    rows = [
        row | {"dimensions": str(row["dimensions"]), "video_path": f"./video/{row['video']}.mp4"}
        for row in kept(questions).sort("video", "index").iter_rows(named=True)
    ]
    return {"MMBench-Video.tsv": as_csv(rows, COLUMNS, "\t")}


SHOTS = "counted on the videos: Table 1 of the benchmark"
IN_FIGURE = "the paper shows it in a figure"


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
        beside("duration of all clips (h)", "all", 28, sum(lengths) / 3600),
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
    centre = sum(values) / len(values) if values else None
    ours = None if centre is None else (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [beside(what, "mean", mean, centre), beside(what, "standard deviation", deviation, ours)]
