"""Views of time: the planned frames in another order, fewer of them, or another clip's, at the moments of the plan.

A model is told the moments of the plan, whatever it is shown at them. Of a concatenation each side of the black is
viewed by itself, and what is black stays where it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from reprise.core.errors import UserError

Span = tuple[int, int]
Shown = list[tuple[int, int]]
"""moments that are shown, and the frame shown at each, as places in the plan"""

NONE, MIDDLE, FIRST, SHUFFLED, REVERSED, ANOTHER = "none", "middle", "first", "shuffled", "reversed", "another"
IN_WORDS = {
    NONE: "no frame: words alone",
    MIDDLE: "the middle frame alone",
    FIRST: "the first frame at every moment",
    SHUFFLED: "in a shuffled order, drawn by clip",
    REVERSED: "in reverse order",
    ANOTHER: "another clip's frames",
}
"""Every view of time, in the order in which more and more is shown."""


def _middle(frames: Sequence[int], draw: str) -> Shown:
    place = len(frames) // 2
    return [(place, place)]


def _first(frames: Sequence[int], draw: str) -> Shown:
    return [(moment, 0) for moment in range(len(frames))]


def _reversed(frames: Sequence[int], draw: str) -> Shown:
    return list(enumerate(reversed(range(len(frames)))))


def _shuffled(frames: Sequence[int], draw: str) -> Shown:
    """An order that shows other frames than the plan at some moments; only frames that are all the same have none."""
    order = sorted(range(len(frames)), key=lambda place: _hash(f"{draw}:{place}"))
    if [frames[place] for place in order] == list(frames):
        order = [*order[1:], *order[:1]]
    return list(enumerate(order))


_WITHIN: dict[str, Callable[[Sequence[int], str], Shown]] = {
    MIDDLE: _middle,
    FIRST: _first,
    SHUFFLED: _shuffled,
    REVERSED: _reversed,
}


def within_clip(view: Mapping[str, Any], indices: Sequence[int], clip_id: str, black: Span | None) -> tuple[Shown, str]:
    """What a view shows of a clip's planned frames, and how, in words."""
    show = str(view["show"])
    if show not in _WITHIN or not indices:
        return [(place, place) for place in range(len(indices))], ""
    found: Shown = []
    for side, places in enumerate(_sides(indices, black)):
        if side == 1:
            found += [(place, place) for place in places]
        elif places:
            stretch = _WITHIN[show]([indices[place] for place in places], f"{view.get('seed')}:{clip_id}:{side}")
            found += [(places[moment], places[shown]) for moment, shown in stretch]
    found.sort()
    words = IN_WORDS[show] + (", each side of the black by itself" if black else "")
    is_same = [indices[shown] for _, shown in found] == list(indices)
    return found, f"{words}: the same frames as planned" if is_same else words


def _sides(indices: Sequence[int], black: Span | None) -> tuple[list[int], list[int], list[int]]:
    """Places in the plan before the black span of a concatenation, in it, and after it."""
    if black is None:
        return list(range(len(indices))), [], []
    start, end = black
    of_side = {-1: list[int](), 0: list[int](), 1: list[int]()}
    for place, index in enumerate(indices):
        of_side[(index >= end) - (index < start)].append(place)
    return of_side[-1], of_side[0], of_side[1]


class Planned(NamedTuple):
    """A clip, and what a sampling shows of it."""

    clip_id: str
    unit: str
    sha256: str
    is_joined: bool
    """whether it is a concatenation"""
    indices: tuple[int, ...]


def other_clips(clips: Iterable[Planned], seed: int) -> dict[str, Planned]:
    """Clip -> the one whose frames are shown in its place: of another unit, and with as many frames where one has.

    All stand in a circle in an order that is drawn; the next one that fits is taken. So a missing clip changes only
    what stands in the place of those that it would be shown for.
    """
    circle = sorted(clips, key=lambda clip: _hash(f"{seed}:{clip.clip_id}"))
    found = {}
    for place, clip in enumerate(circle):
        if not clip.indices:
            continue
        following = [*circle[place + 1 :], *circle[:place]]
        fitting = [
            one
            for one in following
            if one.unit != clip.unit and one.sha256 != clip.sha256 and one.is_joined == clip.is_joined and one.indices
        ]
        if not fitting:
            what = "no other concatenation" if clip.is_joined else "no clip of another unit"
            raise UserError(f"clip '{clip.clip_id}': there is {what} whose frames can be shown in its place.")
        count = len(clip.indices)
        other = min(fitting, key=lambda one: (len(one.indices) != count, max(0, count - len(one.indices))))
        found[clip.clip_id] = other._replace(
            indices=tuple(other.indices[place * len(other.indices) // count] for place in range(count))
        )
    return found


def _hash(text: str) -> str:
    """The same on every machine."""
    return sha256(text.encode()).hexdigest()
