"""MMBench-Video's pickles of {name: bytes}: where each video is in the file. Nothing is unpickled.

A pickle is a program. The standard library takes its instructions apart; the few that write a dict of bytes are
followed here, and all others refused: nothing can run, and no number in the file reserves memory.
"""

import pickletools
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from reprise.fetch.outcome import FetchError

MOST_STEPS = 400_000
LONGEST_NAME = 4096
ALLOWED = "only a dict of str and bytes is read"
MARK = object()
"""where the pairs of a dict begin on the stack"""


class Span(NamedTuple):
    """Where the bytes of a video are."""

    start: int
    length: int


def read_videos(path: Path) -> dict[str, Span]:
    """Where each video of a pickle is; anything else in it is refused."""
    with path.open("rb") as stream:
        if stream.read(1) != b"\x80":
            raise FetchError("failed", f"{path.name}: neither a zip nor a pickle of protocol 2 or later")
        stream.seek(0)
        try:
            return _follow(_Stream(stream, path), path.name)
        except (ValueError, IndexError, KeyError) as error:
            raise FetchError("failed", f"{path.name}: not a whole pickle ({error})") from error


class _Skipped(bytes):
    """Bytes that are passed over: as many as the file says, and none in memory."""

    length = 0

    def __len__(self) -> int:
        return self.length


class _Stream:
    """A file, of which nothing longer than a name is read."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._size = stream, path.stat().st_size
        self.tell = stream.tell

    def read(self, count: int) -> bytes:
        if self.tell() + count > self._size:
            raise ValueError(f"it ends at {self._size} bytes")
        if count <= LONGEST_NAME:
            return self._stream.read(count)
        self._stream.seek(count, 1)
        skipped = _Skipped()
        skipped.length = count
        return skipped

    def readline(self) -> bytes:
        return self._stream.readline(LONGEST_NAME)


def _follow(stream: _Stream, name: str) -> dict[str, Span]:
    """The dict that the instructions write."""
    stack: list[object] = []
    memo: dict[int, object] = {}
    for step, (instruction, found, _) in enumerate(pickletools.genops(stream)):  # type: ignore[arg-type]
        if step == MOST_STEPS:
            raise FetchError("too_large", f"{name}: more than {MOST_STEPS} instructions")
        argument: Any = found
        match instruction.name:
            case "PROTO" | "FRAME" | "STOP":
                continue
            case "SHORT_BINUNICODE" | "BINUNICODE" | "BINUNICODE8":
                if not argument:  # a longer one was passed over
                    raise FetchError("unsafe_pickle", f"{name}: a name of more than {LONGEST_NAME} bytes; {ALLOWED}")
                argument.encode()  # refuses half a character, which the standard library lets pass
                stack.append(argument)
            case "SHORT_BINBYTES" | "BINBYTES" | "BINBYTES8":
                stack.append(Span(stream.tell() - len(argument), len(argument)))
            case "EMPTY_DICT":
                stack.append({})
            case "MARK":
                stack.append(MARK)
            case "MEMOIZE":
                memo[len(memo)] = stack[-1]
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "SETITEM":
                _put(stack, len(stack) - 2, 0, name)
            case "SETITEMS":
                _put(stack, len(stack) - 1 - stack[::-1].index(MARK), 1, name)
            case other:
                raise FetchError("unsafe_pickle", f"{name}: the pickle needs {other}; {ALLOWED}")
    if len(stack) != 1 or not isinstance(stack[0], dict):
        raise FetchError("unsafe_pickle", f"{name}: no dict; {ALLOWED}")
    return stack[0]


def _put(stack: list[object], place: int, marks: int, name: str) -> None:
    """Put the pairs that stand at a place of the stack, behind a mark or none, into the dict below them."""
    if place < 1:
        raise ValueError("no dict below a pair")
    pairs, target = stack[place + marks :], stack[place - 1]
    del stack[place:]
    if not isinstance(target, dict) or len(pairs) % 2:
        raise ValueError("no pairs for a dict")
    for key, content in zip(pairs[::2], pairs[1::2], strict=True):
        if not isinstance(key, str) or not isinstance(content, Span):
            raise FetchError("unsafe_pickle", f"{name}: {key!r:.60} is no name with bytes; {ALLOWED}")
        target[key] = content
