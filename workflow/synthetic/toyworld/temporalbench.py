"""Write evaluation clips as a release of TemporalBench: short and long questions, and captions."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import write_text

from synthetic.toyworld.captions import clause, description
from synthetic.toyworld.generate import EVALUATION_SEED, EVALUATION_SOURCES, Dice, evaluation_sources
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, STRENGTHS, Agent, Figure, Script, Source, is_held_out

Deed = tuple[Agent, str, str]  # agent, action and strength
Statement = tuple[Deed, Deed]  # two deeds in their order, which a caption states

DATASETS = ("ActivityNet", "Charades", "FineGym", "Movie_Description", "Oops", "COIN", "EgoExo4D")
LONG_DATASETS = frozenset({"ActivityNet", "Charades", "FineGym", "COIN", "EgoExo4D"})
# FineGym's captions are its original annotations, so its clips are not in the captioning task.
WITHOUT_CAPTIONS = frozenset({"FineGym"})
NEGATIVES, LONG_NEGATIVES = (
    (3, 4, 5, 6),
    4,
)  # possible numbers of negatives of a clip; number of negatives of a long video
OPPOSITE = {"slide_left": "slide_right", "slide_right": "slide_left", "float": "sink", "sink": "float"}
BLINKS = {"strong": "blinks four times", "weak": "blinks once"}

QUESTION = (
    "Which caption best describes this video?\nA. {}\nB. {}\n"
    "Answer with the option's letter from the given choices directly."
)
CAPTION = "Here are three captions of other videos.\n1. {}\n2. {}\n3. {}\nDescribe the video."


class Negative(NamedTuple):
    """A false caption and the category of its error."""

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
    """Return a text such as `First, the red circle slides left quickly. Then, the blue star blinks once.`."""
    first, second = (_clause(deed) for deed in statement)
    return f"First, {first}. Then, {second}."


def _clause(deed: Deed) -> str:
    agent, action, strength = deed
    return f"the {agent.name} {BLINKS[strength]}" if action == "blink" else clause(*deed)


def _edit_action(event: Figure, script: Script) -> list[Deed]:
    """Return deeds with an action that does not occur in the clip. Opposite directions belong to another category."""
    absent = [name for name in ACTION_NAMES if name not in (*script.actions, OPPOSITE.get(event.action))]
    return [(event.agent, action, event.strength) for action in absent]


def _edit_direction(event: Figure, script: Script) -> list[Deed]:
    """Return the deed in the opposite direction, if it is false and there is one."""
    opposite = OPPOSITE.get(event.action)
    options = [(event.agent, opposite, event.strength)] if opposite else []
    return [deed for deed in options if deed not in script.deeds]


def _edit_strength(event: Figure, script: Script) -> list[Deed]:
    """Return the deed with the other strength."""
    return [(event.agent, event.action, strength) for strength in STRENGTHS if strength != event.strength]


def _edit_frequency(event: Figure, script: Script) -> list[Deed]:
    """Return the deed with the other strength, if it is a blink. The strength of a blink is its number of blinks."""
    return _edit_strength(event, script) if event.action == "blink" else []


def _edit_magnitude(event: Figure, script: Script) -> list[Deed]:
    """Return the deed with the other strength, unless it is a blink."""
    return [] if event.action == "blink" else _edit_strength(event, script)


def _edit_agent(event: Figure, script: Script) -> list[Deed]:
    """Return the deed with another agent of the clip."""
    return [(agent, event.action, event.strength) for agent in script.agents if agent != event.agent]


def _edit_to_absent_agent(event: Figure, script: Script) -> list[Deed]:
    """Return deeds of agents that are not in the clip."""
    return [(agent, event.action, event.strength) for agent in AGENTS if agent not in script.agents]


FREQUENCY = "Action Frequency"
# Category -> function that returns word-level edits of an event. `negatives` adds the reversed order.
EDITS: dict[str, Callable[[Figure, Script], list[Deed]]] = {
    FREQUENCY: _edit_frequency,
    "Motion Direction/Orientation": _edit_direction,
    "Motion Magnitude": _edit_magnitude,
    "Action Effector": _edit_agent,
    "Action Type": _edit_action,
    "Others": _edit_to_absent_agent,
}


def sample_events(script: Script, dice: Dice) -> tuple[Figure, Figure]:
    """Sample two events with at least one slot between them.

    Pairs with a blink are preferred, because only blinks have questions about their number.
    """
    pairs = [(earlier, later) for earlier in script.events for later in script.events if later.slot - earlier.slot >= 2]
    pairs_with_blink = [pair for pair in pairs if any(event.action == "blink" for event in pair)]
    return dice.pick(pairs_with_blink or pairs)


def negatives(first: Figure, second: Figure, script: Script, dice: Dice, training: bool) -> tuple[Negative, ...]:
    """Return negatives: the events in reversed order, and word-level edits of either event.

    The reversed order and the rare category of frequencies are always included. In training, no negative states a
    held-out pair.
    """
    order_category = "Action Order" if first.agent == second.agent else "Event Order"
    all_negatives = [Negative(order_category, caption((second.deed, first.deed)))]
    for category, edit in EDITS.items():
        for index in dice.shuffled((0, 1)):
            options = [
                deed
                for deed in edit((first, second)[index], script)
                if not (training and is_held_out(deed[0], deed[1]))
            ]
            if options:
                false_deed = dice.pick(options)
                false_statement = (false_deed, second.deed) if index == 0 else (first.deed, false_deed)
                all_negatives.append(Negative(category, caption(false_statement)))
    required = [negative for negative in all_negatives if negative.category in (order_category, FREQUENCY)]
    optional = [negative for negative in all_negatives if negative not in required]
    return tuple(required + dice.sample(optional, max(0, dice.pick(NEGATIVES) - len(required))))


def _clips(source: Source, dataset: str, dice: Dice) -> list[Clip]:
    """Return the clips of a source with their captions."""
    clips = []
    for part in source.parts:
        if part.is_clip:
            end = part.start + part.script.seconds
            first, second = sample_events(part.script, dice)
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
    """Return the question with both captions in random order, and the letter of the true one."""
    answer = dice.pick(("A", "B"))
    texts = (positive, negative) if answer == "A" else (negative, positive)
    return {"question": QUESTION.format(*texts), "GT": answer}


def _entries(video_name: str, dataset: str, questions: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return entries in the released format; `idx` is the video's name and the question's number within it."""
    return [
        {"idx": f"{video_name}_{number}", "video_name": video_name, "dataset": dataset, **question}
        for number, question in enumerate(questions)
    ]


def _short_entries(clip: Clip, dice: Dice) -> list[dict[str, str]]:
    questions = [{"category": kind, **question(clip.positive, text, dice)} for kind, text in clip.negatives]
    return _entries(clip.video_name, clip.dataset, questions)


def _long_entries(source: Source, clips: Sequence[Clip], dice: Dice) -> list[dict[str, str]]:
    """Return questions about a long video.

    One option joins the true captions of all clips; in the other, one caption is replaced by a negative.
    """
    name = f"long_video/{clips[0].dataset}/{source.source_id}_start_{clips[0].start}_end_{clips[-1].end}.mp4"
    positives = [clip.positive for clip in clips]
    options = [(index, negative.text) for index, clip in enumerate(clips) for negative in clip.negatives]
    questions = []
    for index, text in dice.sample(options, LONG_NEGATIVES):
        texts = [*positives[:index], text, *positives[index + 1 :]]
        questions.append(question(" ".join(positives), " ".join(texts), dice))
    return _entries(name, clips[0].dataset, questions)


def _caption_entry(clip: Clip, other_scripts: Sequence[Script], dice: Dice) -> dict[str, str]:
    examples = [description(script) for script in dice.sample(other_scripts, 3)]
    return {
        "idx": clip.video_name,
        "video_name": clip.video_name,
        "dataset": clip.dataset,
        "question": CAPTION.format(*examples),
        "GT": description(clip.script),
    }


def release(sources: int = EVALUATION_SOURCES) -> dict[str, list[dict[str, str]]]:
    """Return the entries of each file."""
    dice = Dice(EVALUATION_SEED, 3_000_000)  # The second number keeps these choices independent of other files.
    clips_by_source = {
        source: _clips(source, DATASETS[number % len(DATASETS)], dice)
        for number, source in enumerate(evaluation_sources(sources))
    }
    all_clips = [clip for source_clips in clips_by_source.values() for clip in source_clips]
    other_scripts = {clip.video_name: [other.script for other in all_clips if other != clip] for clip in all_clips}
    return {
        "temporalbench_short_qa.json": [entry for clip in all_clips for entry in _short_entries(clip, dice)],
        "temporalbench_long_qa.json": [
            entry
            for source, source_clips in clips_by_source.items()
            if source_clips[0].dataset in LONG_DATASETS
            for entry in _long_entries(source, source_clips, dice)
        ],
        "temporalbench_short_caption.json": [
            _caption_entry(clip, other_scripts[clip.video_name], dice)
            for clip in all_clips
            if clip.dataset not in WITHOUT_CAPTIONS
        ],
    }


def write_release(folder: Path, sources: int = EVALUATION_SOURCES) -> None:
    """Write the three files."""
    for name, entries in release(sources).items():
        write_text(folder / name, _json_text(entries))


def _json_text(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
