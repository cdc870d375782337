"""Apply temporal ablations: reorder or reduce the planned frames, or replace them by frames of another clip.

The timestamps of the plan do not change. In a concatenation, the parts before and after the black span are ablated
separately, and black frames keep their positions.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from reprise.core.errors import UserError

Span = tuple[int, int]
# Pairs of positions in the plan: of a timestamp, and of the frame that a model receives at this timestamp.
Placement = list[tuple[int, int]]

# Names of the ablations; `DESCRIPTIONS` says what each of them shows.
NONE, MISMATCHED, SHUFFLED, REVERSED = "none", "mismatched", "shuffled", "reversed"
FIRST, MIDDLE, LAST = "first", "middle", "last"
FIRST_REPEATED, MIDDLE_REPEATED, LAST_REPEATED = "first_repeated", "middle_repeated", "last_repeated"
FRAME, FRAME_REPEATED = "frame", "frame_repeated"
MISMATCHED_FRAME, MISMATCHED_FRAME_REPEATED = "mismatched_frame", "mismatched_frame_repeated"
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
    FRAME: "one planned frame only",
    FRAME_REPEATED: "one planned frame at every timestamp",
    MISMATCHED_FRAME: "one frame of another clip only",
    MISMATCHED_FRAME_REPEATED: "one frame of another clip at every timestamp",
}
"""Descriptions of the ablations, from the least to the most visual information; the single-frame probe's come last."""
REPEATED = {FIRST_REPEATED: FIRST, MIDDLE_REPEATED: MIDDLE, LAST_REPEATED: LAST}
"""ablation that repeats a frame at every timestamp -> ablation that shows the same frame once"""
PROBE_ABLATIONS = (FRAME, FRAME_REPEATED, MISMATCHED_FRAME, MISMATCHED_FRAME_REPEATED)
"""ablations of the single-frame probe; their transform names the frame: `position`, counted from 1"""
REPEATED_PROBE_ABLATIONS = (FRAME_REPEATED, MISMATCHED_FRAME_REPEATED)
MISMATCHED_KINDS = (MISMATCHED, MISMATCHED_FRAME, MISMATCHED_FRAME_REPEATED)
"""ablations that show another clip's frames"""


def _ablate(transform: Mapping[str, Any], frames: Sequence[int], seed_text: str) -> Placement:
    """Return the placement of consecutive frames in an ablation; `seed_text` determines a shuffled order."""
    ablation, count = str(transform["show"]), len(frames)
    if ablation in PROBE_ABLATIONS:
        # A short clip has fewer frames than the sampling selects; its last frame stands for the missing ones.
        position = min(int(transform["position"]), count) - 1
        times = range(count) if ablation in REPEATED_PROBE_ABLATIONS else [position]
        return [(time_position, position) for time_position in times]
    position_by_ablation = {FIRST: 0, MIDDLE: count // 2, LAST: count - 1}
    if ablation in position_by_ablation:
        return [(position_by_ablation[ablation], position_by_ablation[ablation])]
    if ablation in REPEATED:
        return [(time_position, position_by_ablation[REPEATED[ablation]]) for time_position in range(count)]
    if ablation == REVERSED:
        return list(enumerate(reversed(range(count))))
    order = sorted(range(count), key=lambda position: _hash(f"{seed_text}:{position}"))
    # The order must differ from the planned one unless all frames are equal.
    if [frames[position] for position in order] == list(frames):
        order = [*order[1:], *order[:1]]
    return list(enumerate(order))


def place_frames(
    transform: Mapping[str, Any], indices: Sequence[int], clip_id: str, black: Span | None
) -> tuple[Placement, str]:
    """Return the placement of a clip's planned frames in an ablation, and a description of it."""
    ablation = str(transform["show"])
    if ablation not in DESCRIPTIONS or ablation in (NONE, MISMATCHED) or not indices:
        return [(position, position) for position in range(len(indices))], ""
    placement: Placement = []
    # The side of each frame: -1 before, 0 within and 1 after the black span. All frames of other clips have -1.
    sides = [-1 if black is None else (index >= black[1]) - (index < black[0]) for index in indices]
    for side in (-1, 0, 1):
        positions = [position for position, frame_side in enumerate(sides) if frame_side == side]
        if side == 0:
            placement += [(position, position) for position in positions]
        elif positions:
            seed_text = f"{transform.get('seed')}:{clip_id}:{side + 1}"
            part_placement = _ablate(transform, [indices[position] for position in positions], seed_text)
            placement += [
                (positions[time_position], positions[frame_position])
                for time_position, frame_position in part_placement
            ]
    placement.sort()
    note = DESCRIPTIONS[ablation] + (", each side of the black span separately" if black else "")
    is_unchanged = [indices[frame_position] for _, frame_position in placement] == list(indices)
    return placement, f"{note}: same frames as planned" if is_unchanged else note


class PlannedClip(NamedTuple):
    """A clip with the frames that a sampling selects."""

    clip_id: str
    cluster: str
    sha256: str
    is_concatenation: bool
    indices: tuple[int, ...]


def assign_mismatched_clips(clips: Iterable[PlannedClip], seed: int) -> dict[str, PlannedClip]:
    """Map each clip to the mismatched clip whose frames replace the clip's frames.

    A mismatched clip is of another cluster (source video or pair), and has the same number of frames if possible. All
    clips form a circle in a seeded order, and each clip takes the next suitable clip. If a clip is missing, only the
    assignments to this clip change.
    """
    circle = sorted(clips, key=lambda clip: _hash(f"{seed}:{clip.clip_id}"))
    mismatches = {}
    for position, clip in enumerate(circle):
        if not clip.indices:
            continue
        next_clips = [*circle[position + 1 :], *circle[:position]]
        candidates = [
            candidate
            for candidate in next_clips
            if candidate.cluster != clip.cluster
            and candidate.sha256 != clip.sha256
            and candidate.is_concatenation == clip.is_concatenation
            and candidate.indices
        ]
        if not candidates:
            problem = "no other concatenation" if clip.is_concatenation else "no clip of another cluster"
            raise UserError(f"clip '{clip.clip_id}': {problem} can replace its frames.")
        count = len(clip.indices)
        # Prefer a clip with the same number of frames, then one with more, then the one that lacks the fewest.
        mismatch = min(
            candidates,
            key=lambda candidate: (len(candidate.indices) != count, max(0, count - len(candidate.indices))),
        )
        # Spread the needed frames evenly over those of the mismatched clip.
        mismatches[clip.clip_id] = mismatch._replace(
            indices=tuple(mismatch.indices[number * len(mismatch.indices) // count] for number in range(count))
        )
    return mismatches


def _hash(text: str) -> str:
    """Return a digest by which items are sorted in a seeded order that is the same on every machine."""
    return sha256(text.encode()).hexdigest()
