"""Write evaluation clips as a release of VELOCITI, with annotations like VidSitu's, and the scripts of the sources."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import write_text

from synthetic.toyworld.captions import caption
from synthetic.toyworld.generate import EVALUATION_SEED, EVALUATION_SOURCES, Dice, evaluation_sources
from synthetic.toyworld.pairs import PAIR_MAKERS, TESTS, Pair, PairInput
from synthetic.toyworld.script import ACTION, SLOTS, Figure, Script, Source, to_json

PAIRS_PER_CLIP = 2
ATTEMPTS = 24  # A clip may allow fewer different pairs of a test than requested, so sampling stops here.
COLUMNS = ("test_name", "video_id", "event", "pos", "neg")


class ReleaseRow(NamedTuple):
    """A row of the release."""

    test_name: str
    video_id: str
    event: str
    pos: str
    neg: str


def _sample_pairs(test: str, script: Script, dice: Dice) -> list[Pair]:
    """Sample up to two different pairs of a test on a clip."""
    pairs: list[Pair] = []
    for _ in range(ATTEMPTS):
        pair = PAIR_MAKERS[test](PairInput(script, script, is_training=False), dice)
        if pair and pair.pos not in [earlier.pos for earlier in pairs]:
            pairs.append(pair)
        if len(pairs) == PAIRS_PER_CLIP:
            break
    return pairs


def _control_pairs(scripts: dict[str, Script], dice: Dice) -> dict[str, list[Pair]]:
    """Return pairs for the control. Every true caption is the false caption of exactly one other clip.

    The right answer therefore cannot be guessed from the captions alone.
    """
    events = [(clip, event) for clip, script in scripts.items() for event in dice.sample(script.events, PAIRS_PER_CLIP)]
    pairs: dict[str, list[Pair]] = {clip: [] for clip in scripts}
    other_events = [event for _, event in dice.shuffled(events)]

    def is_any_false_caption_true() -> bool:
        return any(other.deed in scripts[clip].deeds for (clip, _), other in zip(events, other_events, strict=True))

    while is_any_false_caption_true():
        other_events = [event for _, event in dice.shuffled(events)]
    for (clip, event), other in zip(events, other_events, strict=True):
        pairs[clip].append(Pair("control", (event,), caption(*event.deed), caption(*other.deed)))
    return pairs


def clip_pairs(sources: Sequence[Source], seed: int) -> dict[str, list[Pair]]:
    """Return all pairs of all clips of some sources by clip id."""
    scripts = {clip: script for source in sources for clip, script in source.clips().items()}
    pairs = _control_pairs(scripts, Dice(seed, 1_000_000))
    for number, (clip, script) in enumerate(scripts.items()):
        dice = Dice(seed, 2_000_000 + number)
        pairs[clip] += [pair for test in TESTS if test != "control" for pair in _sample_pairs(test, script, dice)]
    return pairs


def event_label(pair: Pair) -> str:
    """Return `Ev3`, or a JSON list for tests on two events.

    A coreference names its second event twice, as in the authors' release.
    """
    names = [f"Ev{event.slot + 1}" for event in pair.events]
    if len(names) == 1:
        return names[0]
    return json.dumps([*names, names[-1]] if pair.test == "coref" else names, separators=(",", ":"))


def evaluation_rows(sources: int = EVALUATION_SOURCES) -> list[ReleaseRow]:
    """Return the rows of the release, sorted by test."""
    pairs = clip_pairs(evaluation_sources(sources), EVALUATION_SEED)
    return [
        ReleaseRow(test, clip, event_label(pair), pair.pos, pair.neg)
        for test in TESTS
        for clip, pairs_of_clip in pairs.items()
        for pair in pairs_of_clip
        if pair.test == test
    ]


def _arguments(figure: Figure) -> dict[str, str]:
    """Return the semantic roles of an event, named as in VidSitu."""
    if not figure.is_acting:
        return {"Arg0 (stander)": f"the {figure.agent.name}", "AScn (scene of the event)": "on stage"}
    action = ACTION[figure.action]
    manner = action.strong if figure.strength == "strong" else action.weak
    roles = {
        "Arg0 (agent)": f"the {figure.agent.name}",
        "ADir (direction)": action.direction,
        "AMnr (manner)": manner,
        "AScn (scene of the event)": "on stage",
    }
    return {role: text for role, text in roles.items() if text}


def _annotated(clip: str, figure: Figure, slot: int) -> dict[str, Any]:
    """Return VidSitu's annotation of one event: its verb, its semantic roles and its relation to other events."""
    arguments = _arguments(figure)
    verb = figure.action if figure.is_acting else "stand"
    return {
        "vid_uid": clip,
        "vid_seg_int": clip,
        "Verb": f"{verb.split('_')[0]} ({ACTION[verb].gerund if figure.is_acting else 'standing'})",
        "VerbID": f"{verb.split('_')[0]}.01",
        "Arg_List": {role: position for position, role in enumerate(arguments)},
        "Args": arguments,
        "EvRel": "Null" if slot == 2 else "NoRel",  # VidSitu relates the other events to the middle one.
    }


def vidsitu_annotations(clip: str, script: Script) -> list[dict[str, Any]]:
    """Return an annotation of the clip's five events, and a second one if two events are simultaneous."""

    def annotation(preferred: int) -> dict[str, Any]:
        """Return the event of each slot: of the first (0) or second (1) acting figure, or of one that stands."""
        events = {}
        for slot in range(SLOTS):
            acting = [figure for figure in script.events if figure.slot == slot]
            if acting:
                figure = acting[min(preferred, len(acting) - 1)]
            else:
                figure = next(figure for figure in script.figures if figure.slot == slot)
            events[f"Ev{slot + 1}"] = _annotated(clip, figure, slot)
        return events

    has_simultaneous = len({event.slot for event in script.events}) < len(script.events)
    return [annotation(0), annotation(1)] if has_simultaneous else [annotation(0)]


def _json_text(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_release(folder: Path, sources: int = EVALUATION_SOURCES) -> None:
    """Write `velociti.csv`, the VidSitu folders and `velociti_sources.json`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([COLUMNS, *evaluation_rows(sources)])
    clips = {clip: script for source in evaluation_sources(sources) for clip, script in source.clips().items()}
    annotations = [annotation for clip, script in clips.items() for annotation in vidsitu_annotations(clip, script)]
    vidsitu = folder / "vidsitu_annotations"
    write_text(folder / "velociti.csv", buffer.getvalue())
    write_text(vidsitu / "split_files" / "vseg_split_valid_lb.json", _json_text(list(clips)))
    write_text(vidsitu / "vseg_ann_files" / "vsann_valid_lb.json", _json_text(annotations))
    write_text(
        folder / "velociti_sources.json", _json_text([to_json(source) for source in evaluation_sources(sources)])
    )
