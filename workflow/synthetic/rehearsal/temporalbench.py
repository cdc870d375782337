"""A TemporalBench release with Table 1's videos and Table 5's questions, and as many of the rest as were released."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import write_text

from synthetic.rehearsal.words import SEED, Clause, clause, dealt, identifier, story
from synthetic.toyworld.generate import Dice

VIDEOS = {
    "ActivityNet": 281,
    "EgoExo4D": 307,
    "Charades": 298,
    "Movie_Description": 326,
    "Oops": 294,
    "COIN": 385,
    "FineGym": 288,
}
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
# The paper counts no long questions: these are the release's, about four a video.
LONG_QUESTIONS, LONG_VIDEOS = 5485, 1371
LONG_DATASETS = ("ActivityNet", "Charades", "FineGym", "COIN", "EgoExo4D")
# FineGym's captions are its own annotations; the authors ask no caption of it.
WITHOUT_CAPTIONS = "FineGym"
# Category -> the part of one clause that its negative changes; the orders exchange two clauses.
CHANGED = {
    "Action Frequency": "times",
    "Action Type": "deed",
    "Motion Magnitude": "manner",
    "Motion Direction/Orientation": "direction",
    "Action Effector": "agent",
    "Others": "place",
}
CLIPS_PER_SOURCE, CLIP_SECONDS = 4, 12
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
    place: int
    caption: str
    negatives: tuple[tuple[str, str], ...]
    """(category, text)"""

    def video_name(self) -> str:
        return _video_name("short_video", self, self)


def _video_name(folder: str, first: Clip, last: Clip) -> str:
    start, end = CLIP_SECONDS * first.place, CLIP_SECONDS * last.place + CLIP_SECONDS - 2
    return f"{folder}/{first.dataset}/{first.source}_start_{start}_end_{end}.mp4"


def clips() -> list[Clip]:
    """The short videos, with the questions' categories dealt to them."""
    dice = Dice(SEED, 3)
    categories = dice.shuffled([category for category, count in QUESTIONS.items() for _ in range(count)])
    counts = iter(dice.shuffled(dealt(len(categories), sum(VIDEOS.values()))))
    found = []
    for dataset, videos in VIDEOS.items():
        for number in range(videos):
            clauses = [clause(dice) for _ in range(dice.pick((2, 2, 3)))]
            asked = [categories.pop() for _ in range(next(counts))]
            negatives = tuple((category, _negative(category, clauses, dice)) for category in asked)
            source = identifier("temporalbench", dataset, number // CLIPS_PER_SOURCE)
            found.append(Clip(dataset, source, number % CLIPS_PER_SOURCE, story(clauses), negatives))
    return found


def _negative(category: str, clauses: list[Clause], dice: Dice) -> str:
    """The clauses with one part of one of them changed, or with two of them exchanged."""
    changed = list(clauses)
    if category in CHANGED:
        place = dice.below(len(changed))
        changed[place] = changed[place].but(CHANGED[category], dice)
    else:
        one, other = dice.sample(range(len(changed)), 2)
        changed[one], changed[other] = changed[other], changed[one]
    return story(changed)


def _question(positive: str, negative: str, dice: Dice) -> dict[str, str]:
    answer = dice.pick(("A", "B"))
    texts = (positive, negative) if answer == "A" else (negative, positive)
    return {"question": QUESTION.format(*texts), "GT": answer}


def _entries(name: str, dataset: str, questions: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """As released: the running number of a video's question ends its idx."""
    return [
        {"idx": f"{name}_{number}", "video_name": name, "dataset": dataset, **question}
        for number, question in enumerate(questions)
    ]


def short_entries(found: Sequence[Clip]) -> list[dict[str, str]]:
    """Every negative caption against its positive one."""
    dice = Dice(SEED, 4)
    return [
        entry
        for clip in found
        for entry in _entries(
            clip.video_name(),
            clip.dataset,
            [{"category": kind, **_question(clip.caption, text, dice)} for kind, text in clip.negatives],
        )
    ]


def long_entries(found: Sequence[Clip]) -> list[dict[str, str]]:
    """Neighbouring clips of a source as one video: all their captions in a row, one of them replaced by a negative."""
    dice = Dice(SEED, 5)
    sources: dict[str, list[Clip]] = {}
    for clip in found:
        if clip.dataset in LONG_DATASETS:
            sources.setdefault(clip.source, []).append(clip)
    spans = [
        members[start:end]
        for members in sources.values()
        for start in range(len(members))
        for end in range(start + 2, len(members) + 1)
    ]
    entries = []
    for span, count in zip(dice.sample(spans, LONG_VIDEOS), dealt(LONG_QUESTIONS, LONG_VIDEOS), strict=True):
        options = [(place, text) for place, clip in enumerate(span) for _, text in clip.negatives]
        positives = [clip.caption for clip in span]
        questions = []
        for place, text in dice.sample(options, count):
            negatives = [*positives[:place], text, *positives[place + 1 :]]
            questions.append(_question(" ".join(positives), " ".join(negatives), dice))
        entries += _entries(_video_name("long_video", span[0], span[-1]), span[0].dataset, questions)
    return entries


def caption_entries(found: Sequence[Clip]) -> list[dict[str, str]]:
    """A description is asked for after three examples."""
    dice = Dice(SEED, 6)
    asked = [clip for clip in found if clip.dataset != WITHOUT_CAPTIONS]
    return [
        {
            "idx": clip.video_name(),
            "video_name": clip.video_name(),
            "dataset": clip.dataset,
            "question": CAPTION.format(*(dice.pick(found).caption for _ in range(3))),
            "GT": clip.caption,
        }
        for clip in asked
    ]


def write_release(folder: Path) -> None:
    """Write the three files."""
    found = clips()
    files = {"short_qa": short_entries, "long_qa": long_entries, "short_caption": caption_entries}
    for name, entries in files.items():
        write_text(folder / f"temporalbench_{name}.json", json.dumps(entries(found), indent=1) + "\n")
