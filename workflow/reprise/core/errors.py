"""Exceptions for mistakes of the user and for failures of this machine, and the function that runs a command.

A machine failure, such as a full disk, is never recorded as a result; a problem of a video file is.
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
from reprise.core.terminal import get_width, wrap_text

DISK_SPACE_REMEDY = "make room (reprise store --prune) or set `store:` to a larger disk"
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
# ffmpeg and its Python binding (PyAV) also report these errors for damaged files; PyAV reports EIO for them, too.
AMBIGUOUS_ERRNOS = {errno.EPERM, errno.EAGAIN}
# Python decodes each byte of a file name that is not UTF-8 to one of these characters.
SURROGATE = re.compile("[\udc80-\udcff]")
ERRNO_IN_MESSAGE = re.compile(r"\(os error (\d+)\)")


class UserError(Exception):
    """A problem that the user can solve, usually a mistake; the command prints its message without a traceback."""

    exit_code = 1


class MachineError(UserError):
    """A failure of this machine; the same command may succeed later."""


def raise_if_machine_fault(error: BaseException, store: Path | None = None) -> None:
    """Raise a MachineError if this machine caused an error, and not the file that was read or written.

    For `store` see `describe_machine_fault`.
    """
    message = describe_machine_fault(error, store)
    if message is not None:
        raise MachineError(message) from error


def raise_if_ffmpeg_machine_fault(returncode: int, stderr: str, target: Path) -> None:
    """Raise a MachineError and delete the partial file if this machine caused the failure of ffmpeg.

    The caller has verified the input files, so only the machine can cause a signal or a named system error.
    """
    error_numbers = [
        error_number
        for error_number in REMEDIES
        if error_number not in AMBIGUOUS_ERRNOS and os.strerror(error_number) in stderr
    ]
    if error_numbers:
        message = _fault_message(target, error_numbers[0])
    elif returncode < 0 or returncode == 255:  # ffmpeg exits with 255 after a signal to terminate.
        reason = f"ffmpeg was ended by {signal.Signals(-returncode).name if returncode < 0 else 'a signal'}"
        message = _with_remedy(f"{target}: {reason}", MEMORY_REMEDY)
    else:
        return
    target.unlink(missing_ok=True)
    raise MachineError(message)


def suggest_name(name: str, allowed_names: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?`, or an empty text if no allowed name is close."""
    matches = get_close_matches(name, list(allowed_names), n=1, cutoff=0.6)
    return f" Did you mean '{matches[0]}'?" if matches else ""


def describe_choices(unknown_name: str, allowed_names: Iterable[str]) -> str:
    """Return ` Did you mean 'x'? Allowed: ...`; of many allowed names only the most similar are listed."""
    names = sorted(set(allowed_names))
    is_short = len(names) <= 25
    listed_names = names if is_short else get_close_matches(unknown_name, names, n=8, cutoff=0)
    has_comma = any("," in name for name in listed_names)
    options = ", ".join(f"'{name}'" if has_comma else name for name in listed_names) or "nothing"
    return (
        f"{suggest_name(unknown_name, names)} Allowed: {options}{'' if is_short else f', ... ({len(names)} in all)'}."
    )


def unknown_name_error(kind: str, name: str, allowed_names: Iterable[str], location: str) -> UserError:
    """Return the error for a name that is not allowed; `kind` says what it should name, such as `model`."""
    return UserError(f"{location}: unknown {kind} '{name}'.{describe_choices(name, allowed_names)}")


def reject_unknown(kind: str, names: Iterable[str], allowed_names: Collection[str], location: str) -> None:
    """Raise a UserError for the first name that is not allowed; `kind` says what it should name, such as `model`."""
    for name in names:
        if name not in allowed_names:
            raise unknown_name_error(kind, name, allowed_names, location)


@contextmanager
def convert_machine_errors() -> Iterator[None]:
    """Convert a machine failure in the block to a MachineError, whose message names a remedy."""
    try:
        yield
    except (OSError, MemoryError) as error:
        raise_if_machine_fault(error)
        if isinstance(error, OSError) and (message := _describe_blocked_path(error)):
            raise MachineError(message) from error
        raise
    except UnicodeEncodeError as error:
        if name := _find_non_utf8_name(error):
            raise UserError(f"{name}: the name of this file or folder is not UTF-8. Rename it.") from error
        raise


def run_command(main: Callable[[], None]) -> None:
    """Run a command's main function; print only the message of a UserError, and the traceback of a bug."""
    log_to_stderr()
    try:
        with convert_machine_errors():
            main()
    except UserError as error:
        message = f"Error: {sanitize(str(error))}"
        try:
            print(wrap_text(message, get_width(sys.stderr)), file=sys.stderr, flush=True)
        except OSError:  # Standard error may be a log on a full disk.
            print(message, flush=True)
        sys.exit(error.exit_code)
    finally:
        gc.freeze()  # This avoids a slow garbage collection of the libraries' objects at exit.


# Failures of this machine


def describe_machine_fault(error: BaseException, store: Path | None = None) -> str | None:
    """Return a message with the machine failure that caused an error and its remedy; None if the file is the cause.

    If a store is given, a missing permission counts as a machine failure only for a path inside the store.
    """
    for cause in _causes(error):
        if isinstance(cause, MemoryError):
            return _fault_message(getattr(cause, "filename", None), errno.ENOMEM)
        if not isinstance(cause, OSError):
            continue
        error_number = _error_number(cause)
        is_fault = error_number in REMEDIES
        if type(cause).__module__ == "av.error" and error_number in {errno.EIO, *AMBIGUOUS_ERRNOS}:
            is_fault = False
        elif error_number in (errno.EACCES, errno.EPERM) and store is not None and cause.filename is not None:
            is_fault = Path(os.fsdecode(cause.filename)).resolve().is_relative_to(store.resolve())
        if is_fault:
            return _fault_message(get_error_path(cause) or store, error_number)
    return None


def _find_non_utf8_name(error: UnicodeEncodeError) -> str | None:
    r"""Return the file name that is not UTF-8 and caused an error, with its invalid bytes as `\xe9`.

    The result is None if the text that could not be encoded contains no such name.
    """
    if not SURROGATE.match(error.object, error.start):
        return None
    # The text may be a message or a line of JSON; the name extends to the quotes or line ends around the surrogate.
    head, tail = (re.split(r'["\'\n]', part) for part in (error.object[: error.start], error.object[error.start :]))
    return utf8_or_escaped(head[-1] + tail[0])


def utf8_or_escaped(name: str) -> str:
    r"""Return a name in which bytes that are not UTF-8 are written like `\xe9`."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def _describe_blocked_path(error: OSError) -> str | None:
    """Return what blocks the path of an error, such as a broken link, with a remedy; None if nothing blocks it."""
    path = get_error_path(error)
    if path is None:
        return None
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            problem = f"{link}: a link to {link.readlink()}, which does not exist"
            return _with_remedy(problem, "mount or restore its target, or remove the link")
    error_number = _error_number(error)
    if error_number not in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP):
        return None
    return _with_remedy(f"{path}: {os.strerror(error_number)}", "move or rename what is at this path")


def get_error_path(error: OSError) -> Path | None:
    """Return the path in an error, the target's if it has two; None if it has no path or only a file descriptor."""
    name = error.filename2 or error.filename
    return Path(os.fsdecode(name)) if isinstance(name, str | bytes | os.PathLike) else None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python, the operating system or torch reports a lack of main or GPU memory."""
    return any(
        isinstance(cause, MemoryError)
        or type(cause).__name__ == "OutOfMemoryError"
        or (isinstance(cause, OSError) and _error_number(cause) == errno.ENOMEM)
        or (isinstance(cause, RuntimeError) and re.search("can't allocate memory|out of memory", str(cause.args)))
        for cause in _causes(error)
    )


@contextmanager
def add_path_to_errors(path: Path) -> Iterator[None]:
    """Add the path of the written file to an OSError without a path."""
    try:
        yield
    except OSError as error:
        error_number = _error_number(error)
        if error_number == 0 or error.filename is not None:
            raise
        raise OSError(error_number, os.strerror(error_number), str(path)) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes, and the errors in its attributes.

    `URLError` of the standard library has its cause in `reason`, and `DownloadError` of yt-dlp in `exc_info`.
    """
    unvisited: list[object] = [error]
    visited_ids: set[int] = set()
    while unvisited:
        cause = unvisited.pop(0)
        if isinstance(cause, BaseException) and id(cause) not in visited_ids:
            visited_ids.add(id(cause))
            yield cause
            exc_info = getattr(cause, "exc_info", None)
            unvisited += [
                cause.__cause__,
                getattr(cause, "reason", None),
                *(exc_info if isinstance(exc_info, tuple) else ()),
            ]


def _error_number(error: OSError) -> int:
    """Return the errno of an error, 0 if unknown; libraries in Rust give the errno only in their message."""
    match = ERRNO_IN_MESSAGE.search(str(error))
    return error.errno or (int(match[1]) if match else 0)


def _fault_message(path: object, error_number: int) -> str:
    """Return the message about a system error with its remedy; `path` may be unknown."""
    return _with_remedy(
        f"{path}: {os.strerror(error_number)}" if path else os.strerror(error_number), REMEDIES[error_number]
    )


def _with_remedy(problem: str, remedy: str) -> str:
    return f"{problem}. Nothing was recorded: {remedy}, then run the same command again."
