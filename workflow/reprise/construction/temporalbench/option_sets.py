"""Which negative of a caption is N1(C) of Table 4: it is chosen after people have said which captions fit."""

from collections.abc import Iterator, Mapping, Sequence

from reprise.construction.filters import Row
from reprise.construction.temporalbench.candidates import WORDS
from reprise.construction.temporalbench.negatives import CENTRAL, NEGATIVE_FILTERS, kept_words

OTHERS = 2
"""negatives of the caption beside N1(C), and negatives of N1(C)"""
OPTION_SET_FILTERS = ("no_option_set", "other_option_set")


def with_option_sets(rows: Sequence[Row]) -> list[Row]:
    """The negatives of each clip; those of a negative stay only where they make the clip's one option set."""
    by_clip: dict[str, list[Row]] = {}
    for row in rows:
        by_clip.setdefault(row["clip"], []).append(row)
    dropped = {row["sample_id"]: why for own in by_clip.values() for row, why in _of_clip(own)}
    return [row | dropped.get(row["sample_id"], {}) for row in rows]


def option_sets(rows: Sequence[Row]) -> Iterator[tuple[Row, list[str]]]:
    """Of each clip that has one a row of it, and its captions: C, N1(C), N2(C), N3(C), two negatives of N1(C)."""
    by_clip: dict[str, list[Row]] = {}
    for row in rows:
        if not row["filter"]:
            by_clip.setdefault(row["clip"], []).append(row)
    for own in by_clip.values():
        again = [row for row in own if row["level"] == CENTRAL]
        if again:
            first = again[0]["of"]
            others = [row["negative"] for row in kept_words(own) if row["negative"] != first][:OTHERS]
            yield again[0], [again[0]["caption"], first, *others, *(row["negative"] for row in again)]


def _of_clip(own: Sequence[Row]) -> Iterator[tuple[Row, dict[str, str]]]:
    """The negatives of negatives of a clip that make no option set, and why."""
    again = [row for row in own if row["level"] == CENTRAL and not row["filter"]]
    broken = {first: _broken(first, own, again) for first in _in_order(own)}
    chosen = next((first for first, why in broken.items() if not why), None)
    for row in again:
        if chosen is None:
            yield row, {"filter": "no_option_set", "why": broken[row["of"]]}
        elif row["of"] != chosen:
            yield row, {"filter": "other_option_set", "why": f"N1(C) is '{chosen}'"}


def _in_order(own: Sequence[Row]) -> list[str]:
    """The negatives of which negatives were made, in the order in which they are tried."""
    made = {row["of"] for row in own if row["level"] == CENTRAL}
    words = sorted((row for row in own if row["level"] == WORDS), key=lambda row: str(row["sample_id"]))
    return list(dict.fromkeys(row["negative"] for row in words if row["negative"] in made))


def _broken(first: str, own: Sequence[Row], again: Sequence[Mapping[str, str]]) -> str:
    """Why a negative cannot be N1(C)."""
    words = [row["negative"] for row in kept_words(own)]
    left = sum(row["of"] == first for row in again)
    if first not in words:
        why = [row["filter"] for row in own if row["negative"] == first and row["filter"] not in NEGATIVE_FILTERS]
        return f"N1(C) was dropped: {', '.join(dict.fromkeys(why))}"
    if len(words) <= OTHERS:
        return f"{len(words)} negatives of the caption are left, {OTHERS + 1} are needed"
    return "" if left >= OTHERS else f"{left} negatives of N1(C) are left, {OTHERS} are needed"
