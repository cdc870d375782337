"""Name the conditions of a temporal profile: the planned frames, and each temporal ablation of them."""

from reprise.media.ablations import (
    FIRST,
    FIRST_REPEATED,
    LAST,
    LAST_REPEATED,
    MIDDLE,
    MIDDLE_REPEATED,
    MISMATCHED,
    NONE,
    REVERSED,
    SHUFFLED,
)

PLANNED = "planned"
WITHOUT_VIDEO = (NONE, MISMATCHED)
SINGLE_FRAMES = (FIRST, MIDDLE, LAST)
REPEATED_FRAMES = (FIRST_REPEATED, MIDDLE_REPEATED, LAST_REPEATED)
REORDERED = (SHUFFLED, REVERSED)
ABLATIONS = (*WITHOUT_VIDEO, *SINGLE_FRAMES, *REPEATED_FRAMES, *REORDERED)
CONDITIONS = (*ABLATIONS, PLANNED)

CONDITION_TITLES = {
    NONE: "text only",
    MISMATCHED: "mismatched clip",
    FIRST: "first frame",
    MIDDLE: "middle frame",
    LAST: "last frame",
    FIRST_REPEATED: "first frame repeated",
    MIDDLE_REPEATED: "middle frame repeated",
    LAST_REPEATED: "last frame repeated",
    SHUFFLED: "frames shuffled",
    REVERSED: "frames reversed",
    PLANNED: "as planned",
}
