"""Where the lines go: on a terminal above a status that is drawn anew, into a file or a pipe as plain lines."""

import os
from collections.abc import Sequence
from typing import TextIO

from reprise.core.plain import safe

RED, YELLOW, BOLD, PLAIN = "31", "33", "1", ""
NARROWEST, WIDTH_OF_FILES = 40, 100
ON_TERMINAL_S, IN_FILE_S = 1.0, 10.0


class Screen:
    """Writes lines that stay, and a status that goes."""

    def __init__(self, stream: TextIO, *, is_coloured: bool = True) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._is_coloured = is_coloured and self.is_terminal and "NO_COLOR" not in os.environ
        self._drawn = 0
        """how many lines of status stand at the bottom"""

    @property
    def period(self) -> float:
        """Seconds after which a status is shown again."""
        return ON_TERMINAL_S if self.is_terminal else IN_FILE_S

    @property
    def width(self) -> int:
        columns = os.get_terminal_size(self._stream.fileno()).columns if self.is_terminal else 0
        return max(NARROWEST, columns) if columns else WIDTH_OF_FILES

    def say(self, text: str, style: str = PLAIN) -> None:
        """Lines that stay."""
        shown = safe(text)
        self._write(self._erased() + (f"\x1b[{style}m{shown}\x1b[0m" if style and self._is_coloured else shown) + "\n")

    def status(self, lines: Sequence[str]) -> None:
        """Lines that go with the next ones; none are drawn in a file or a pipe."""
        if self.is_terminal:
            width = self.width - 1
            erased = self._erased()
            self._drawn = len(lines)
            self._write(erased + "".join(f"{safe(line)[:width]}\n" for line in lines))

    def _erased(self) -> str:
        """What removes the status."""
        code = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        self._drawn = 0
        return code

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
