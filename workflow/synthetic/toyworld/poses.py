"""Compute the position and appearance of a figure at an instant of its slot."""

import math
from typing import NamedTuple

from synthetic.toyworld.script import Figure

# How much an action changes a figure during its slot, by strength. Distances are fractions of the canvas.
SLIDE = {"strong": 0.50, "weak": 0.20}
LIFT = {"strong": 0.42, "weak": 0.17}
HOP = {"strong": 0.36, "weak": 0.15}
GROWTH = {"strong": 1.0, "weak": 0.40}
LOSS = {"strong": 0.58, "weak": 0.28}
STRETCH = {"strong": 1.1, "weak": 0.45}
TURNS = {"strong": 1.2, "weak": 0.35}
BLINKS = 4


class Pose(NamedTuple):
    """A figure's centre and half-axes as fractions of the canvas, its angle in radians, and whether it is hollow."""

    x: float
    y: float
    rx: float
    ry: float
    angle: float
    is_hollow: bool


def _lift(figure: Figure, u: float) -> float:
    """Return the height of the figure above its floor."""
    strength = figure.strength
    if figure.action == "float":
        return LIFT[strength] * u
    if figure.action == "sink":
        return LIFT[strength] * (1 - u)
    if figure.action == "jump":  # two hops
        return HOP[strength] * abs(math.sin(2 * math.pi * u))
    return 0.0


def _axes(figure: Figure, u: float) -> tuple[float, float]:
    """Return the half-axes of the figure."""
    radius, strength = figure.radius, figure.strength
    if figure.action == "grow":
        radius *= 1 + GROWTH[strength] * u
    if figure.action == "shrink":
        radius *= 1 - LOSS[strength] * u
    if figure.action == "stretch":
        return radius / (1 + 0.4 * STRETCH[strength] * u), radius * (1 + STRETCH[strength] * u)
    return radius, radius


def _is_hollow(figure: Figure, u: float) -> bool:
    """Return whether the figure is hollow, as it is during a blink.

    At 1 fps, the frames of a slot are at u = 0 and u = 0.5. A figure that blinks quickly is hollow in both frames, one
    that blinks slowly only in the second.
    """
    if figure.action != "blink":
        return False
    if figure.strength == "weak":
        return u >= 0.5
    distance_to_blink = abs((u * BLINKS + 0.5) % 1.0 - 0.5)  # `u * BLINKS` is an integer in the middle of a blink.
    return distance_to_blink < 0.3


def pose_at(figure: Figure, u: float) -> Pose:
    """Return the pose at fraction `u` of the slot, 0 to 1."""
    distance = SLIDE.get(figure.strength, 0.0) * u
    x = figure.x + {"slide_left": -distance, "slide_right": distance}.get(figure.action, 0.0)
    rx, ry = _axes(figure, u)
    angle = 2 * math.pi * TURNS[figure.strength] * u if figure.action == "spin" else 0.0
    return Pose(x, figure.floor - ry - _lift(figure, u), rx, ry, angle, _is_hollow(figure, u))
