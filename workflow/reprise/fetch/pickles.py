"""MMBench-Video's pickles of {name: bytes}: where each video is in the file. Nothing is unpickled.

A pickle is a program. The few instructions that write a dict of bytes are followed here, and all others refused:
nothing can run, and no number in the file reserves memory.
"""

import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from reprise.fetch.outcome import FetchError

MOST_STEPS = 4_000_000
LONGEST_NAME = 4096
ALLOWED = "only a dict of str and bytes is read"


class Span(NamedTuple):
    """Where the bytes of a video are."""

    start: int
    length: int


class _Mark:
    """Where the pairs of a dict begin on the stack."""


# Instruction -> bytes of the number that follows it.
TEXTS = {b"\x8c": 1, b"X": 4, b"\x8d": 8}
BYTES = {b"C": 1, b"B": 4, b"\x8e": 8}
PUTS = {b"q": 1, b"r": 4}
GETS = {b"h": 1, b"j": 4}
SKIPPED = {b"\x80": 1, b"\x95": 8}  # the protocol's number, and the length of a frame
MARK, EMPTY_DICT, SET_ONE, SET_ALL, MEMOIZE, STOP = b"(", b"}", b"s", b"u", b"\x94", b"."


def read_videos(path: Path) -> dict[str, Span]:
    """Where each video of a pickle is; anything else in it is refused."""
    with path.open("rb") as stream:
        return _Reader(stream, path).read()


class _Reader:
    """Follows the instructions of one pickle."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._name = path.name
        self._size = path.stat().st_size
        self._stack: list[object] = []
        self._memo: dict[int, object] = {}

    def read(self) -> dict[str, Span]:
        if self._stream.read(1) != b"\x80":
            raise FetchError("failed", f"{self._name}: neither a zip nor a pickle of protocol 2 or later")
        self._stream.seek(0)
        for _ in range(MOST_STEPS):
            code = self._stream.read(1)
            if code == STOP:
                return self._result()
            self._step(code)
        raise FetchError("too_large", f"{self._name}: more than {MOST_STEPS} instructions")

    def _step(self, code: bytes) -> None:
        if code in TEXTS:
            self._stack.append(self._text(self._number(TEXTS[code])))
        elif code in BYTES:
            self._stack.append(self._span(self._number(BYTES[code])))
        elif code in PUTS:
            self._memo[self._number(PUTS[code])] = self._top()
        elif code in GETS:
            self._stack.append(self._known(self._number(GETS[code])))
        elif code in SKIPPED:
            self._number(SKIPPED[code])
        elif code in _STEPS:
            _STEPS[code](self)
        else:
            raise self._refused(code)

    def mark(self) -> None:
        self._stack.append(_Mark())

    def empty_dict(self) -> None:
        self._stack.append({})

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self._top()

    def set_one(self) -> None:
        self._set(self._stack[-2:], len(self._stack) - 2)

    def set_all(self) -> None:
        place = next((at for at in reversed(range(len(self._stack))) if isinstance(self._stack[at], _Mark)), 0)
        self._set(self._stack[place + 1 :], place)

    def _set(self, pairs: list[object], keep: int) -> None:
        """Put pairs into the dict below them on the stack."""
        target = self._stack[keep - 1] if keep > 0 else None
        if not isinstance(target, dict) or len(pairs) % 2:
            raise FetchError("failed", f"{self._name}: not a whole pickle")
        for name, content in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(name, str) or not isinstance(content, Span):
                raise FetchError("unsafe_pickle", f"{self._name}: {name!r:.60} is no name with bytes; {ALLOWED}")
            target[name] = content
        del self._stack[keep:]

    def _result(self) -> dict[str, Span]:
        if len(self._stack) != 1 or not isinstance(self._stack[0], dict):
            raise FetchError("unsafe_pickle", f"{self._name}: no dict; {ALLOWED}")
        return self._stack[0]

    def _number(self, width: int) -> int:
        read = self._stream.read(width)
        if len(read) < width:
            raise self._cut_off()
        return int.from_bytes(read, "little")

    def _text(self, length: int) -> str:
        if length > LONGEST_NAME:
            raise FetchError("unsafe_pickle", f"{self._name}: a name of {length} bytes; {ALLOWED}")
        try:
            return self._stream.read(length).decode()
        except UnicodeDecodeError as error:
            raise FetchError("failed", f"{self._name}: a name that is no UTF-8 ({error})") from error

    def _span(self, length: int) -> Span:
        start = self._stream.tell()
        if start + length > self._size:
            raise self._cut_off()
        self._stream.seek(length, 1)
        return Span(start, length)

    def _top(self) -> object:
        if not self._stack:
            raise FetchError("failed", f"{self._name}: not a whole pickle")
        return self._stack[-1]

    def _known(self, number: int) -> object:
        if number not in self._memo:
            raise FetchError("failed", f"{self._name}: not a whole pickle")
        return self._memo[number]

    def _cut_off(self) -> FetchError:
        return FetchError("failed", f"{self._name}: not a whole pickle (it ends at {self._size} bytes)")

    def _refused(self, code: bytes) -> FetchError:
        if not code:
            return self._cut_off()
        known = next((one.name for one in pickletools.opcodes if one.code == code.decode("latin-1")), None)
        if known is None:
            return FetchError("failed", f"{self._name}: not a whole pickle (no instruction {code!r})")
        return FetchError("unsafe_pickle", f"{self._name}: the pickle needs {known}; {ALLOWED}")


_STEPS: dict[bytes, Callable[[_Reader], None]] = {
    MARK: _Reader.mark,
    EMPTY_DICT: _Reader.empty_dict,
    SET_ONE: _Reader.set_one,
    SET_ALL: _Reader.set_all,
    MEMOIZE: _Reader.memoize,
}
