"""The list of missing videos, read back for a page."""

import html
import re
from itertools import groupby
from typing import NamedTuple


class Missing(NamedTuple):
    """What is missing of one benchmark: lines of text, and tables of rows of cells, the first row the head."""

    title: str
    lines: list[str]
    tables: list[list[list[str]]]


def read_missing(text: str) -> list[Missing]:
    """The sections of the list that the stage `missing` writes."""
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *lines = section.splitlines()
        missing = Missing(title, [], [])
        for is_table, block in groupby(lines, key=lambda line: line.startswith("|")):
            if is_table:
                rows = [line[2:-2].split(" | ") for line in block if line.startswith("| ")]
                missing.tables.append([[html.unescape(cell) for cell in row] for row in rows])
            else:
                missing.lines.extend(filter(None, block))
        found.append(missing)
    return found
