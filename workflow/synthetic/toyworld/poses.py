"""Where a figure is and how it looks at a moment of its slot."""

import math
from typing import NamedTuple

from synthetic.toyworld.script import Figure

SLIDE = {"strong": 0.50, "weak": 0.20}
LIFT = {"strong": 0.42, "weak": 0.17}
HOP = {"strong": 0.36, "weak": 0.15}
GROWTH = {"strong": 1.0, "weak": 0.40}
LOSS = {"strong": 0.58, "weak": 0.28}
STRETCH = {"strong": 1.1, "weak": 0.45}
TURNS = {"strong": 1.2, "weak": 0.35}
BLINKS = 4


class Pose(NamedTuple):
    """Centre and half-axes in shares of the canvas, the angle in radians, and whether only the outline shows."""

    x: float
    y: float
    rx: float
    ry: float
    angle: float
    hollow: bool


def _lift(figure: Figure, u: float) -> float:
    """How far above its floor the figure is."""
    strength = figure.strength
    if figure.action == "float":
        return LIFT[strength] * u
    if figure.action == "sink":
        return LIFT[strength] * (1 - u)
    if figure.action == "jump":
        return HOP[strength] * abs(math.sin(2 * math.pi * u))
    return 0.0


def _axes(figure: Figure, u: float) -> tuple[float, float]:
    """The half-axes."""
    radius, strength = figure.radius, figure.strength
    if figure.action == "grow":
        radius *= 1 + GROWTH[strength] * u
    if figure.action == "shrink":
        radius *= 1 - LOSS[strength] * u
    if figure.action == "stretch":
        return radius / (1 + 0.4 * STRETCH[strength] * u), radius * (1 + STRETCH[strength] * u)
    return radius, radius


def _hollow(figure: Figure, u: float) -> bool:
    """Quick blinks are hollow around both sampled instants of a slot, a slow one at the second only."""
    if figure.action != "blink":
        return False
    if figure.strength == "weak":
        return u >= 0.5
    return abs((u * BLINKS + 0.5) % 1.0 - 0.5) < 0.3


def pose_at(figure: Figure, u: float) -> Pose:
    """The pose at share `u` of the slot, 0 to 1."""
    way = SLIDE.get(figure.strength, 0.0) * u
    x = figure.x + {"slide_left": -way, "slide_right": way}.get(figure.action, 0.0)
    rx, ry = _axes(figure, u)
    angle = 2 * math.pi * TURNS[figure.strength] * u if figure.action == "spin" else 0.0
    return Pose(x, figure.floor - ry - _lift(figure, u), rx, ry, angle, _hollow(figure, u))
