"""Negatives of a caption as the writer lists them: which count, and what kind of change each one is."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.construction.draws import rank
from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.replies import opened, shown
from reprise.construction.writing import Reading

CENTRAL = "central"
"""level of the negatives of a negative"""
EVENT_ORDER = "Event Order"
WORD_CATEGORIES = tuple(name for name in CATEGORIES if name != EVENT_ORDER)
NEGATIVE_FILTERS = ("more_than_asked", "no_words", "unchanged", "in_prompt", "duplicate")
CATEGORY_PROBLEMS = ("no_category", "several_categories")


def plain(text: str) -> str:
    """A caption without what does not change its meaning: case, spaces, punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def as_negatives(
    clip: str, caption: str, lists: Sequence[tuple[str, int, list[str]]], examples: Collection[str] = ()
) -> list[Row]:
    """Every line of every list, by level, each dropped one with its reason."""
    rows = [
        {
            "sample_id": f"{clip}/{level}/{rank(0, text)[:10]}" + (f"/{place}" if text in lines[: place - 1] else ""),
            "clip": clip, "level": level, "caption": caption, "negative": text, "place": place, "most": most,
        }
        for level, most, lines in lists
        for place, text in enumerate(lines, start=1)
    ]  # fmt: skip
    seen: set[str] = set()
    others = () if plain(caption) in examples else examples  # of the prompt's caption they are negatives

    def duplicate(row: Mapping[str, str]) -> str:
        name = plain(row["negative"])
        is_known = name in seen
        seen.add(name)
        return "the same as one before" if is_known else ""

    found = {
        "more_than_asked": lambda row: f"more than {row['most']}" if row["place"] > row["most"] else "",
        "no_words": lambda row: "" if plain(row["negative"]) else "it has no words",
        "in_prompt": lambda row: "an example of the prompt" if plain(row["negative"]) in others else "",
        "unchanged": lambda row: "the caption itself" if plain(row["negative"]) == plain(caption) else "",
        "duplicate": duplicate,
    }
    return sifted(rows, [Filter(name, found[name]) for name in NEGATIVE_FILTERS])


def kept_words(rows: Iterable[Row]) -> list[Row]:
    """The negatives of a clip in which words are replaced, in the order of their digests."""
    left = [row for row in rows if row["level"] == "words" and not row["filter"]]
    return sorted(left, key=lambda row: row["sample_id"])


def category_in(reply: str, prompt: str) -> Reading:
    """The one category that a reply names."""
    text, problem, why = opened(reply, prompt)
    if problem:
        return Reading(problem=problem, why=why)
    said = plain(text)
    named = [name for name in WORD_CATEGORIES if f" {plain(name)} " in f" {said} "]
    if len(named) == 1:
        return Reading(text=named[0])
    if not named:
        return Reading(problem="no_category", why=f"none of {', '.join(WORD_CATEGORIES)} in {shown(text)}")
    return Reading(problem="several_categories", why=f"{', '.join(named)}")
