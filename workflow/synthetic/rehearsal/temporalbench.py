"""Write a release of TemporalBench with the paper's counts of videos (Table 1) and short questions (Table 5)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import write_text

from synthetic.rehearsal.words import SEED, Clause, clause, identifier, split_evenly, story
from synthetic.toyworld.generate import Dice

# Data set -> number of its videos (Table 1).
VIDEOS = {
    "ActivityNet": 281,
    "EgoExo4D": 307,
    "Charades": 298,
    "Movie_Description": 326,
    "Oops": 294,
    "COIN": 385,
    "FineGym": 288,
}
# Category -> number of its short questions (Table 5).
QUESTIONS = {
    "Action Order": 130,
    "Action Frequency": 531,
    "Action Type": 2812,
    "Motion Magnitude": 321,
    "Motion Direction/Orientation": 1554,
    "Action Effector": 1118,
    "Event Order": 2105,
    "Others": 1347,
}
# The paper states no number of long questions. These are the counts of the release, about four per video.
LONG_QUESTIONS, LONG_VIDEOS = 5485, 1371
LONG_DATASETS = ("ActivityNet", "Charades", "FineGym", "COIN", "EgoExo4D")
# FineGym's captions are its original annotations, so its clips are not in the captioning task.
WITHOUT_CAPTIONS = "FineGym"
# Category -> part of a clause that its negatives change. Negatives of order categories exchange two clauses.
CHANGED = {
    "Action Frequency": "times",
    "Action Type": "deed",
    "Motion Magnitude": "manner",
    "Motion Direction/Orientation": "direction",
    "Action Effector": "agent",
    "Others": "place",
}
CLIPS_PER_SOURCE = 4  # short videos that are cut from the same source video
CLIP_SECONDS, GAP_SECONDS = 12, 2  # A clip of 10 s starts every 12 s, with a gap of 2 s.
QUESTION = (
    "Which caption best describes this video?\nA. {}\nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)
CAPTION = (
    "Here are three captions of other videos.\n1. {}\n2. {}\n3. {}\n"
    "Describe this video in the same way, with all its actions and their order."
)


class Clip(NamedTuple):
    """A short video with its captions."""

    dataset: str
    source: str
    position: int  # number of the clip in its source
    caption: str
    negatives: tuple[tuple[str, str], ...]
    """Categories and texts of negative captions."""

    def video_name(self) -> str:
        """Return the file name of the clip in the release."""
        return _video_name("short_video", self, self)


def _video_name(folder: str, first: Clip, last: Clip) -> str:
    """Return the file name of the part of a source from the first to the last of these clips."""
    start, end = CLIP_SECONDS * first.position, CLIP_SECONDS * (last.position + 1) - GAP_SECONDS
    return f"{folder}/{first.dataset}/{first.source}_start_{start}_end_{end}.mp4"


def build_clips() -> list[Clip]:
    """Return the short videos, with the categories of questions distributed over them."""
    dice = Dice(SEED, 3)  # The second number keeps the choices of each file independent.
    categories = dice.shuffled([category for category, count in QUESTIONS.items() for _ in range(count)])
    counts = iter(dice.shuffled(split_evenly(len(categories), sum(VIDEOS.values()))))
    short_videos = []
    for dataset, videos in VIDEOS.items():
        for number in range(videos):
            clauses = [clause(dice) for _ in range(dice.pick((2, 2, 3)))]  # Two clauses are twice as frequent as three.
            video_categories = [categories.pop() for _ in range(next(counts))]
            negatives = tuple((category, _negative(category, clauses, dice)) for category in video_categories)
            source = identifier("temporalbench", dataset, number // CLIPS_PER_SOURCE)
            short_videos.append(Clip(dataset, source, number % CLIPS_PER_SOURCE, story(clauses), negatives))
    return short_videos


def _negative(category: str, clauses: list[Clause], dice: Dice) -> str:
    """Return the story with one part of a clause changed, or with two clauses exchanged."""
    changed = list(clauses)
    if category in CHANGED:
        index = dice.below(len(changed))
        changed[index] = changed[index].with_changed_part(CHANGED[category], dice)
    else:
        first, second = dice.sample(range(len(changed)), 2)
        changed[first], changed[second] = changed[second], changed[first]
    return story(changed)


def _question(positive: str, negative: str, dice: Dice) -> dict[str, str]:
    """Return the question with both captions in random order, and the letter of the true one."""
    answer = dice.pick(("A", "B"))
    texts = (positive, negative) if answer == "A" else (negative, positive)
    return {"question": QUESTION.format(*texts), "GT": answer}


def _entries(name: str, dataset: str, questions: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return entries in the released format; `idx` is the video's name and the position of the question, from 0."""
    return [
        {"idx": f"{name}_{number}", "video_name": name, "dataset": dataset, **question}
        for number, question in enumerate(questions)
    ]


def short_entries(short_videos: Sequence[Clip]) -> list[dict[str, str]]:
    """Return a question with two captions for every negative caption."""
    dice = Dice(SEED, 4)
    return [
        entry
        for clip in short_videos
        for entry in _entries(
            clip.video_name(),
            clip.dataset,
            [{"category": kind, **_question(clip.caption, text, dice)} for kind, text in clip.negatives],
        )
    ]


def long_entries(short_videos: Sequence[Clip]) -> list[dict[str, str]]:
    """Return questions about long videos of adjacent clips.

    Each question has two options: all captions in order, and the same with one replaced by its negative.
    """
    dice = Dice(SEED, 5)
    sources: dict[str, list[Clip]] = {}
    for clip in short_videos:
        if clip.dataset in LONG_DATASETS:
            sources.setdefault(clip.source, []).append(clip)
    spans = [
        members[start:end]
        for members in sources.values()
        for start in range(len(members))
        for end in range(start + 2, len(members) + 1)
    ]
    entries = []
    for span, count in zip(dice.sample(spans, LONG_VIDEOS), split_evenly(LONG_QUESTIONS, LONG_VIDEOS), strict=True):
        options = [(index, text) for index, clip in enumerate(span) for _, text in clip.negatives]
        positives = [clip.caption for clip in span]
        questions = []
        for index, text in dice.sample(options, count):
            negatives = [*positives[:index], text, *positives[index + 1 :]]
            questions.append(_question(" ".join(positives), " ".join(negatives), dice))
        entries += _entries(_video_name("long_video", span[0], span[-1]), span[0].dataset, questions)
    return entries


def caption_entries(short_videos: Sequence[Clip]) -> list[dict[str, str]]:
    """Return captioning prompts with three example captions."""
    dice = Dice(SEED, 6)
    captioned = [clip for clip in short_videos if clip.dataset != WITHOUT_CAPTIONS]
    return [
        {
            "idx": clip.video_name(),
            "video_name": clip.video_name(),
            "dataset": clip.dataset,
            "question": CAPTION.format(*(dice.pick(short_videos).caption for _ in range(3))),
            "GT": clip.caption,
        }
        for clip in captioned
    ]


def write_release(folder: Path) -> None:
    """Write the questions about short and long videos, and the captioning prompts."""
    short_videos = build_clips()
    files = {"short_qa": short_entries, "long_qa": long_entries, "short_caption": caption_entries}
    for name, entries in files.items():
        write_text(folder / f"temporalbench_{name}.json", json.dumps(entries(short_videos), indent=1) + "\n")
