"""Seeded generators of scripts: clips for training, and the fixed evaluation sources."""

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
EVALUATION_SOURCES = 16
CLIPS_PER_SOURCE = 3
SOURCE_SLOTS = 20
RADII = {"grow": (0.10, 0.115), "shrink": (0.19, 0.215), "stretch": (0.105, 0.125)}
PLAIN_RADII = (0.125, 0.15)
MARGIN = 0.015
PROBES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Dice:
    """Random choices from one explicit seed, built on `random()` alone so that they stay the same everywhere."""

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(list(seed)))

    def share(self) -> float:
        """A number in [0, 1)."""
        return float(self._rng.random())

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return self.share() < probability

    def below(self, count: int) -> int:
        """A whole number in [0, count)."""
        return int(self.share() * count)

    def between(self, low: float, high: float) -> float:
        """A number in [low, high), rounded so that scripts read the same everywhere."""
        return round(low + (high - low) * self.share(), 3)

    def pick(self, items: Sequence[T]) -> T:
        """One item."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """That many different items, in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


def _scenes(dice: Dice, slots: int, shots: int) -> tuple[Scene, ...]:
    starts = [0, *sorted(dice.sample(range(1, slots), shots - 1))]
    scenes: list[Scene] = []
    for start in starts:
        tones = [tone for tone in TONES if not scenes or tone != scenes[-1].tone]
        scenes.append(Scene(start, dice.pick(PATTERNS), dice.pick(tones)))
    return tuple(scenes)


def _place(dice: Dice, agent: Agent, slot: int, action: str, strength: str) -> Figure:
    """Somewhere the whole action stays inside the canvas."""
    radius = dice.between(*RADII.get(action, PLAIN_RADII))
    unplaced = Figure(agent, slot, action, strength, 0.0, 0.0, radius)
    poses = [pose_at(unplaced, u) for u in (0.0, 1.0)]
    width, height = max(pose.rx for pose in poses), 2 * max(pose.ry for pose in poses)
    rise = {"float": LIFT, "sink": LIFT, "jump": HOP}.get(action, {}).get(strength, 0.0)
    way = SLIDE.get(strength, 0.0)
    left = MARGIN + width + (way if action == "slide_left" else 0.0)
    right = 1 - MARGIN - width - (way if action == "slide_right" else 0.0)
    floor = dice.between(max(0.40, MARGIN + height + rise), 0.97)
    return Figure(agent, slot, action, strength, dice.between(left, right), floor, radius)


def _collide(first: Figure, second: Figure) -> bool:
    for u in PROBES:
        a, b = pose_at(first, u), pose_at(second, u)
        if abs(a.x - b.x) < 0.92 * (a.rx + b.rx) and abs(a.y - b.y) < 0.92 * (a.ry + b.ry):
            return True
    return False


def _stage(dice: Dice, cast: list[tuple[Agent, str, str]], slot: int) -> list[Figure]:
    """Place a slot's figures so that none covers another; the last ones stay away when there is no room."""
    for attempt in range(48):
        wanted = cast if attempt < 24 else [who for who in cast if who[1] != "stand"]
        figures = [_place(dice, agent, slot, action, strength) for agent, action, strength in wanted]
        if not any(_collide(a, b) for a, b in combinations(figures, 2)):
            break
    return figures


def _cast(dice: Dice, training: bool) -> tuple[list[Agent], list[tuple[Agent, str, str]]]:
    """The agents, and who does what in random order: everyone acts, someone twice, no action twice."""
    count = dice.pick((3, 4, 4, 5, 5))
    agents = dice.sample(AGENTS, dice.pick(range(2, min(4, count - 1) + 1)))
    actors = agents + [dice.pick(agents) for _ in range(count - len(agents))]
    while True:
        actions = dice.sample(ACTION_NAMES, count)
        if not training or not any(map(is_held_out, actors, actions)):
            break
    return agents, dice.shuffled([(a, b, dice.pick(STRENGTHS)) for a, b in zip(actors, actions, strict=True)])


def _slots(dice: Dice, deeds: list[tuple[Agent, str, str]]) -> list[int]:
    """The slot of each event: spread over the clip, at times two at once by different agents."""
    count = len(deeds)
    while True:
        doubled = 1 if dice.chance(0.35) else 0
        slots = sorted(dice.sample(range(SLOTS), count - doubled))
        if doubled:
            slots = sorted([*slots, dice.pick(slots)])
        together = [(deeds[i][0], deeds[i + 1][0]) for i in range(count - 1) if slots[i] == slots[i + 1]]
        if slots[-1] - slots[0] >= 2 and all(a != b for a, b in together):
            return slots


def make_script(dice: Dice, training: bool) -> Script:
    """A clip of 10 s; in training without the held-out pairs."""
    agents, deeds = _cast(dice, training)
    slots = _slots(dice, deeds)
    bystanders = dice.chance(0.5)
    figures: list[Figure] = []
    for slot in range(SLOTS):
        cast = [deed for deed, when in zip(deeds, slots, strict=True) if when == slot]
        idle = dice.shuffled([agent for agent in agents if agent not in [who for who, _, _ in cast]])
        standing = [agent for agent in idle[: 3 - len(cast)] if bystanders and dice.chance(0.5)]
        if not cast and not standing:
            standing = idle[:1]
        figures += _stage(dice, [*cast, *((agent, "stand", "") for agent in standing)], slot)
    return Script(SLOTS, _scenes(dice, SLOTS, 1 + dice.below(SLOTS)), tuple(figures))


def filler(dice: Dice, slots: int) -> Script:
    """Agents that do nothing."""
    figures: list[Figure] = []
    for slot in range(slots):
        figures += _stage(dice, [(agent, "stand", "") for agent in dice.sample(AGENTS, 2)], slot)
    return Script(slots, _scenes(dice, slots, 1), tuple(figures))


def source_name(seed: int, index: int) -> str:
    """A stable 11 character id in the alphabet of real ones."""
    digest = hashlib.sha256(f"toy source {seed} {index}".encode()).digest()
    return "toy" + base64.urlsafe_b64encode(digest)[:8].decode()


def make_source(seed: int, index: int) -> Source:
    """A source of 40 s: three clips, with filler around and between them."""
    dice = Dice(seed, index)
    fill = SOURCE_SLOTS - CLIPS_PER_SOURCE * SLOTS
    gaps = [1] * (CLIPS_PER_SOURCE + 1)
    for _ in range(fill - len(gaps)):
        gaps[dice.below(len(gaps))] += 1
    parts: list[Part] = []
    start = 0
    for number, gap in enumerate(gaps):
        chunks = [(filler(dice, gap), False)]
        if number < CLIPS_PER_SOURCE:
            chunks.append((make_script(dice, training=False), True))
        for script, is_clip in chunks:
            parts.append(Part(start, script, is_clip))
            start += script.seconds
    return Source(source_name(seed, index), tuple(parts))


@cache
def evaluation_sources() -> tuple[Source, ...]:
    """The sources of the evaluation set; always the same."""
    return tuple(make_source(EVALUATION_SEED, index) for index in range(EVALUATION_SOURCES))


@cache
def evaluation_stories() -> frozenset[str]:
    """What happens in the evaluation clips, as digests; training rejects any clip with one of these.

    Two slots exchanged make a counterfactual, which some benchmark may ask about: it is no training clip either.
    """
    scripts = [script for source in evaluation_sources() for script in source.clips().values()]
    others = [script.with_slots_exchanged(*pair) for script in scripts for pair in combinations(range(SLOTS), 2)]
    return frozenset(script.story_digest() for script in (*scripts, *others))


def training_script(dice: Dice) -> Script:
    """A clip that no evaluation clip resembles."""
    while True:
        script = make_script(dice, training=True)
        if script.story_digest() not in evaluation_stories():
            return script
