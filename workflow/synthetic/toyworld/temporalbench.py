"""The evaluation set in the authors' released TemporalBench layout: short and long questions, and captions."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import write_text

from synthetic.toyworld.captions import clause, description
from synthetic.toyworld.generate import EVALUATION_SEED, Dice, evaluation_sources
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, STRENGTHS, Agent, Figure, Script, Source, is_held_out

Deed = tuple[Agent, str, str]
Statement = tuple[Deed, Deed]

DATASETS = ("ActivityNet", "Charades", "FineGym", "Movie_Description", "Oops", "COIN", "EgoExo4D")
LONG_DATASETS = frozenset({"ActivityNet", "Charades", "FineGym", "COIN", "EgoExo4D"})
# FineGym's captions are its own annotations; the authors ask no caption of it.
WITHOUT_CAPTIONS = frozenset({"FineGym"})
NEGATIVES, LONG_NEGATIVES = (3, 4, 5, 6), 4
OPPOSITE = {"slide_left": "slide_right", "slide_right": "slide_left", "float": "sink", "sink": "float"}
BLINKS = {"strong": "blinks four times", "weak": "blinks once"}

QUESTION = (
    "Which caption best describes this video?\nA. {}\nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)
CAPTION = "Here are three captions of other videos.\n1. {}\n2. {}\n3. {}\nDescribe the video."


class Negative(NamedTuple):
    """A false caption and what makes it false."""

    category: str
    text: str


class Clip(NamedTuple):
    """A short video with its captions."""

    video_name: str
    dataset: str
    script: Script
    start: int
    end: int
    positive: str
    negatives: tuple[Negative, ...]


def caption(statement: Statement) -> str:
    """`First, the red circle slides left quickly. Then, the blue star blinks once.`"""
    first, second = (_clause(deed) for deed in statement)
    return f"First, {first}. Then, {second}."


def _clause(deed: Deed) -> str:
    agent, action, strength = deed
    return f"the {agent.name} {BLINKS[strength]}" if action == "blink" else clause(*deed)


def _types(event: Figure, script: Script) -> list[Deed]:
    """Actions that nobody in the clip does; another direction is a category of its own."""
    absent = [name for name in ACTION_NAMES if name not in (*script.actions, OPPOSITE.get(event.action))]
    return [(event.agent, action, event.strength) for action in absent]


def _directions(event: Figure, script: Script) -> list[Deed]:
    opposite = OPPOSITE.get(event.action)
    options = [(event.agent, opposite, event.strength)] if opposite else []
    return [deed for deed in options if deed not in script.deeds]


def _strengths(event: Figure, script: Script) -> list[Deed]:
    return [(event.agent, event.action, strength) for strength in STRENGTHS if strength != event.strength]


def _frequencies(event: Figure, script: Script) -> list[Deed]:
    """Blinks are counted."""
    return _strengths(event, script) if event.action == "blink" else []


def _magnitudes(event: Figure, script: Script) -> list[Deed]:
    return [] if event.action == "blink" else _strengths(event, script)


def _effectors(event: Figure, script: Script) -> list[Deed]:
    return [(agent, event.action, event.strength) for agent in script.agents if agent != event.agent]


def _strangers(event: Figure, script: Script) -> list[Deed]:
    """Somebody who is not in the clip at all."""
    return [(agent, event.action, event.strength) for agent in AGENTS if agent not in script.agents]


FREQUENCY = "Action Frequency"
# Word-level edits; orders of events are made apart.
EDITS: dict[str, Callable[[Figure, Script], list[Deed]]] = {
    FREQUENCY: _frequencies,
    "Motion Direction/Orientation": _directions,
    "Motion Magnitude": _magnitudes,
    "Action Effector": _effectors,
    "Action Type": _types,
    "Others": _strangers,
}


def statement(script: Script, dice: Dice) -> tuple[Figure, Figure]:
    """Two events at least one slot apart, with one that can be counted if there is one."""
    apart = [(one, two) for one in script.events for two in script.events if two.slot - one.slot >= 2]
    return dice.pick([pair for pair in apart if any(event.action == "blink" for event in pair)] or apart)


def negatives(first: Figure, second: Figure, script: Script, dice: Dice, training: bool) -> tuple[Negative, ...]:
    """The reversed order, and word-level edits of either event; the rare category is never left out.

    In training no negative names a held-out pair.
    """
    order = "Action Order" if first.agent == second.agent else "Event Order"
    found = [Negative(order, caption((second.deed, first.deed)))]
    for category, edit in EDITS.items():
        for place in dice.shuffled((0, 1)):
            options = [
                deed
                for deed in edit((first, second)[place], script)
                if not (training and is_held_out(deed[0], deed[1]))
            ]
            if options:
                false = dice.pick(options)
                changed = (false, second.deed) if place == 0 else (first.deed, false)
                found.append(Negative(category, caption(changed)))
    kept = [negative for negative in found if negative.category in (order, FREQUENCY)]
    rest = [negative for negative in found if negative not in kept]
    return tuple(kept + dice.sample(rest, max(0, dice.pick(NEGATIVES) - len(kept))))


def _clips(source: Source, dataset: str, dice: Dice) -> list[Clip]:
    clips = []
    for part in source.parts:
        if part.is_clip:
            end = part.start + part.script.seconds
            first, second = statement(part.script, dice)
            clips.append(
                Clip(
                    f"short_video/{dataset}/{source.source_id}_start_{part.start}_end_{end}.mp4",
                    dataset,
                    part.script,
                    part.start,
                    end,
                    caption((first.deed, second.deed)),
                    negatives(first, second, part.script, dice, training=False),
                )
            )
    return clips


def question(positive: str, negative: str, dice: Dice) -> dict[str, str]:
    """Both captions in random order, and the letter of the true one."""
    answer = dice.pick(("A", "B"))
    texts = (positive, negative) if answer == "A" else (negative, positive)
    return {"question": QUESTION.format(*texts), "GT": answer}


def _entries(video_name: str, dataset: str, questions: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """As released: the running number of a video's question ends its idx."""
    return [
        {"idx": f"{video_name}_{number}", "video_name": video_name, "dataset": dataset, **question}
        for number, question in enumerate(questions)
    ]


def _short_entries(clip: Clip, dice: Dice) -> list[dict[str, str]]:
    questions = [{"category": kind, **question(clip.positive, text, dice)} for kind, text in clip.negatives]
    return _entries(clip.video_name, clip.dataset, questions)


def _long_entries(source: Source, clips: Sequence[Clip], dice: Dice) -> list[dict[str, str]]:
    """All captions of a source in a row; one of them is replaced by one of its negatives."""
    name = f"long_video/{clips[0].dataset}/{source.source_id}_start_{clips[0].start}_end_{clips[-1].end}.mp4"
    positives = [clip.positive for clip in clips]
    options = [(place, false.text) for place, clip in enumerate(clips) for false in clip.negatives]
    questions = []
    for place, false in dice.sample(options, LONG_NEGATIVES):
        negative = [*positives[:place], false, *positives[place + 1 :]]
        questions.append(question(" ".join(positives), " ".join(negative), dice))
    return _entries(name, clips[0].dataset, questions)


def _caption_entry(clip: Clip, others: Sequence[Script], dice: Dice) -> dict[str, str]:
    examples = [description(script) for script in dice.sample(others, 3)]
    return {
        "idx": clip.video_name,
        "video_name": clip.video_name,
        "dataset": clip.dataset,
        "question": CAPTION.format(*examples),
        "GT": description(clip.script),
    }


def release() -> dict[str, list[dict[str, str]]]:
    """File name -> its entries."""
    dice = Dice(EVALUATION_SEED, 3_000_000)
    clips = {
        source: _clips(source, DATASETS[number % len(DATASETS)], dice)
        for number, source in enumerate(evaluation_sources())
    }
    flat = [clip for of_source in clips.values() for clip in of_source]
    examples = {clip.video_name: [other.script for other in flat if other != clip] for clip in flat}
    return {
        "temporalbench_short_qa.json": [entry for clip in flat for entry in _short_entries(clip, dice)],
        "temporalbench_long_qa.json": [
            entry
            for source, of_source in clips.items()
            if of_source[0].dataset in LONG_DATASETS
            for entry in _long_entries(source, of_source, dice)
        ],
        "temporalbench_short_caption.json": [
            _caption_entry(clip, examples[clip.video_name], dice)
            for clip in flat
            if clip.dataset not in WITHOUT_CAPTIONS
        ],
    }


def write_release(folder: Path) -> None:
    """Write the three files."""
    for name, entries in release().items():
        write_text(folder / name, _json_text(entries))


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
