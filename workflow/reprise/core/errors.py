"""Errors: the one exception for a user's mistake, how a command ends on it, and failures of this machine told from
problems of a file, since the former are never recorded as results."""

import errno
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from reprise.core.log import log_to_stderr
from reprise.core.plain import safe

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
# ffmpeg says these of damaged files too; its Python binding also EIO.
UNCLEAR = {errno.EPERM, errno.EAGAIN}
SURROGATE = re.compile("[\udc80-\udcff]")  # how Python holds a byte of a name that is not UTF-8
IN_WORDS = re.compile(r"\(os error (\d+)\)")


class UserError(Exception):
    """A mistake that the user can correct: printed without a traceback."""


class MachineError(UserError):
    """A failure of this machine; the same command may succeed later."""


def stop_on_fault(error: BaseException, store: Path | None = None) -> None:
    """End the job if an error is caused by this machine and not by the file."""
    fault = fault_of(error, store)
    if fault is not None:
        raise MachineError(fault) from error


def stop_on_fault_of_ffmpeg(returncode: int, stderr: str, target: Path) -> None:
    """End the job, and leave no partial file, if ffmpeg was killed on checked files, or its output names a failure."""
    named_in_output = [number for number in REMEDIES if number not in UNCLEAR and os.strerror(number) in stderr]
    if named_in_output:
        fault = _message(target, named_in_output[0])
    elif returncode < 0 or returncode == 255:  # as when it is asked to end
        ended = f"ffmpeg was ended by {signal.Signals(-returncode).name if returncode < 0 else 'a signal'}"
        fault = _worded(f"{target}: {ended}", MEMORY)
    else:
        return
    target.unlink(missing_ok=True)
    raise MachineError(fault)


def suggestion(found: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing when no allowed name is close."""
    close = get_close_matches(found, list(allowed), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


def choices(found: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'? Allowed: ...`; of a long list only the names that are nearest to what was found."""
    names = sorted(set(allowed))
    is_short = len(names) <= 25
    shown = names if is_short else get_close_matches(found, names, n=8, cutoff=0)
    has_comma = any("," in name for name in shown)
    listed = ", ".join(f"'{name}'" if has_comma else name for name in shown) or "nothing"
    return f"{suggestion(found, names)} Allowed: {listed}{'' if is_short else f', ... ({len(names)} in all)'}."


def unknown(what: str, found: str, allowed: Iterable[str], where: str) -> UserError:
    return UserError(f"{where}: unknown {what} '{found}'.{choices(found, allowed)}")


def refuse_unknown(what: str, found: Iterable[str], allowed: Collection[str], where: str) -> None:
    for name in found:
        if name not in allowed:
            raise unknown(what, name, allowed, where)


@contextmanager
def faults_in_words() -> Iterator[None]:
    """Raise what this machine could not do as a message for the user."""
    try:
        yield
    except (OSError, MemoryError) as error:
        stop_on_fault(error)
        if isinstance(error, OSError) and (found := _misplaced(error)):
            raise MachineError(found) from error
        raise
    except UnicodeEncodeError as error:
        if name := _name_that_is_not_utf8(error):
            raise UserError(f"{name}: a name of a file or a folder that is not UTF-8. Rename it.") from error
        raise


def run_command(main: Callable[[], None]) -> None:
    """Run a command's main; a user's mistake ends it with its message alone, a bug keeps its traceback."""
    log_to_stderr()
    try:
        with faults_in_words():
            main()
    except UserError as error:
        message = f"Error: {safe(str(error))}"
        try:
            print(message, file=sys.stderr, flush=True)
        except OSError:  # the log that takes it lies on a full disk
            print(message, flush=True)
        sys.exit(1)
    finally:
        gc.freeze()  # saves a garbage collection of the libraries' objects at exit


# Failures of this machine


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
        if type(cause).__module__ == "av.error" and number in {errno.EIO, *UNCLEAR}:
            is_fault = False
        elif number in (errno.EACCES, errno.EPERM) and store is not None and cause.filename is not None:
            is_fault = Path(os.fsdecode(cause.filename)).resolve().is_relative_to(store.resolve())
        if is_fault:
            return _message(cause.filename or store, number)
    return None


def _name_that_is_not_utf8(error: UnicodeEncodeError) -> str | None:
    """Return the name, its wrong bytes as `\\xe9`, by which Python refuses to write a text; None of another cause."""
    if not SURROGATE.match(error.object, error.start):
        return None
    before, after = (re.split(r'["\'\n]', part) for part in (error.object[: error.start], error.object[error.start :]))
    return utf8_or_escaped(before[-1] + after[0])


def utf8_or_escaped(name: str) -> str:
    """A name with the bytes in it that are not UTF-8 as `\\xe9`."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def _misplaced(error: OSError) -> str | None:
    """What lies where a file or folder should be, such as a link to a disk that is not mounted, and what to do."""
    path, number = path_of(error), _number(error)
    for link in () if path is None else (path, *path.parents):
        if link.is_symlink() and not link.exists():
            what = f"{link}: a link to {link.readlink()}, which is not there"
            return _worded(what, "mount or restore that, or remove the link")
    if path is None or number not in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP):
        return None
    return _worded(f"{path}: {os.strerror(number)}", "move away what lies in its place")


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
        or (isinstance(cause, RuntimeError) and re.search("can't allocate memory|out of memory", str(cause.args)))
        for cause in _causes(error)
    )


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
    number = IN_WORDS.search(str(error))
    return error.errno or (int(number[1]) if number else 0)


def _message(path: object, number: int) -> str:
    return _worded(f"{path}: {os.strerror(number)}" if path else os.strerror(number), REMEDIES[number])


def _worded(what: str, remedy: str) -> str:
    return f"{what}. Nothing was recorded: {remedy}, then run the same command again."
