"""MMBench-Video's pickles of {name: bytes}: where each video is in the file. Nothing is unpickled.

A pickle is a program. The standard library takes its instructions apart; those that write one dict of bytes are known
here, and all others refused: nothing can run, and no number in the file reserves memory.
"""

import pickletools
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

from reprise.fetch.outcome import FetchError

MOST_STEPS = 400_000
LONGEST_NAME = 4096
ALLOWED = "only a dict of str and bytes is read"


class Span(NamedTuple):
    """Where the bytes of a video are."""

    start: int
    length: int


def read_videos(path: Path) -> dict[str, Span]:
    """Where each video of a pickle is; anything else in it is refused."""
    with path.open("rb") as stream:
        if stream.read(1) != b"\x80":
            raise FetchError("failed", f"{path.name}: neither a zip nor a pickle of protocol 2 or later")
        try:
            found = _written(_Skimmed(stream.fileno(), 0, access=ACCESS_READ), path.name)
        except (ValueError, KeyError) as error:
            raise FetchError("failed", f"{path.name}: not a whole pickle ({error})") from error
    videos: dict[str, Span] = {}
    for name, content in zip(found[::2], found[1::2], strict=True):
        if not isinstance(name, str) or not isinstance(content, Span):
            raise FetchError("unsafe_pickle", f"{path.name}: {name!r:.60} is no name with bytes; {ALLOWED}")
        videos[name] = content
    return videos


class _Skimmed(mmap):
    """A file, of which nothing longer than a name is read."""

    def read(self, count: int | None = None) -> Any:
        start = self.tell()
        if count is None or count <= LONGEST_NAME:
            return super().read(count)
        self.seek(min(start + count, len(self)))
        return memoryview(self)[start : self.tell()]


def _written(content: _Skimmed, name: str) -> list[str | Span]:
    """The names and the contents that the instructions write into one dict, in turns."""
    dicts, found = 0, list[str | Span]()
    memo: dict[int, list[str | Span]] = {}
    for step, (instruction, given, _) in enumerate(pickletools.genops(content)):  # type: ignore[arg-type]
        if step == MOST_STEPS:
            raise FetchError("too_large", f"{name}: more than {MOST_STEPS} instructions")
        argument: Any = given
        match instruction.name:
            case "PROTO" | "FRAME" | "MARK" | "SETITEM" | "SETITEMS" | "STOP":
                continue
            case "EMPTY_DICT":
                dicts += 1
            case "SHORT_BINUNICODE" | "BINUNICODE" | "BINUNICODE8":
                if len(argument.encode()) > LONGEST_NAME:  # encoding refuses half a character, which came through
                    raise FetchError("unsafe_pickle", f"{name}: a name of more than {LONGEST_NAME} bytes; {ALLOWED}")
                found.append(argument)
            case "SHORT_BINBYTES" | "BINBYTES" | "BINBYTES8":
                found.append(Span(content.tell() - len(argument), len(argument)))
            case "MEMOIZE":
                memo[len(memo)] = found[-1:]
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = found[-1:]
            case "BINGET" | "LONG_BINGET":
                found += memo[argument]
            case other:
                raise FetchError("unsafe_pickle", f"{name}: the pickle needs {other}; {ALLOWED}")
    if dicts != 1 or len(found) % 2:
        raise FetchError("unsafe_pickle", f"{name}: not one dict; {ALLOWED}")
    return found
