"""Views of time: the planned frames in another order, fewer of them, or another clip's, at the moments of the plan.

A model is told the moments of the plan, whatever it is shown at them. Of a concatenation each side of the black is
viewed by itself, and what is black stays where it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from reprise.core.errors import UserError

Span = tuple[int, int]
Shown = list[tuple[int, int]]  # moments that are shown, and the frame shown at each, as places in the plan

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


def _viewed(show: str, frames: Sequence[int], draw: str) -> Shown:
    """What a view shows of frames that stand beside each other; `draw` is what an order is drawn by."""
    count = len(frames)
    if show == MIDDLE:
        return [(count // 2, count // 2)]
    if show == FIRST:
        return [(moment, 0) for moment in range(count)]
    if show == REVERSED:
        return list(enumerate(reversed(range(count))))
    order = sorted(range(count), key=lambda place: _hash(f"{draw}:{place}"))
    if [frames[place] for place in order] == list(frames):  # only frames that are all the same have no other order
        order = [*order[1:], *order[:1]]
    return list(enumerate(order))


def within_clip(view: Mapping[str, Any], indices: Sequence[int], clip_id: str, black: Span | None) -> tuple[Shown, str]:
    """What a view shows of a clip's planned frames, and how, in words."""
    show = str(view["show"])
    if show not in (MIDDLE, FIRST, SHUFFLED, REVERSED) or not indices:
        return [(place, place) for place in range(len(indices))], ""
    found: Shown = []
    sides = [-1 if black is None else (index >= black[1]) - (index < black[0]) for index in indices]
    for side in (-1, 0, 1):  # before the black span of a concatenation, in it, and after it
        places = [place for place, its in enumerate(sides) if its == side]
        if side == 0:
            found += [(place, place) for place in places]
        elif places:
            draw = f"{view.get('seed')}:{clip_id}:{side + 1}"
            stretch = _viewed(show, [indices[place] for place in places], draw)
            found += [(places[moment], places[shown]) for moment, shown in stretch]
    found.sort()
    words = IN_WORDS[show] + (", each side of the black by itself" if black else "")
    is_same = [indices[shown] for _, shown in found] == list(indices)
    return found, f"{words}: the same frames as planned" if is_same else words


class Planned(NamedTuple):
    clip_id: str
    unit: str
    sha256: str
    is_joined: bool  # whether it is a concatenation
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
    return sha256(text.encode()).hexdigest()
