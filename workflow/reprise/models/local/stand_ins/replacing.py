"""False captions: words replaced, or two events told in the other order. A part of the adapter `templates`."""

import re
from collections.abc import Iterator, Sequence

from reprise.models.settings import Replacement

FALSE = re.compile(r"Write at most (\d+) false captions .*?Caption: ([^\n]+)", re.DOTALL)
CHANGED = re.compile(r"True caption: ([^\n]+)\nFalse caption: ([^\n]+)")
TWO_EVENTS = re.compile(r"First, (.+?)\. Then, (.+)\.")
OTHER = "Others"


def replaced(prompt: str, system: str, replacements: Sequence[Replacement]) -> str | None:
    """The reply to a prompt about false captions; nothing if it is about something else."""
    if asked := CHANGED.search(prompt):
        return _category(asked[1], asked[2], replacements)
    if asked := FALSE.search(prompt):
        is_order = "the order of two events is reversed" in system
        found = _other_order(asked[2]) if is_order else _other_words(asked[2], replacements)
        return "\n".join(f"{place}. {text}" for place, text in enumerate(list(found)[: int(asked[1])], start=1))
    return None


def _other_words(caption: str, replacements: Sequence[Replacement]) -> Iterator[str]:
    """Each replacement at each place where it fits."""
    for one in replacements:
        for match in re.finditer(rf"\b{re.escape(one.says)}\b", caption):
            yield caption[: match.start()] + one.instead + caption[match.end() :]


def _other_order(caption: str) -> Iterator[str]:
    if told := TWO_EVENTS.fullmatch(caption):
        yield f"First, {told[2]}. Then, {told[1]}."


def _category(caption: str, false: str, replacements: Sequence[Replacement]) -> str:
    """Of the replacement that makes the false caption of the true one."""
    fitting = [one.category for one in replacements if false in _other_words(caption, [one])]
    return fitting[0] if fitting else OTHER
