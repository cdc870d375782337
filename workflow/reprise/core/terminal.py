"""Wrap lines of text for a terminal. Text in a file or a pipe keeps its lines."""

import os
import re
import shutil
from collections.abc import Iterator
from textwrap import wrap
from typing import TextIO

INDENT = 2  # of the continuation of a line


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person reads a stream in a terminal."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def get_width(stream: TextIO) -> int | None:
    """Return the width of the terminal, or None if a stream is not a terminal."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else None


def wrap_text(text: str, width: int | None) -> str:
    """Return a text whose lines have at most `width` characters; None keeps the lines."""
    return "\n".join(part for line in text.split("\n") for part in wrap_line(line, width))


def wrap_line(line: str, width: int | None) -> list[str]:
    """Return a line in parts of at most `width` characters, divided between words; long paths after a slash."""
    if width is None or len(line) <= width:
        return [line]
    indent = re.match(r" *(?:[-|] +)?", line)
    start = indent[0] if indent else ""
    continued = " " * min(len(start) + INDENT, width // 2)
    parts = wrap(
        line[len(start) :], width, initial_indent=start, subsequent_indent=continued, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [piece for part in parts for piece in _divide_path(part, width, continued)]


def _divide_path(text: str, width: int, indent: str) -> Iterator[str]:
    """Yield a text in pieces of at most `width` characters, each of which but the last ends with a slash."""
    while len(text) > width and (end := text.rfind("/", len(indent) + 1, width)) > 0:
        yield text[: end + 1]
        text = indent + text[end + 1 :]
    yield text
