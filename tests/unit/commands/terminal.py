"""Run a command with its output in a terminal of some width, or in a pipe."""

import os
import pty
import re
import shlex
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

import pytest
from reprise.__main__ import app

STYLES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
WIDTHS = 80, 120
# Snakemake prints this line itself, before it loads its logger.
SNAKEMAKE_LINE = re.compile(r"^Using workflow specific profile .*\n", re.MULTILINE)


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
    """Check a command's output at 80 and 120 columns, and in a pipe."""
    piped = run_command(command_line, monkeypatch, None)
    for width in WIDTHS:
        check_output(piped, run_command(command_line, monkeypatch, width), width)


def run_process(command: Sequence[str], folder: Path, environment: Mapping[str, str], width: int | None) -> str:
    """Return all output of a process and its children in a terminal of `width` columns, or in a pipe if it is None."""
    reader, writer = os.pipe() if width is None else pty.openpty()
    if width is not None:
        termios.tcsetwinsize(writer, (50, width))
    environment = {**environment, "TERM": "xterm"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer
    )
    os.close(writer)
    output = b""
    with os.fdopen(reader, "rb", buffering=0) as stream:
        try:
            while part := stream.read(10_000):
                output += part
        except OSError:  # Linux reports the end of a terminal as an error.
            pass
    process.wait()
    return SNAKEMAKE_LINE.sub("", output.decode().replace("\r\n", "\n"))


def check_process_widths(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Check all output of a process at 80 and 120 columns and in a pipe, and return that in the pipe."""
    piped, *shown = (run_process(command, folder, environment, width) for width in (None, *WIDTHS))
    for width, text in zip(WIDTHS, shown, strict=True):
        check_output(piped, text, width, has_durations=True)
    return piped


def check_output(piped: str, shown: str, width: int, *, has_durations: bool = False) -> None:
    """Check output in a terminal: no line is longer than `width`, and no word of the output in a pipe is broken.

    The output in the pipe has no colours. With `has_durations`, the values of numbers are not compared.
    """
    assert piped.strip() and "\x1b" not in piped
    shown = STYLES.sub("", shown)
    long_lines = [line for line in shown.splitlines() if len(line) > width]
    assert not long_lines, f"{width} columns: {long_lines}"
    if has_durations:
        piped, shown = (re.sub(r"\d+", "0", text) for text in (piped, shown))
    joined = re.sub(r"/\n +", "/", shown)  # long paths are divided after a slash
    words = {word.strip("[_]*:") for word in piped.split() if "─" not in word}  # a pipe has no bold print
    missing = {word for word in words if word not in joined}
    assert not missing, f"{width} columns: {missing}"
