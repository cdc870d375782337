"""Generate counterfactuals of evaluation clips: two events or two scenes in the opposite order."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import EVALUATION_SEED, EVALUATION_SOURCES, Dice, evaluation_sources, source_name
from synthetic.toyworld.script import Figure, Script, Source, scenes_are_cut

COUNTERFACTUAL_SEED = EVALUATION_SEED + 1
MOVES = frozenset({"slide_left", "slide_right", "float", "sink"})
OPPOSITE_ACTIONS = (
    frozenset({"slide_left", "slide_right"}),
    frozenset({"float", "sink"}),
    frozenset({"grow", "shrink"}),
)


class Counterfactual(NamedTuple):
    """Counterfactual script, both captions, and the categories of Vinoground."""

    script: Script
    pos: str
    neg: str
    major: str
    minors: tuple[str, ...]


def _exchange_events(script: Script, first: Figure, second: Figure) -> Counterfactual:
    """Exchange two events: the state changes of one agent, or the actions of two agents."""
    actions = {first.action, second.action}
    slots = [event.slot for event in script.events]
    minors = {
        # Another agent acts at the same time.
        "interaction": any(slots.count(event.slot) > 1 for event in (first, second)),
        # One event undoes the other.
        "cyclical": actions in OPPOSITE_ACTIONS,
        "spatial": actions <= MOVES,
    }
    return Counterfactual(
        script.with_slots_exchanged(first.slot, second.slot),
        captions.chronology(first, second),
        captions.chronology(second, first),
        "object" if first.agent == second.agent else "action",
        tuple(name for name, is_present in minors.items() if is_present),
    )


def candidates(script: Script) -> list[Counterfactual]:
    """Return all counterfactuals: of two events with a slot between them, and of two scenes that can be exchanged."""
    events = sorted(script.events, key=lambda event: event.slot)
    options = [
        _exchange_events(script, first, second)
        for first, second in combinations(events, 2)
        if second.slot - first.slot >= 2
    ]
    for first_index, second_index in combinations(range(len(script.scenes)), 2):
        first, second = script.scenes[first_index], script.scenes[second_index]
        exchanged = script.with_scenes_exchanged(first_index, second_index)
        looks = [(scene.pattern, scene.tone) for scene in script.scenes]
        has_distinct_looks = len(set(looks)) == len(looks)
        if scenes_are_cut(exchanged.scenes) and has_distinct_looks:
            pos, neg = captions.scenery(first, second), captions.scenery(second, first)
            options.append(Counterfactual(exchanged, pos, neg, "viewpoint", ("contextual",)))
    return options


def _choose_counterfactual(script: Script, number: int) -> Counterfactual:
    """Choose a counterfactual of a clip. Major categories alternate, and rare minor categories are preferred."""
    major = ("object", "action", "viewpoint")[number % 3]
    options = Dice(COUNTERFACTUAL_SEED, number).shuffled(candidates(script))
    return max(options, key=lambda option: (option.major == major, "cyclical" in option.minors, len(option.minors)))


@cache
def counterfactuals(count: int = EVALUATION_SOURCES) -> dict[str, Counterfactual]:
    """Return the counterfactual of each clip of the first evaluation sources by clip id."""
    scripts = [item for source in evaluation_sources(count) for item in source.clips().items()]
    return {clip_id: _choose_counterfactual(script, number) for number, (clip_id, script) in enumerate(scripts)}


@cache
def counterfactual_sources(count: int = EVALUATION_SOURCES) -> tuple[Source, ...]:
    """Return copies of the first evaluation sources in which each clip is replaced by its counterfactual."""
    return tuple(
        Source(
            source_name(COUNTERFACTUAL_SEED, number),
            tuple(
                replace(part, script=counterfactuals(count)[source.clip_id(part)].script) if part.is_clip else part
                for part in source.parts
            ),
        )
        for number, source in enumerate(evaluation_sources(count))
    )
