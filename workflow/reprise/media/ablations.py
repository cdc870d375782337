"""Temporal ablations: the planned frames reordered, reduced, or replaced by those of another clip.

A model receives the timestamps of the plan in every ablation. In a concatenation the parts before and
after the black span are ablated separately, and black frames keep their positions.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from reprise.core.errors import UserError

Span = tuple[int, int]
Placement = list[tuple[int, int]]  # pairs of positions in the plan: of the timestamp, and of the frame at it

NONE, MISMATCHED, SHUFFLED, REVERSED = "none", "mismatched", "shuffled", "reversed"
FIRST, MIDDLE, LAST = "first", "middle", "last"
FIRST_REPEATED, MIDDLE_REPEATED, LAST_REPEATED = "first_repeated", "middle_repeated", "last_repeated"
DESCRIPTIONS = {
    NONE: "no frames: text only",
    MISMATCHED: "another clip's frames",
    FIRST: "the first frame only",
    MIDDLE: "the middle frame only",
    LAST: "the last frame only",
    FIRST_REPEATED: "the first frame at every timestamp",
    MIDDLE_REPEATED: "the middle frame at every timestamp",
    LAST_REPEATED: "the last frame at every timestamp",
    SHUFFLED: "in shuffled order, drawn per clip",
    REVERSED: "in reverse order",
}
"""Descriptions of the ablations, ordered from the least to the most visual information."""
REPEATED = {FIRST_REPEATED: FIRST, MIDDLE_REPEATED: MIDDLE, LAST_REPEATED: LAST}
"""ablation that repeats a frame at every timestamp -> ablation that shows the same frame once"""


def _ablate(show: str, frames: Sequence[int], draw: str) -> Placement:
    """Return the placement of consecutive frames in an ablation; `draw` seeds a shuffled order."""
    count = len(frames)
    single = {FIRST: 0, MIDDLE: count // 2, LAST: count - 1}
    if show in single:
        return [(single[show], single[show])]
    if show in REPEATED:
        return [(moment, single[REPEATED[show]]) for moment in range(count)]
    if show == REVERSED:
        return list(enumerate(reversed(range(count))))
    order = sorted(range(count), key=lambda position: _hash(f"{draw}:{position}"))
    # The order must differ from the planned one, which is impossible only if all frames are equal.
    if [frames[position] for position in order] == list(frames):
        order = [*order[1:], *order[:1]]
    return list(enumerate(order))


def place_frames(
    transform: Mapping[str, Any], indices: Sequence[int], clip_id: str, black: Span | None
) -> tuple[Placement, str]:
    """Return the placement of a clip's planned frames in an ablation, and a description of it."""
    show = str(transform["show"])
    if show not in DESCRIPTIONS or show in (NONE, MISMATCHED) or not indices:
        return [(position, position) for position in range(len(indices))], ""
    placement: Placement = []
    sides = [-1 if black is None else (index >= black[1]) - (index < black[0]) for index in indices]
    for side in (-1, 0, 1):  # These are before, within and after the black span of a concatenation.
        positions = [position for position, frame_side in enumerate(sides) if frame_side == side]
        if side == 0:
            placement += [(position, position) for position in positions]
        elif positions:
            draw = f"{transform.get('seed')}:{clip_id}:{side + 1}"
            part = _ablate(show, [indices[position] for position in positions], draw)
            placement += [(positions[moment], positions[frame]) for moment, frame in part]
    placement.sort()
    note = DESCRIPTIONS[show] + (", each side of the black span separately" if black else "")
    is_same = [indices[frame] for _, frame in placement] == list(indices)
    return placement, f"{note}: same frames as planned" if is_same else note


class PlannedClip(NamedTuple):
    """A clip with the frames that a sampling selects."""

    clip_id: str
    cluster: str
    sha256: str
    is_joined: bool  # whether it is a concatenation
    indices: tuple[int, ...]


def assign_mismatched_clips(clips: Iterable[PlannedClip], seed: int) -> dict[str, PlannedClip]:
    """Return for each clip the mismatched clip whose frames replace its own.

    The mismatched clip is of another cluster (source video or pair), and has as many frames if such a clip exists. All
    clips form a circle in a seeded order, and each takes the next suitable clip. A missing clip thus changes only the
    replacements of the clips that it would replace.
    """
    circle = sorted(clips, key=lambda clip: _hash(f"{seed}:{clip.clip_id}"))
    mismatches = {}
    for position, clip in enumerate(circle):
        if not clip.indices:
            continue
        following = [*circle[position + 1 :], *circle[:position]]
        candidates = [
            candidate
            for candidate in following
            if candidate.cluster != clip.cluster
            and candidate.sha256 != clip.sha256
            and candidate.is_joined == clip.is_joined
            and candidate.indices
        ]
        if not candidates:
            problem = "no other concatenation" if clip.is_joined else "no clip of another cluster"
            raise UserError(f"clip '{clip.clip_id}': {problem} can replace its frames.")
        count = len(clip.indices)
        mismatch = min(
            candidates,
            key=lambda candidate: (len(candidate.indices) != count, max(0, count - len(candidate.indices))),
        )
        mismatches[clip.clip_id] = mismatch._replace(
            indices=tuple(mismatch.indices[number * len(mismatch.indices) // count] for number in range(count))
        )
    return mismatches


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
