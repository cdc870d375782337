"""Pairs of an evaluation clip and its counterfactual: two of its events, or two of its scenes, in the other order."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import EVALUATION_SEED, Dice, evaluation_sources, source_name
from synthetic.toyworld.script import Figure, Script, Source, scenes_are_cut

COUNTERFACTUAL_SEED = EVALUATION_SEED + 1
MOVES = frozenset({"slide_left", "slide_right", "float", "sink"})
UNDONE = (frozenset({"slide_left", "slide_right"}), frozenset({"float", "sink"}), frozenset({"grow", "shrink"}))


class Counterfactual(NamedTuple):
    """A clip's other order, both captions, and Vinoground's categories."""

    script: Script
    pos: str
    neg: str
    major: str
    minors: tuple[str, ...]


def _of_events(script: Script, first: Figure, second: Figure) -> Counterfactual:
    """Two events exchanged: of one agent, its state changes; of two, their actions change places."""
    deeds = {first.action, second.action}
    slots = [event.slot for event in script.events]
    minors = {
        "interaction": any(slots.count(event.slot) > 1 for event in (first, second)),  # somebody else acts at once
        "cyclical": any(deeds == pair for pair in UNDONE),  # the one undoes the other
        "spatial": deeds <= MOVES,
    }
    return Counterfactual(
        script.with_slots_exchanged(first.slot, second.slot),
        captions.chronology(first, second),
        captions.chronology(second, first),
        "object" if first.agent == second.agent else "action",
        tuple(name for name, holds in minors.items() if holds),
    )


def candidates(script: Script) -> list[Counterfactual]:
    """All pairs of events at least one slot apart, and of scenes that can change places."""
    events = sorted(script.events, key=lambda event: event.slot)
    found = [_of_events(script, one, two) for one, two in combinations(events, 2) if two.slot - one.slot >= 2]
    for one, other in combinations(range(len(script.scenes)), 2):
        first, second = script.scenes[one], script.scenes[other]
        exchanged = script.with_scenes_exchanged(one, other)
        looks = [(scene.pattern, scene.tone) for scene in script.scenes]
        if scenes_are_cut(exchanged.scenes) and len(set(looks)) == len(looks):
            pos, neg = captions.scenery(first, second), captions.scenery(second, first)
            found.append(Counterfactual(exchanged, pos, neg, "viewpoint", ("contextual",)))
    return found


def _chosen(script: Script, number: int) -> Counterfactual:
    """One counterfactual of a clip: the major categories take turns, and rare minor ones come first."""
    major = ("object", "action", "viewpoint")[number % 3]
    found = Dice(COUNTERFACTUAL_SEED, number).shuffled(candidates(script))
    return max(found, key=lambda one: (one.major == major, "cyclical" in one.minors, len(one.minors)))


@cache
def counterfactuals() -> dict[str, Counterfactual]:
    """The counterfactual of each evaluation clip, by clip id."""
    clips = [entry for source in evaluation_sources() for entry in source.clips().items()]
    return {clip: _chosen(script, number) for number, (clip, script) in enumerate(clips)}


@cache
def counterfactual_sources() -> tuple[Source, ...]:
    """The evaluation sources once more, with each clip's counterfactual in its place."""
    return tuple(
        Source(
            source_name(COUNTERFACTUAL_SEED, number),
            tuple(
                replace(part, script=counterfactuals()[source.clip_id(part)].script) if part.is_clip else part
                for part in source.parts
            ),
        )
        for number, source in enumerate(evaluation_sources())
    )
