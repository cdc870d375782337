"""Generate scripts from seeds: training clips, and the fixed evaluation sources."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import TypeVar

import numpy as np

from synthetic.toyworld.poses import HOP, LIFT, SLIDE, pose_at
from synthetic.toyworld.script import (
    ACTION_NAMES,
    AGENTS,
    PATTERNS,
    SLOTS,
    STRENGTHS,
    TONES,
    Agent,
    Figure,
    Part,
    Scene,
    Script,
    Source,
    is_held_out,
)

T = TypeVar("T")
EVALUATION_SEED = 20261
EVALUATION_SOURCES = 16  # of the demo
MAX_EVALUATION_SOURCES = 256
CLIPS_PER_SOURCE = 3
SOURCE_SLOTS = 20  # a slot takes SLOT_SECONDS, and figures do one action per slot
# Lengths are fractions of the canvas. The first radius of a figure is in a range that depends on its action.
RADII = {"grow": (0.10, 0.115), "shrink": (0.19, 0.215), "stretch": (0.105, 0.125)}
PLAIN_RADII = (0.125, 0.15)  # the range for other actions
MARGIN = 0.015  # between a figure and the edge of the canvas
PROBES = (0.0, 0.25, 0.5, 0.75, 1.0)  # the fractions of a slot at which figures must not collide
MAX_FIGURES = 3  # per slot


class Dice:
    """Random choices from a seed. They only use `random()`, so they are the same on every machine."""

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(list(seed)))

    def share(self) -> float:
        """Return a random number in [0, 1)."""
        return float(self._rng.random())

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.share() < probability

    def below(self, count: int) -> int:
        """Return a random integer in [0, count)."""
        return int(self.share() * count)

    def between(self, low: float, high: float) -> float:
        """Return a random number in [low, high). It is rounded, so scripts are the same on every machine."""
        return round(low + (high - low) * self.share(), 3)

    def pick(self, items: Sequence[T]) -> T:
        """Return a random item."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        remaining = list(items)
        return [remaining.pop(self.below(len(remaining))) for _ in range(len(remaining))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items in random order."""
        remaining = list(items)
        return [remaining.pop(self.below(len(remaining))) for _ in range(count)]


def _sample_scenes(dice: Dice, slots: int, shots: int) -> tuple[Scene, ...]:
    """Sample `shots` scenes; adjacent scenes differ in tone, so each cut is visible."""
    starts = [0, *sorted(dice.sample(range(1, slots), shots - 1))]
    scenes: list[Scene] = []
    for start in starts:
        tones = [tone for tone in TONES if not scenes or tone != scenes[-1].tone]
        scenes.append(Scene(start, dice.pick(PATTERNS), dice.pick(tones)))
    return tuple(scenes)


def _place_figure(dice: Dice, agent: Agent, slot: int, action: str, strength: str) -> Figure:
    """Place a figure at random where the whole action stays inside the canvas."""
    radius = dice.between(*RADII.get(action, PLAIN_RADII))
    unplaced = Figure(agent, slot, action, strength, 0.0, 0.0, radius)
    poses = [pose_at(unplaced, u) for u in (0.0, 1.0)]
    width, height = max(pose.rx for pose in poses), 2 * max(pose.ry for pose in poses)
    rise = {"float": LIFT, "sink": LIFT, "jump": HOP}.get(action, {}).get(strength, 0.0)
    distance = SLIDE.get(strength, 0.0)
    min_x = MARGIN + width + (distance if action == "slide_left" else 0.0)
    max_x = 1 - MARGIN - width - (distance if action == "slide_right" else 0.0)
    floor = dice.between(max(0.40, MARGIN + height + rise), 0.97)
    return Figure(agent, slot, action, strength, dice.between(min_x, max_x), floor, radius)


def _collide(first: Figure, second: Figure) -> bool:
    """Return whether two figures of a slot overlap at any of the probed moments."""
    for u in PROBES:
        a, b = pose_at(first, u), pose_at(second, u)
        # Bounding boxes may overlap a little, because most shapes do not fill them.
        if abs(a.x - b.x) < 0.92 * (a.rx + b.rx) and abs(a.y - b.y) < 0.92 * (a.ry + b.ry):
            return True
    return False


def _place_figures(dice: Dice, cast: list[tuple[Agent, str, str]], slot: int) -> list[Figure]:
    """Place the cast of a slot (agent, action, strength) without overlaps. If there is no room, omit bystanders."""
    acting_cast = [(agent, action, strength) for agent, action, strength in cast if action != "stand"]
    for attempt in range(48):
        placed_cast = cast if attempt < 24 else acting_cast
        figures = [_place_figure(dice, agent, slot, action, strength) for agent, action, strength in placed_cast]
        if not any(_collide(a, b) for a, b in combinations(figures, 2)):
            break
    return figures


def _sample_deeds(dice: Dice, training: bool) -> tuple[list[Agent], list[tuple[Agent, str, str]]]:
    """Sample the agents and their deeds (agent, action, strength). Every agent acts; no action repeats."""
    count = dice.pick((3, 4, 4, 5, 5))
    agents = dice.sample(AGENTS, dice.pick(range(2, min(4, count - 1) + 1)))
    actors = agents + [dice.pick(agents) for _ in range(count - len(agents))]
    while True:
        actions = dice.sample(ACTION_NAMES, count)
        if not training or not any(map(is_held_out, actors, actions)):
            break
    return agents, dice.shuffled(
        [(actor, action, dice.pick(STRENGTHS)) for actor, action in zip(actors, actions, strict=True)]
    )


def _sample_slots(dice: Dice, deeds: list[tuple[Agent, str, str]]) -> list[int]:
    """Sample the slot of each event. Events are spread over the clip, and sometimes two agents act in one slot."""
    count = len(deeds)
    while True:
        doubled = 1 if dice.chance(0.35) else 0
        slots = sorted(dice.sample(range(SLOTS), count - doubled))
        if doubled:
            slots = sorted([*slots, dice.pick(slots)])
        simultaneous = [
            (deeds[index][0], deeds[index + 1][0]) for index in range(count - 1) if slots[index] == slots[index + 1]
        ]
        if slots[-1] - slots[0] >= 2 and all(first != second for first, second in simultaneous):
            return slots


def make_script(dice: Dice, training: bool) -> Script:
    """Generate the script of a clip of 10 s. In training, it has no pair of agent and action that is held out."""
    agents, deeds = _sample_deeds(dice, training)
    slots = _sample_slots(dice, deeds)
    has_bystanders = dice.chance(0.5)
    figures: list[Figure] = []
    for slot in range(SLOTS):
        cast = [deed for deed, deed_slot in zip(deeds, slots, strict=True) if deed_slot == slot]
        idle = dice.shuffled([agent for agent in agents if agent not in [actor for actor, _, _ in cast]])
        standing = [agent for agent in idle[: MAX_FIGURES - len(cast)] if has_bystanders and dice.chance(0.5)]
        if not cast and not standing:  # No slot is empty.
            standing = idle[:1]
        figures += _place_figures(dice, [*cast, *((agent, "stand", "") for agent in standing)], slot)
    return Script(SLOTS, _sample_scenes(dice, SLOTS, 1 + dice.below(SLOTS)), tuple(figures))


def make_filler_script(dice: Dice, slots: int) -> Script:
    """Generate a script whose agents only stand."""
    figures: list[Figure] = []
    for slot in range(slots):
        figures += _place_figures(dice, [(agent, "stand", "") for agent in dice.sample(AGENTS, 2)], slot)
    return Script(slots, _sample_scenes(dice, slots, 1), tuple(figures))


def source_name(seed: int, index: int) -> str:
    """Return a stable id of 11 characters in the alphabet of real ids."""
    digest = hashlib.sha256(f"toy source {seed} {index}".encode()).digest()
    return "toy" + base64.urlsafe_b64encode(digest)[:8].decode()


def make_source(seed: int, index: int) -> Source:
    """Generate a source of 40 s: three clips, with filler around and between them."""
    dice = Dice(seed, index)
    filler_slots = SOURCE_SLOTS - CLIPS_PER_SOURCE * SLOTS
    gaps = [1] * (CLIPS_PER_SOURCE + 1)  # the slots of filler before each clip and after the last one
    for _ in range(filler_slots - len(gaps)):
        gaps[dice.below(len(gaps))] += 1
    parts: list[Part] = []
    start = 0
    for number, gap in enumerate(gaps):
        scripts = [(make_filler_script(dice, gap), False)]
        if number < CLIPS_PER_SOURCE:
            scripts.append((make_script(dice, training=False), True))
        for script, is_clip in scripts:
            parts.append(Part(start, script, is_clip))
            start += script.seconds
    return Source(source_name(seed, index), tuple(parts))


@cache
def evaluation_sources(count: int = EVALUATION_SOURCES) -> tuple[Source, ...]:
    """Return the first sources of the evaluation set, by default those of the demo."""
    return tuple(make_source(EVALUATION_SEED, index) for index in range(count))


@cache
def evaluation_stories() -> frozenset[str]:
    """Return the digests of the stories that training excludes: evaluation clips and their counterfactuals.

    A counterfactual exchanges two slots. Benchmarks have questions about counterfactuals too.
    """
    scripts = [script for source in evaluation_sources() for script in source.clips().values()]
    exchanged = [script.with_slots_exchanged(*pair) for script in scripts for pair in combinations(range(SLOTS), 2)]
    return frozenset(script.story_digest() for script in (*scripts, *exchanged))


def training_script(dice: Dice) -> Script:
    """Generate the script of a training clip whose story differs from those of all evaluation clips."""
    while True:
        script = make_script(dice, training=True)
        if script.story_digest() not in evaluation_stories():
            return script
