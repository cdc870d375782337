"""TemporalBench's review as multiple choice, the option sets of Table 4, long videos, its release and its numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import rank, shuffled
from human_evaluation.tasks import Task, as_json, counted, read_verdicts
from reprise.benchmarks.rows import grouped
from reprise.benchmarks.temporalbench.option_sets import SET_NAMES
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.core.names import seconds

from construction.filters import Row, beside, kept
from construction.review import Reviewed, decided, task_rows
from construction.settings import TemporalBenchSettings, writers_of
from construction.tables import OF_NEGATIVES
from construction.temporalbench.making import CENTRAL, EVENTS, WORDS, kept_words

FITS, DOES_NOT, UNKNOWN = "fits", "does not fit", "cannot be told"
OF_OPTIONS = (FITS, DOES_NOT, UNKNOWN)  # people read them in one order, which does not tell the options apart
CAPTION_TASK = "caption/"  # what the names of tasks begin with that ask people to describe a clip
OTHERS = 2  # negatives of the caption beside N1(C), and negatives of N1(C)
# The last line is the authors'; what stands before the captions is ours.
QUESTION = (
    "Which caption best describes this video?\nA. {}\nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)
EXAMPLES = 3  # captions of other videos in a question for a caption (section 4.4)
CAPTION = "Here are three captions of other videos.\n1. {}\n2. {}\n3. {}\nDescribe this video in the same style."
Entry = dict[str, Any]


def option_name(clip: str, text: str) -> str:
    """Name of the task about an option; it says nothing of which one is true."""
    return f"{clip}/{rank(0, text)[:10]}"


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: TemporalBenchSettings) -> Reviewed:
    """The negatives with what people said of them and of their captions, and what is left for people to do."""
    by_clip = grouped(kept(tables["samples"]).iter_rows(named=True), lambda row: row["clip"])
    tasks = [  # those of a video stand together, its true caption among them in drawn order
        Task(option_name(clip, text), OF_OPTIONS, {"video": clip, "option": text})
        for clip, own in by_clip.items()
        for text in sorted(
            {own[0]["caption"], *(row["negative"] for row in own)}, key=lambda text: rank(settings.seed, clip, text)
        )
    ]
    described = {f"{CAPTION_TASK}{clip}" for clip in tables["pool"]["clip"]}  # a verdict on these is no problem
    votes = counted(tasks, [one for one in read_verdicts(verdicts) if one.task_id not in described])
    captions = decided(tasks, votes, settings.review)
    against = [task._replace(choices=(DOES_NOT, FITS, UNKNOWN)) for task in tasks]  # what is in favour of a negative
    negatives = decided(against, votes, settings.review)
    rows = []
    for row in tables["samples"].iter_rows(named=True):
        found: Row = {"votes": 0, "in_favour": 0}
        if not row["filter"]:
            caption = captions[option_name(row["clip"], row["caption"])]
            found = {**negatives[option_name(row["clip"], row["negative"])]}
            if caption["filter"]:
                found |= {"filter": f"caption_{caption['filter']}", "why": f"its caption: {caption['why']}"}
        rows.append(row | found)
    # Clips that still need a caption, or one in the place of several: it goes into a file of the annotations.
    undescribed = tables["pool"].filter(pl.col("filter").is_in(["no_caption", "two_captions"]))
    wanted = [
        Task(f"{CAPTION_TASK}{clip}", ("described",), {"video": clip, "option": shown})
        for clip, shown in undescribed.select("clip", "caption").iter_rows()
    ]
    left = task_rows([*tasks, *wanted], votes, settings.review.votes)
    return Reviewed(with_option_sets(rows), votes.said(votes.by_task), left, ("video", "option"), votes.problems)


# Which negative of a caption is N1(C) of Table 4 is chosen after people have said which captions fit.


def with_option_sets(rows: Sequence[Row]) -> list[Row]:
    """The negatives of each clip; those of a negative stay only where they make the clip's one option set."""
    dropped: dict[str, Row] = {}
    for own in grouped(rows, lambda row: row["clip"]).values():
        again = [row for row in own if row["level"] == CENTRAL and not row["filter"]]
        made = {row["of"] for row in own if row["level"] == CENTRAL}
        words = sorted((row for row in own if row["level"] == WORDS), key=lambda row: str(row["sample_id"]))
        # Of the negatives of which negatives were made, in the order in which they are tried, why each cannot be N1(C).
        broken = {row["negative"]: _broken(row["negative"], own, again) for row in words if row["negative"] in made}
        chosen = next((first for first, why in broken.items() if not why), None)
        for row in again:
            if chosen is None:
                dropped[row["sample_id"]] = {"filter": "no_option_set", "why": broken[row["of"]]}
            elif row["of"] != chosen:
                dropped[row["sample_id"]] = {"filter": "other_option_set", "why": f"N1(C) is '{chosen}'"}
    return [row | dropped.get(row["sample_id"], {}) for row in rows]


def _broken(first: str, own: Sequence[Row], again: Sequence[Row]) -> str:
    words = [row["negative"] for row in kept_words(own)]
    left = sum(row["of"] == first for row in again)
    if first not in words:
        why = [row["filter"] for row in own if row["negative"] == first and row["filter"] not in OF_NEGATIVES]
        return f"N1(C) was dropped: {', '.join(dict.fromkeys(why))}"
    if len(words) <= OTHERS:
        return f"{len(words)} negatives of the caption are left, {OTHERS + 1} are needed"
    return "" if left >= OTHERS else f"{left} negatives of N1(C) are left, {OTHERS} are needed"


def option_sets(rows: Sequence[Row]) -> Iterator[tuple[Row, list[str]]]:
    """Of each clip that has one a row of it, and its captions: C, N1(C), N2(C), N3(C), two negatives of N1(C)."""
    for own in grouped((row for row in rows if not row["filter"]), lambda row: row["clip"]).values():
        again = [row for row in own if row["level"] == CENTRAL]
        if again:
            first = again[0]["of"]
            others = [row["negative"] for row in kept_words(own) if row["negative"] != first][:OTHERS]
            yield again[0], [again[0]["caption"], first, *others, *(row["negative"] for row in again)]


class LongVideo(NamedTuple):
    """A part of a source video, from its earliest clip to the end of its latest one: clips in a row."""

    dataset: str
    video: str
    start_s: float
    end_s: float
    clips: tuple[str, ...]
    caption: str
    negatives: tuple[str, ...]  # in each the caption of one clip is replaced by one of its negatives


def long_videos(reviewed: pl.DataFrame, settings: TemporalBenchSettings) -> list[LongVideo]:
    """One of each source video with two clips or more, in the order of their names."""
    rows = [
        row
        for row in kept(reviewed).filter(pl.col("level") != CENTRAL).iter_rows(named=True)
        if row["dataset"] in settings.long_datasets
    ]
    found = []
    for name, own in sorted(grouped(rows, lambda row: (row["dataset"], row["video"])).items()):
        by_clip = grouped(own, lambda row: row["clip"])
        drawn = shuffled(by_clip, settings.seed)[: settings.long_clips]
        clips: list[list[Row]] = []
        for clip in sorted((by_clip[one] for one in by_clip if one in drawn), key=lambda clip: clip[0]["start_s"]):
            if not clips or clip[0]["start_s"] >= clips[-1][0]["end_s"]:  # one that begins earlier is left out
                clips.append(clip)
        if len(clips) < 2:
            continue
        captions = [part[0]["caption"] for part in clips]
        options = {row["sample_id"]: (place, row["negative"]) for place, part in enumerate(clips) for row in part}
        chosen = sorted(options, key=lambda one: rank(settings.seed, *name, one))[: settings.long_negatives]
        negatives = [
            " ".join([*captions[:place], negative, *captions[place + 1 :]])
            for place, negative in (options[one] for one in chosen)
        ]
        start, end, parts = clips[0][0]["start_s"], clips[-1][0]["end_s"], tuple(part[0]["clip"] for part in clips)
        found.append(LongVideo(*name, start, end, parts, " ".join(captions), tuple(negatives)))
    return found


def release(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> dict[str, str]:
    """File -> content, and the captions of Table 4, which the authors did not release.

    Clips and negatives are in the order of their names, so that a file stays the same.
    """
    rows = sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"])
    by_clip = grouped((row for row in rows if row["level"] != CENTRAL), lambda row: row["clip"])
    short = [
        _entry(short_name(row), number, row["dataset"], (row["caption"], row["negative"]))
        | {"category": row["category"]}
        for own in by_clip.values()
        for number, row in enumerate(own)
    ]
    long = [
        _entry(file_name("long_video", *one[:4]), number, one.dataset, (one.caption, negative))
        for one in long_videos(tables["reviewed"], settings)
        for number, negative in enumerate(one.negatives)
    ]
    central = [
        dict.fromkeys(("idx", "video_name"), short_name(row)) | dict(zip(SET_NAMES, texts, strict=True))
        for row, texts in option_sets(rows)
    ]
    return {
        "temporalbench_short_qa.json": as_json(with_letters(short, settings.seed)),
        "temporalbench_long_qa.json": as_json(with_letters(long, settings.seed)),
        "temporalbench_short_caption.json": as_json(list(_captions(by_clip, settings))),
        "temporalbench_central.json": as_json(central),
    }


def file_name(folder: str, dataset: str, video: str, start_s: float, end_s: float) -> str:
    """A video's file, as the authors name it."""
    return f"{folder}/{dataset}/{video}_start_{seconds(start_s)}_end_{seconds(end_s)}.mp4"


def short_name(row: Mapping[str, Any]) -> str:
    return file_name("short_video", row["dataset"], row["video"], row["start_s"], row["end_s"])


def _entry(name: str, number: int, dataset: str, captions: tuple[str, str]) -> Entry:
    return {"idx": f"{name}_{number}", "video_name": name, "dataset": dataset, "captions": captions}


def with_letters(entries: Iterable[Entry], seed: int) -> list[Entry]:
    """The questions; the true caption is A in half of them, drawn by the seed."""
    listed = list(entries)
    first = set(shuffled((one["idx"] for one in listed), seed)[: len(listed) // 2])
    found = []
    for one in listed:
        shown = one["captions"] if one["idx"] in first else one["captions"][::-1]
        question = {"question": QUESTION.format(*shown), "GT": "A" if one["idx"] in first else "B"}
        found.append({name: value for name, value in one.items() if name != "captions"} | question)
    return found


def _captions(by_clip: Mapping[str, Sequence[Row]], settings: TemporalBenchSettings) -> Iterator[Entry]:
    """A caption is asked of what people described, with captions of three other videos."""
    asked = {clip: rows[0] for clip, rows in by_clip.items() if rows[0]["dataset"] not in settings.described}
    for clip, row in asked.items():
        others = sorted((one for one in asked if one != clip), key=lambda one: rank(settings.seed, clip, one))
        if len(others) >= EXAMPLES:
            name, shown = short_name(row), [asked[one]["caption"] for one in others[:EXAMPLES]]
            yield {
                "idx": name, "video_name": name, "dataset": row["dataset"], "question": CAPTION.format(*shown),
                "GT": row["caption"],
            }  # fmt: skip


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
# Table 5: category -> questions.
TABLE5 = {
    "Action Order": 130, "Action Frequency": 531, "Action Type": 2812, "Motion Magnitude": 321,
    "Motion Direction/Orientation": 1554, "Action Effector": 1118, "Event Order": 2105, "Others": 1347,
}  # fmt: skip
WRITERS = "GPT-4o, Gemini-1.5-Pro and Llama-3.1-405b"


def statistics(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> list[Row]:
    pool = kept(tables["pool"])
    released = kept(tables["reviewed"]).filter(pl.col("level") != CENTRAL)
    videos = pool.join(released, on="clip", how="semi")
    questions = released.group_by("clip", maintain_order=True).len()["len"].to_list()
    categories = Counter(released["category"])
    written = tables["samples"].group_by("level", "clip", "writer").len()
    most = {level: max(map(float, written.filter(level=level)["len"]), default=None) for level in (WORDS, EVENTS)}
    long = long_videos(tables["reviewed"], settings)
    joined = Counter(one.dataset for one in long)
    sets = len(list(option_sets(tables["reviewed"].to_dicts())))
    # What several writers wrote, and what is left of it; what two of them wrote is the first one's.
    writers = writers_of(settings)
    note = WRITERS if len(writers) > 1 else f"{WRITERS}; one writer here"
    by_writer = [beside("language models that write", "all", 3, len(writers), note)]
    of_caption = tables["samples"].filter(pl.col("level") != CENTRAL)
    steps = {"as written": of_caption, "that people review": kept(of_caption), "released": released}
    for what, table in steps.items() if len(writers) > 1 else ():
        own = Counter(table["writer"])
        by_writer += [beside(f"negatives of captions {what}", writer, None, own[writer]) for writer in writers]
    return [
        beside("source data sets", "all", 7, videos["dataset"].n_unique()),
        *_table1(videos),
        beside("captions refined", "all", None, pool.filter("is_refined").height, "the paper says that, not how many"),
        beside("seconds of the longest clip", "all", 20, max(videos["seconds"].drop_nulls(), default=None), "at most"),
        beside("negatives of a caption as written, most", WORDS, 9, most[WORDS], "at most"),
        beside("negatives of a caption as written, most", EVENTS, 6, most[EVENTS], "at most"),
        *by_writer,
        *(beside("questions (Table 5)", name, TABLE5[name], categories[name]) for name in CATEGORIES),
        beside("questions (Table 5)", "all", QUESTIONS, released.height, "9,867 in the authors' release"),
        beside(
            "questions of a video",
            "all",
            None,
            _mean(questions),
            f"not a number of the paper; its totals give {QUESTIONS / VIDEOS:.2f}",
        ),
        beside(
            "chance that all questions of a video are right, %", "all", 9.4, _mean(100 * 0.5**one for one in questions)
        ),
        beside("data sets of long videos", "all", len(LONG_DATASETS), len(joined)),
        *(beside("long videos", name, None, joined[name], "how many: not in the paper") for name in LONG_DATASETS),
        beside("negatives of a long video", "all", 4, _mean(len(one.negatives) for one in long), "about 4; our mean"),
        beside("option sets (Table 4)", "all", None, sets, "one of a video; how many: not in the paper"),
        beside(
            "videos without an option set",
            "all",
            None,
            videos.height - sets,
            "see the filter `no_option_set`, and those before it",
        ),
    ]


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
