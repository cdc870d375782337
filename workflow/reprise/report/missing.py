"""The list of missing videos, read back for a page."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

ROW = re.compile(r"\| (.*) \|")


class Listing(NamedTuple):
    """A table of what is missing."""

    head: list[str]
    rows: list[list[str]]


class Missing(NamedTuple):
    """What is missing of one benchmark."""

    title: str
    lines: list[str]
    listings: list[Listing]


def read_missing(text: str) -> list[Missing]:
    """The sections of the list that the stage `missing` writes."""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return [_section(section.splitlines()) for section in sections]


def _section(lines: list[str]) -> Missing:
    title, *rest = lines
    plain = [line for line in rest if line and not line.startswith("|")]
    return Missing(title, plain, list(_listings(rest)))


def _listings(lines: list[str]) -> Iterator[Listing]:
    """Neighbouring lines that begin with a bar; the second is the rule below the head."""
    block: list[list[str]] = []
    for line in [*lines, ""]:
        if found := ROW.fullmatch(line):
            block.append([html.unescape(cell) for cell in found[1].split(" | ")])
        elif not line.startswith("|") and block:
            yield Listing(block[0], block[1:])
            block = []
