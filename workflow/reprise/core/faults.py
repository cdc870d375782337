"""Tells failures of this machine from problems of a file: the former are never recorded as results."""

import errno
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOM = "make room (python -m reprise store --prune) or set `store:` to a larger disk"
RIGHTS = "let this user read and write there"
OPEN_FILES = "raise the limit of open files (ulimit -n)"
MEMORY = "give the job more memory, or run fewer at once (--cores)"
REMEDIES = {
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENOMEM: MEMORY,
    errno.EAGAIN: "end other processes, or run fewer jobs at once (--cores)",
    errno.EMFILE: OPEN_FILES,
    errno.ENFILE: OPEN_FILES,
    errno.EIO: "check the disk",
    errno.ESTALE: "mount the file system again",
    errno.EROFS: RIGHTS,
    errno.EACCES: RIGHTS,
    errno.EPERM: RIGHTS,
}
# Something else lies where a file or folder should be.
MISPLACED = {errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP}
REFUSALS = {errno.EACCES, errno.EPERM}
# ffmpeg uses these numbers for damaged files too.
AMBIGUOUS = {errno.EIO, errno.EPERM, errno.EAGAIN}
IN_WORDS = re.compile(r"\(os error (\d+)\)")
NO_MEMORY = ("can't allocate memory", "out of memory")  # as torch says it of main memory and of a driver
ENDED_BY_SIGNAL = 255  # how ffmpeg exits when it is asked to end


def fault_of(error: BaseException, store: Path | None = None) -> str | None:
    """The machine's failure behind an error, and what to do; None if the cause is the file itself.

    With a store, a refusal to read a file outside it is a problem of that file.
    """
    for cause in _causes(error):
        if isinstance(cause, MemoryError):
            return _message(getattr(cause, "filename", None), errno.ENOMEM)
        if not isinstance(cause, OSError):
            continue
        number = _number(cause)
        is_fault = number in REMEDIES
        if type(cause).__module__ == "av.error" and number in AMBIGUOUS:
            is_fault = False
        elif number in REFUSALS and store is not None and cause.filename is not None:
            is_fault = Path(os.fsdecode(cause.filename)).resolve().is_relative_to(store.resolve())
        if is_fault:
            return _message(cause.filename or store, number)
    return None


def misplaced(error: BaseException) -> str | None:
    """What lies where a file or folder should be, such as a link to a disk that is not mounted, and what to do."""
    if not isinstance(error, OSError) or (path := path_of(error)) is None:
        return None
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            what = f"{link}: a link to {link.readlink()}, which is not there"
            return _worded(what, "mount or restore that, or remove the link")
    number = _number(error)
    if number in MISPLACED:
        return _worded(f"{path}: {os.strerror(number)}", "move away what lies in its place")
    return None


def path_of(error: OSError) -> Path | None:
    """The file that an error names, of a move its target; None where it names none, or only an open file's number."""
    name = error.filename2 or error.filename
    return Path(os.fsdecode(name)) if isinstance(name, str | bytes) else None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether main memory or a GPU's was exhausted, as Python, the operating system or torch say it."""
    return any(
        isinstance(cause, MemoryError)
        or type(cause).__name__ == "OutOfMemoryError"
        or (isinstance(cause, OSError) and _number(cause) == errno.ENOMEM)
        or (isinstance(cause, RuntimeError) and any(words in _said(cause.args) for words in NO_MEMORY))
        for cause in _causes(error)
    )


def fault_of_ffmpeg(returncode: int, stderr: str, target: Path) -> str | None:
    """The machine's failure that ended ffmpeg on checked files: it was killed, or its output names the failure."""
    for number in set(REMEDIES) - {errno.EPERM, errno.EAGAIN}:
        if os.strerror(number) in stderr:
            return _message(target, number)
    if returncode < 0 or returncode == ENDED_BY_SIGNAL:
        ended = f"ffmpeg was ended by {signal.Signals(-returncode).name if returncode < 0 else 'a signal'}"
        return _worded(f"{target}: {ended}", MEMORY)
    return None


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the name of the written file to an error that names none."""
    try:
        yield
    except OSError as error:
        number = _number(error)
        if number == 0 or error.filename is not None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was raised from or carries."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            carried = getattr(one, "exc_info", None)
            waiting += [one.__cause__, getattr(one, "reason", None), *(carried if isinstance(carried, tuple) else ())]


def _number(error: OSError) -> int:
    """The error's number; libraries in Rust give it only in their message."""
    number = IN_WORDS.search(_said(error))
    return error.errno or (int(number[1]) if number else 0)


def _said(value: object) -> str:
    """A value in words; nothing where a library's class cannot say them."""
    try:
        return str(value)
    except Exception:
        return ""


def _message(path: object, number: int) -> str:
    return _worded(f"{path}: {os.strerror(number)}" if path else os.strerror(number), REMEDIES[number])


def _worded(what: str, remedy: str) -> str:
    return f"{what}. Nothing was recorded: {remedy}, then run the same command again."
