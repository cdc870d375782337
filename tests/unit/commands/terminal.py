"""Run a command with its output in a terminal of some width, or in a pipe."""

import re
import shlex
import sys
from io import StringIO

import pytest
from reprise.__main__ import app

STYLES = re.compile(r"\x1b\[[\d;]*m")


class TerminalStream(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def run_command(command_line: str, monkeypatch: pytest.MonkeyPatch, width: int | None) -> str:
    """Return the output of a command in a terminal of `width` columns, or in a pipe if it is None."""
    stream = StringIO() if width is None else TerminalStream()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "80" if width is None else str(width))
        app(shlex.split(command_line), standalone_mode=False)
    return stream.getvalue()


def check_widths(command_line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a command's output at 80 and 120 columns: no line is longer, and no word is broken or left out.

    The output in a pipe has every word in one piece, and no colours.
    """
    piped = run_command(command_line, monkeypatch, None)
    assert piped.strip() and "\x1b" not in piped
    for width in (80, 120):
        shown = STYLES.sub("", run_command(command_line, monkeypatch, width))
        long_lines = [line for line in shown.splitlines() if len(line) > width]
        assert not long_lines, f"{width} columns: {long_lines}"
        joined = re.sub(r"/\n +", "/", shown)  # long paths are divided after a slash
        words = {word.strip("[_]*:") for word in piped.split() if "─" not in word}  # a pipe has no bold print
        missing = {word for word in words if word not in joined}
        assert not missing, f"{width} columns: {missing}"
