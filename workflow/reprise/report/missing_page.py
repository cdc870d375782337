"""Parse the list of missing videos for its page."""

import html
import re
from itertools import groupby
from typing import Any


def parse_missing_list(text: str) -> list[dict[str, Any]]:
    """Parse the output of the stage `missing`: for each benchmark its title, lines of text, and tables with headers."""
    sections = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *all_lines = section.splitlines()
        lines: list[str] = []
        tables: list[list[list[str]]] = []
        for is_table, block in groupby(all_lines, key=lambda line: line.startswith("|")):
            if is_table:
                # Rows are `| cell | cell |`. The rule below the header starts with `|-`.
                rows = [line[2:-2].split(" | ") for line in block if line.startswith("| ")]
                tables.append([[html.unescape(cell) for cell in row] for row in rows])
            else:
                lines.extend(filter(None, block))
        sections.append({"title": title, "lines": lines, "tables": tables})
    return sections
