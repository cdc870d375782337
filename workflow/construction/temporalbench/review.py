"""TemporalBench's review, option sets (Table 4), long videos, release and statistics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import seeded_digest, shuffled
from human_evaluation.tasks import Task, as_json, count_votes, read_verdicts
from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.temporalbench.option_sets import CAPTION_NAMES
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.core.names import format_seconds

from construction.filters import Row, kept_rows, statistic_row
from construction.review import ReviewResult, decide, task_rows
from construction.settings import TemporalBenchSettings, writers_of
from construction.tables import NEGATIVE_FILTERS
from construction.temporalbench.making import CENTRAL, EVENTS, WORDS, kept_word_negatives

FITS, DOES_NOT_FIT, CANNOT_TELL = "fits", "does not fit", "cannot be told"
OPTION_VERDICTS = (FITS, DOES_NOT_FIT, CANNOT_TELL)  # The order is fixed, so it does not reveal which option is true.
CAPTION_TASK = "caption/"  # the prefix of tasks that ask annotators to describe a clip
# In Table 4, C is a clip's caption and N1(C) the negative of C whose own negatives are options too. An option set has
# C, N1(C), this number of other negatives of C, and as many negatives of N1(C).
OTHER_NEGATIVES = 2
# The last line is the authors' wording; the text before the captions is Reprise's.
QUESTION_TEMPLATE = (
    "Which caption best describes this video?\nA. {}\nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)
EXAMPLE_COUNT = 3  # the number of example captions in a captioning prompt (section 4.4)
CAPTION_PROMPT = "Here are three captions of other videos.\n1. {}\n2. {}\n3. {}\nDescribe this video in the same style."
Entry = dict[str, Any]
"""a question or captioning prompt of a release file"""


def option_task_id(clip: str, text: str) -> str:
    """Return the task id of an option, which does not reveal whether the option is true."""
    return f"{clip}/{seeded_digest(0, text)[:10]}"


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: TemporalBenchSettings) -> ReviewResult:
    """Return the negatives with the verdicts on them and on their captions, and the open tasks."""
    by_clip = group_by_key(kept_rows(tables["samples"]).iter_rows(named=True), lambda row: row["clip"])
    tasks = []  # The options of a clip are adjacent, in random order.
    for clip, clip_rows in by_clip.items():
        options = {clip_rows[0]["caption"], *(row["negative"] for row in clip_rows)}
        sort_key_by_option = {text: seeded_digest(settings.seed, clip, text) for text in options}
        for text in sorted(options, key=sort_key_by_option.__getitem__):
            tasks.append(Task(option_task_id(clip, text), OPTION_VERDICTS, {"video": clip, "option": text}))
    # Verdicts on captioning tasks are left out, because `count_votes` would report their tasks as unknown.
    caption_task_ids = {f"{CAPTION_TASK}{clip}" for clip in tables["pool"]["clip"]}
    votes = count_votes(
        tasks, [verdict for verdict in read_verdicts(verdicts) if verdict.task_id not in caption_task_ids]
    )
    caption_decisions = decide(tasks, votes, settings.review)
    # For a negative, `does not fit` is the accepting verdict.
    negative_tasks = [task._replace(choices=(DOES_NOT_FIT, FITS, CANNOT_TELL)) for task in tasks]
    negative_decisions = decide(negative_tasks, votes, settings.review)
    rows = []
    for row in tables["samples"].iter_rows(named=True):
        outcome: Row = {"votes": 0, "in_favour": 0}
        if not row["filter"]:
            caption_decision = caption_decisions[option_task_id(row["clip"], row["caption"])]
            outcome = dict(negative_decisions[option_task_id(row["clip"], row["negative"])])
            if caption_decision["filter"]:
                outcome |= {
                    "filter": f"caption_{caption_decision['filter']}",
                    "why": f"its caption: {caption_decision['why']}",
                }
        rows.append(row | outcome)
    # Clips with no caption or several need exactly one, which annotators add to an annotation file.
    clips_to_describe = tables["pool"].filter(pl.col("filter").is_in(["no_caption", "two_captions"]))
    caption_tasks = [
        Task(f"{CAPTION_TASK}{clip}", ("described",), {"video": clip, "option": caption})
        for clip, caption in clips_to_describe.select("clip", "caption").iter_rows()
    ]
    open_tasks = task_rows([*tasks, *caption_tasks], votes, settings.review.votes)
    return ReviewResult(
        with_option_sets(rows), votes.verdict_rows(votes.by_task), open_tasks, ("video", "option"), votes.problems
    )


# N1(C) of Table 4 is chosen after the review.


def with_option_sets(rows: Sequence[Row]) -> list[Row]:
    """Choose N1(C) of each clip. Drop the negatives of the clip's other negatives, which no option set needs."""
    drop_by_sample: dict[str, Row] = {}
    for clip_rows in group_by_key(rows, lambda row: row["clip"]).values():
        central_rows = [row for row in clip_rows if row["level"] == CENTRAL and not row["filter"]]
        texts_with_negatives = {row["of"] for row in clip_rows if row["level"] == CENTRAL}
        word_negatives = sorted(
            (row for row in clip_rows if row["level"] == WORDS), key=lambda row: str(row["sample_id"])
        )
        # Negative that has negatives of its own -> why it cannot be N1(C), or "". N1(C) is the first usable negative.
        reasons = {
            row["negative"]: _option_set_problem(row["negative"], clip_rows, central_rows)
            for row in word_negatives
            if row["negative"] in texts_with_negatives
        }
        chosen_negative = next((negative for negative, reason in reasons.items() if not reason), None)
        for row in central_rows:
            if chosen_negative is None:
                drop_by_sample[row["sample_id"]] = {"filter": "no_option_set", "why": reasons[row["of"]]}
            elif row["of"] != chosen_negative:
                drop_by_sample[row["sample_id"]] = {
                    "filter": "other_option_set",
                    "why": f"N1(C) is '{chosen_negative}'",
                }
    return [row | drop_by_sample.get(row["sample_id"], {}) for row in rows]


def _option_set_problem(candidate: str, clip_rows: Sequence[Row], central_rows: Sequence[Row]) -> str:
    """Return why a negative cannot be N1(C) of an option set, or an empty text if it can."""
    word_negatives = [row["negative"] for row in kept_word_negatives(clip_rows)]
    if candidate not in word_negatives:
        # A repeated or unusable line with the same text was dropped too, but is not the reason.
        reasons = [
            row["filter"] for row in clip_rows if row["negative"] == candidate and row["filter"] not in NEGATIVE_FILTERS
        ]
        return f"N1(C) was dropped: {', '.join(dict.fromkeys(reasons))}"
    if len(word_negatives) <= OTHER_NEGATIVES:
        return f"{len(word_negatives)} negatives of the caption are left, {OTHER_NEGATIVES + 1} are needed"
    count = sum(row["of"] == candidate for row in central_rows)
    return "" if count >= OTHER_NEGATIVES else f"{count} negatives of N1(C) are left, {OTHER_NEGATIVES} are needed"


def option_sets(rows: Sequence[Row]) -> Iterator[tuple[Row, list[str]]]:
    """Yield a row and the captions of each option set: C, N1(C), two other negatives of C, two negatives of N1(C)."""
    for clip_rows in group_by_key((row for row in rows if not row["filter"]), lambda row: row["clip"]).values():
        central_rows = [row for row in clip_rows if row["level"] == CENTRAL]
        if central_rows:
            chosen_negative = central_rows[0]["of"]
            other_negatives = [
                row["negative"] for row in kept_word_negatives(clip_rows) if row["negative"] != chosen_negative
            ][:OTHER_NEGATIVES]
            yield (
                central_rows[0],
                [
                    central_rows[0]["caption"],
                    chosen_negative,
                    *other_negatives,
                    *(row["negative"] for row in central_rows),
                ],
            )


class LongVideo(NamedTuple):
    """A part of a source video, from the start of its first clip to the end of its last clip."""

    dataset: str
    video: str
    start_s: float
    end_s: float
    clips: tuple[str, ...]
    caption: str
    negatives: tuple[str, ...]  # `caption` with one clip's caption replaced by one of its negatives


def long_videos(reviewed: pl.DataFrame, settings: TemporalBenchSettings) -> list[LongVideo]:
    """Return a long video for each source video with at least two clips, ordered by name."""
    rows = [
        row
        for row in kept_rows(reviewed).filter(pl.col("level") != CENTRAL).iter_rows(named=True)
        if row["dataset"] in settings.long_datasets
    ]
    videos = []
    for source, video_rows in sorted(group_by_key(rows, lambda row: (row["dataset"], row["video"])).items()):
        by_clip = group_by_key(video_rows, lambda row: row["clip"])
        sampled_clips = shuffled(by_clip, settings.seed)[: settings.long_clips]
        sampled_rows = [clip_rows for clip, clip_rows in by_clip.items() if clip in sampled_clips]
        parts: list[list[Row]] = []  # the rows of each clip of the long video; all rows of a clip have the same span
        for clip_rows in sorted(sampled_rows, key=lambda clip_rows: clip_rows[0]["start_s"]):
            if not parts or clip_rows[0]["start_s"] >= parts[-1][0]["end_s"]:  # Skip overlapping clips.
                parts.append(clip_rows)
        if len(parts) < 2:
            continue
        captions = [part[0]["caption"] for part in parts]
        # sample id -> index of the clip in the long video, and a negative of this clip's caption
        negative_by_sample = {
            row["sample_id"]: (index, row["negative"]) for index, part in enumerate(parts) for row in part
        }
        sample_order = sorted(negative_by_sample, key=lambda sample: seeded_digest(settings.seed, *source, sample))
        negatives = []
        for sample in sample_order[: settings.long_negatives]:
            index, negative = negative_by_sample[sample]
            negatives.append(" ".join([*captions[:index], negative, *captions[index + 1 :]]))
        start_s, end_s = parts[0][0]["start_s"], parts[-1][0]["end_s"]
        clips = tuple(part[0]["clip"] for part in parts)
        videos.append(LongVideo(*source, start_s, end_s, clips, " ".join(captions), tuple(negatives)))
    return videos


def release(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> dict[str, str]:
    """Return the content of each release file, and of the option sets of Table 4, which the authors did not release.

    Clips and negatives are ordered by name to make the files reproducible.
    """
    rows = sorted(kept_rows(tables["reviewed"]).to_dicts(), key=lambda row: row["sample_id"])
    by_clip = group_by_key((row for row in rows if row["level"] != CENTRAL), lambda row: row["clip"])
    short = [
        _entry(short_video_name(row), number, row["dataset"], (row["caption"], row["negative"]))
        | {"category": row["category"]}
        for clip_rows in by_clip.values()
        for number, row in enumerate(clip_rows)
    ]
    long = [
        _entry(long_video_name(video), number, video.dataset, (video.caption, negative))
        for video in long_videos(tables["reviewed"], settings)
        for number, negative in enumerate(video.negatives)
    ]
    central = [
        {
            "idx": short_video_name(row),
            "video_name": short_video_name(row),
            **dict(zip(CAPTION_NAMES, texts, strict=True)),
        }
        for row, texts in option_sets(rows)
    ]
    return {
        "temporalbench_short_qa.json": as_json(assign_letters(short, settings.seed)),
        "temporalbench_long_qa.json": as_json(assign_letters(long, settings.seed)),
        "temporalbench_short_caption.json": as_json(list(_caption_entries(by_clip, settings))),
        "temporalbench_central.json": as_json(central),
    }


def video_file_name(folder: str, dataset: str, video: str, start_s: float, end_s: float) -> str:
    """Return a video's file name in the format of the authors' release."""
    return f"{folder}/{dataset}/{video}_start_{format_seconds(start_s)}_end_{format_seconds(end_s)}.mp4"


def short_video_name(row: Mapping[str, Any]) -> str:
    """Return the file name of a clip; `row` is a reviewed negative of the clip."""
    return video_file_name("short_video", row["dataset"], row["video"], row["start_s"], row["end_s"])


def long_video_name(video: LongVideo) -> str:
    """Return the file name of a long video."""
    return video_file_name("long_video", video.dataset, video.video, video.start_s, video.end_s)


def _entry(name: str, number: int, dataset: str, captions: tuple[str, str]) -> Entry:
    """Return a question without its text. The first caption is the true one."""
    return {"idx": f"{name}_{number}", "video_name": name, "dataset": dataset, "captions": captions}


def assign_letters(entries: Iterable[Entry], seed: int) -> list[Entry]:
    """Return the questions with their options. The true caption is A in a seeded half of the questions."""
    entry_list = list(entries)
    true_first = set(shuffled((entry["idx"] for entry in entry_list), seed)[: len(entry_list) // 2])
    questions = []
    for entry in entry_list:
        options = entry["captions"] if entry["idx"] in true_first else entry["captions"][::-1]
        question = {"question": QUESTION_TEMPLATE.format(*options), "GT": "A" if entry["idx"] in true_first else "B"}
        questions.append({name: value for name, value in entry.items() if name != "captions"} | question)
    return questions


def _caption_entries(by_clip: Mapping[str, Sequence[Row]], settings: TemporalBenchSettings) -> Iterator[Entry]:
    """Yield a captioning prompt for each clip with a human caption, with captions of three other videos as examples."""
    row_by_clip = {clip: rows[0] for clip, rows in by_clip.items() if rows[0]["dataset"] not in settings.described}
    for clip, row in row_by_clip.items():
        other_clips = sorted(
            (key for key in row_by_clip if key != clip),
            key=lambda other_clip: seeded_digest(settings.seed, clip, other_clip),
        )
        if len(other_clips) >= EXAMPLE_COUNT:
            name, captions = short_video_name(row), [row_by_clip[key]["caption"] for key in other_clips[:EXAMPLE_COUNT]]
            yield {
                "idx": name, "video_name": name, "dataset": row["dataset"],
                "question": CAPTION_PROMPT.format(*captions),
                "GT": row["caption"],
            }  # fmt: skip


# Table 1: data set -> (clips, mean words of the original captions, mean words of the paper's captions).
TABLE1 = {
    "ActivityNet": (281, 13.03, 49.55), "EgoExo4D": (307, 7.73, 47.79), "Charades": (298, 6.21, 44.16),
    "Movie_Description": (326, 12.39, 35.33), "Oops": (294, 10.06, 43.27), "COIN": (385, 5.01, 50.06),
    "FineGym": (288, 21.92, 21.92),
}  # fmt: skip
MEAN_WORDS = {"words of the original description (Table 1)": 10.9, "words of the caption (Table 1)": 41.72}
MEAN_NOTE = "mean over the data sets, as in the paper"
LONG_DATASETS = ("ActivityNet", "Charades", "COIN", "FineGym")
PAPER_VIDEO_COUNT, PAPER_QUESTION_COUNT = 2179, 9918
# Table 5: category -> questions.
TABLE5 = {
    "Action Order": 130, "Action Frequency": 531, "Action Type": 2812, "Motion Magnitude": 321,
    "Motion Direction/Orientation": 1554, "Action Effector": 1118, "Event Order": 2105, "Others": 1347,
}  # fmt: skip
PAPER_WRITERS = "GPT-4o, Gemini-1.5-Pro and Llama-3.1-405b"


def statistics(tables: Mapping[str, pl.DataFrame], settings: TemporalBenchSettings) -> list[Row]:
    """Return counts and means of the construction beside those that the paper states."""
    pool = kept_rows(tables["pool"])
    released = kept_rows(tables["reviewed"]).filter(pl.col("level") != CENTRAL)
    videos = pool.join(released, on="clip", how="semi")
    question_counts = released.group_by("clip", maintain_order=True).len()["len"].to_list()
    categories = Counter(released["category"])
    list_lengths = tables["samples"].group_by("level", "clip", "writer").len()
    max_counts = {
        level: max(map(float, list_lengths.filter(level=level)["len"]), default=None) for level in (WORDS, EVENTS)
    }
    long_video_list = long_videos(tables["reviewed"], settings)
    long_video_counts = Counter(video.dataset for video in long_video_list)
    option_set_count = len(list(option_sets(tables["reviewed"].to_dicts())))
    # Count each writer's negatives at each stage. A negative of two writers counts for the first writer.
    writers = writers_of(settings)
    note = PAPER_WRITERS if len(writers) > 1 else f"{PAPER_WRITERS} in the paper; one writer here"
    by_writer = [statistic_row("writer models", "all", 3, len(writers), note)]
    caption_negatives = tables["samples"].filter(pl.col("level") != CENTRAL)
    tables_by_stage = {"as written": caption_negatives, "in review": kept_rows(caption_negatives), "released": released}
    if len(writers) > 1:
        for stage_name, table in tables_by_stage.items():
            counts = Counter(table["writer"])
            by_writer += [
                statistic_row(f"negatives of captions {stage_name}", writer, None, counts[writer]) for writer in writers
            ]
    return [
        statistic_row("source data sets", "all", 7, videos["dataset"].n_unique()),
        *_table1(videos),
        statistic_row("captions refined", "all", None, pool.filter("is_refined").height, "the paper states no number"),
        statistic_row(
            "seconds of the longest clip", "all", 20, max(videos["seconds"].drop_nulls(), default=None), "at most"
        ),
        statistic_row("negatives of a caption as written, most", WORDS, 9, max_counts[WORDS], "at most"),
        statistic_row("negatives of a caption as written, most", EVENTS, 6, max_counts[EVENTS], "at most"),
        *by_writer,
        *(statistic_row("questions (Table 5)", name, TABLE5[name], categories[name]) for name in CATEGORIES),
        statistic_row(
            "questions (Table 5)", "all", PAPER_QUESTION_COUNT, released.height, "9,867 in the authors' release"
        ),
        statistic_row(
            "questions of a video",
            "all",
            None,
            _mean(question_counts),
            f"not a number of the paper; its totals give {PAPER_QUESTION_COUNT / PAPER_VIDEO_COUNT:.2f}",
        ),
        statistic_row(
            "chance that all questions of a video are right, %",
            "all",
            9.4,
            _mean(100 * 0.5**count for count in question_counts),  # Each question has two options.
        ),
        statistic_row("data sets of long videos", "all", len(LONG_DATASETS), len(long_video_counts)),
        *(
            statistic_row("long videos", name, None, long_video_counts[name], "not stated in the paper")
            for name in LONG_DATASETS
        ),
        statistic_row(
            "negatives of a long video",
            "all",
            4,
            _mean(len(video.negatives) for video in long_video_list),
            "about 4; mean",
        ),
        statistic_row("option sets (Table 4)", "all", None, option_set_count, "one per video; not stated in the paper"),
        statistic_row(
            "videos without an option set",
            "all",
            None,
            videos.height - option_set_count,
            "see the filter `no_option_set` and the filters before it",
        ),
    ]


def _table1(videos: pl.DataFrame) -> list[Row]:
    """Return the statistics of Table 1: numbers of videos and mean lengths of texts per data set and overall."""
    rows = []
    means: dict[str, list[float | None]] = {measure: [] for measure in MEAN_WORDS}
    for name, (clips, *paper_means) in TABLE1.items():
        dataset_videos = videos.filter(dataset=name)
        rows.append(statistic_row("videos (Table 1)", name, clips, dataset_videos.height))
        for (measure, dataset_means), paper_mean, column in zip(
            means.items(), paper_means, ("description", "caption"), strict=True
        ):
            dataset_means.append(_mean(len(text.split()) for text in dataset_videos[column]))
            rows.append(statistic_row(measure, name, paper_mean, dataset_means[-1]))
    rows.append(statistic_row("videos (Table 1)", "all", PAPER_VIDEO_COUNT, videos.height))
    return [
        *rows,
        *(
            statistic_row(measure, "all", MEAN_WORDS[measure], _mean(dataset_means), MEAN_NOTE)
            for measure, dataset_means in means.items()
        ),
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers that are known, or None without any."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None
