"""Errors: the exception for a user's mistake, the exit of a command on it, and failures of this machine.

A machine failure is distinguished from a problem of a file, because it is never recorded as a result.
"""

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
from reprise.core.plain import sanitize

DISK_SPACE_REMEDY = "make room (python -m reprise store --prune) or set `store:` to a larger disk"
PERMISSION_REMEDY = "let this user read and write there"
OPEN_FILES_REMEDY = "raise the limit of open files (ulimit -n)"
MEMORY_REMEDY = "give the job more memory, or run fewer jobs at once (--cores)"
REMEDIES = {
    errno.ENOSPC: DISK_SPACE_REMEDY,
    errno.EDQUOT: DISK_SPACE_REMEDY,
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENOMEM: MEMORY_REMEDY,
    errno.EAGAIN: "end other processes, or run fewer jobs at once (--cores)",
    errno.EMFILE: OPEN_FILES_REMEDY,
    errno.ENFILE: OPEN_FILES_REMEDY,
    errno.EIO: "check the disk",
    errno.ESTALE: "mount the file system again",
    errno.EROFS: PERMISSION_REMEDY,
    errno.EACCES: PERMISSION_REMEDY,
    errno.EPERM: PERMISSION_REMEDY,
}
# ffmpeg also reports these for damaged files, and its Python binding reports EIO for them.
UNCLEAR = {errno.EPERM, errno.EAGAIN}
SURROGATE = re.compile("[\udc80-\udcff]")  # Python decodes a byte of a name that is not UTF-8 to one of these.
ERRNO_IN_MESSAGE = re.compile(r"\(os error (\d+)\)")


class UserError(Exception):
    """A mistake that the user can correct, printed without a traceback."""


class MachineError(UserError):
    """A failure of this machine; the same command may succeed later."""


def stop_on_fault(error: BaseException, store: Path | None = None) -> None:
    """Raise a MachineError if this machine, and not the file, caused an error."""
    fault = find_fault(error, store)
    if fault is not None:
        raise MachineError(fault) from error


def stop_on_fault_of_ffmpeg(returncode: int, stderr: str, target: Path) -> None:
    """Raise a MachineError, and delete the partial file, if ffmpeg failed for a reason of this machine.

    The inputs were verified before, so a signal or a named system error is not a problem of a file.
    """
    reported = [number for number in REMEDIES if number not in UNCLEAR and os.strerror(number) in stderr]
    if reported:
        fault = _message(target, reported[0])
    elif returncode < 0 or returncode == 255:  # ffmpeg exits with 255 after a signal to terminate.
        reason = f"ffmpeg was ended by {signal.Signals(-returncode).name if returncode < 0 else 'a signal'}"
        fault = _with_remedy(f"{target}: {reason}", MEMORY_REMEDY)
    else:
        return
    target.unlink(missing_ok=True)
    raise MachineError(fault)


def suggest_name(name: str, allowed: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?`, or an empty text if no allowed name is close."""
    matches = get_close_matches(name, list(allowed), n=1, cutoff=0.6)
    return f" Did you mean '{matches[0]}'?" if matches else ""


def describe_choices(unknown_name: str, allowed: Iterable[str]) -> str:
    """Return ` Did you mean 'x'? Allowed: ...`; a long list is cut to the most similar names."""
    names = sorted(set(allowed))
    is_short = len(names) <= 25
    nearest = names if is_short else get_close_matches(unknown_name, names, n=8, cutoff=0)
    has_comma = any("," in name for name in nearest)
    options = ", ".join(f"'{name}'" if has_comma else name for name in nearest) or "nothing"
    return (
        f"{suggest_name(unknown_name, names)} Allowed: {options}{'' if is_short else f', ... ({len(names)} in all)'}."
    )


def unknown_name_error(kind: str, name: str, allowed: Iterable[str], location: str) -> UserError:
    return UserError(f"{location}: unknown {kind} '{name}'.{describe_choices(name, allowed)}")


def reject_unknown(kind: str, names: Iterable[str], allowed: Collection[str], location: str) -> None:
    for name in names:
        if name not in allowed:
            raise unknown_name_error(kind, name, allowed, location)


@contextmanager
def raise_machine_errors() -> Iterator[None]:
    """Raise a machine failure in the block as a MachineError that tells the user what to do."""
    try:
        yield
    except (OSError, MemoryError) as error:
        stop_on_fault(error)
        if isinstance(error, OSError) and (message := _misplaced(error)):
            raise MachineError(message) from error
        raise
    except UnicodeEncodeError as error:
        if name := _name_that_is_not_utf8(error):
            raise UserError(f"{name}: the name of this file or folder is not UTF-8. Rename it.") from error
        raise


def run_command(main: Callable[[], None]) -> None:
    """Run a command's main function; end a user's mistake with its message alone, and a bug with its traceback."""
    log_to_stderr()
    try:
        with raise_machine_errors():
            main()
    except UserError as error:
        message = f"Error: {sanitize(str(error))}"
        try:
            print(message, file=sys.stderr, flush=True)
        except OSError:  # Standard error may be a log on a full disk.
            print(message, flush=True)
        sys.exit(1)
    finally:
        gc.freeze()  # Skips a garbage collection of the libraries' objects at exit.


# Failures of this machine


def find_fault(error: BaseException, store: Path | None = None) -> str | None:
    """Return the machine failure that caused an error and its remedy, or None if the file itself is the cause.

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
    r"""Return the name that Python refuses to encode, its wrong bytes as `\xe9`; None for another cause."""
    if not SURROGATE.match(error.object, error.start):
        return None
    head, tail = (re.split(r'["\'\n]', part) for part in (error.object[: error.start], error.object[error.start :]))
    return utf8_or_escaped(head[-1] + tail[0])


def utf8_or_escaped(name: str) -> str:
    r"""Return a name with the bytes that are not UTF-8 as `\xe9`."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def _misplaced(error: OSError) -> str | None:
    """Describe what blocks the path of an error, such as a broken link, with its remedy; None if nothing does."""
    path, number = get_error_path(error), _number(error)
    for link in () if path is None else (path, *path.parents):
        if link.is_symlink() and not link.exists():
            problem = f"{link}: a link to {link.readlink()}, which does not exist"
            return _with_remedy(problem, "mount or restore its target, or remove the link")
    if path is None or number not in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP):
        return None
    return _with_remedy(f"{path}: {os.strerror(number)}", "move or rename what is at this path")


def get_error_path(error: OSError) -> Path | None:
    """Return the file that an error names, the target if it names two; None if it names none or a file descriptor."""
    name = error.filename2 or error.filename
    return Path(os.fsdecode(name)) if isinstance(name, str | bytes) else None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python, the operating system or torch reports that main or GPU memory ran out."""
    return any(
        isinstance(cause, MemoryError)
        or type(cause).__name__ == "OutOfMemoryError"
        or (isinstance(cause, OSError) and _number(cause) == errno.ENOMEM)
        or (isinstance(cause, RuntimeError) and re.search("can't allocate memory|out of memory", str(cause.args)))
        for cause in _causes(error)
    )


@contextmanager
def add_path_to_errors(path: Path) -> Iterator[None]:
    """Add the path of the written file to an OSError that names none."""
    try:
        yield
    except OSError as error:
        number = _number(error)
        if number == 0 or error.filename is not None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors that it was raised from or carries."""
    pending: list[object] = [error]
    seen: set[int] = set()
    while pending:
        cause = pending.pop(0)
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            carried = getattr(cause, "exc_info", None)
            pending += [
                cause.__cause__,
                getattr(cause, "reason", None),
                *(carried if isinstance(carried, tuple) else ()),
            ]


def _number(error: OSError) -> int:
    """Return the errno of an error; libraries in Rust state it only in their message."""
    match = ERRNO_IN_MESSAGE.search(str(error))
    return error.errno or (int(match[1]) if match else 0)


def _message(path: object, number: int) -> str:
    return _with_remedy(f"{path}: {os.strerror(number)}" if path else os.strerror(number), REMEDIES[number])


def _with_remedy(problem: str, remedy: str) -> str:
    return f"{problem}. Nothing was recorded: {remedy}, then run the same command again."
