"""Name the conditions of a temporal profile: the planned frames, and each temporal ablation of them."""

from reprise.media.ablations import (
    FIRST,
    FIRST_REPEATED,
    FRAME,
    FRAME_REPEATED,
    LAST,
    LAST_REPEATED,
    MIDDLE,
    MIDDLE_REPEATED,
    MISMATCHED,
    MISMATCHED_FRAME,
    MISMATCHED_FRAME_REPEATED,
    NONE,
    REVERSED,
    SHUFFLED,
)

PLANNED = "planned"
NOT_IN_SUITE = "not in this suite"  # reason why an ablation that the suite does not list was not run
# Groups of temporal ablations, by what they remove.
WITHOUT_VIDEO = (NONE, MISMATCHED)
SINGLE_FRAMES = (FIRST, MIDDLE, LAST)
REPEATED_FRAMES = (FIRST_REPEATED, MIDDLE_REPEATED, LAST_REPEATED)
REORDERED = (SHUFFLED, REVERSED)
# Conditions of the single-frame probe, which shows each planned frame alone. For each question, the answer counts that
# the model gives to a frame with the most confidence.
BEST_FRAME, BEST_FRAME_REPEATED = "best_frame", "best_frame_repeated"
MISMATCHED_BEST, MISMATCHED_BEST_REPEATED = "mismatched_best_frame", "mismatched_best_frame_repeated"
BEST_FRAMES = {
    BEST_FRAME: FRAME,
    BEST_FRAME_REPEATED: FRAME_REPEATED,
    MISMATCHED_BEST: MISMATCHED_FRAME,
    MISMATCHED_BEST_REPEATED: MISMATCHED_FRAME_REPEATED,
}
"""condition of the single-frame probe -> ablation from whose frames it takes, for each question, the most confident"""
NULL_CONDITIONS = {BEST_FRAME: MISMATCHED_BEST, BEST_FRAME_REPEATED: MISMATCHED_BEST_REPEATED}
"""condition -> the same choice among the frames of a mismatched clip"""
ABLATIONS = (*WITHOUT_VIDEO, *SINGLE_FRAMES, *REPEATED_FRAMES, *REORDERED)
CONDITIONS = (*ABLATIONS, PLANNED)
"""conditions of every temporal profile; one with a single-frame probe also has `BEST_FRAMES`"""

CONDITION_TITLES = {
    NONE: "text only",
    MISMATCHED: "mismatched clip",
    FIRST: "first frame",
    MIDDLE: "middle frame",
    LAST: "last frame",
    FIRST_REPEATED: "first frame repeated",
    MIDDLE_REPEATED: "middle frame repeated",
    LAST_REPEATED: "last frame repeated",
    BEST_FRAME: "best single frame",
    BEST_FRAME_REPEATED: "best single frame repeated",
    MISMATCHED_BEST: "best frame of a mismatched clip",
    MISMATCHED_BEST_REPEATED: "best frame of a mismatched clip repeated",
    SHUFFLED: "frames shuffled",
    REVERSED: "frames reversed",
    PLANNED: "as planned",
}
