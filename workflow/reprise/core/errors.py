"""The one exception for a user's mistake, and how a command ends on it."""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from reprise.core.faults import fault_of, fault_of_ffmpeg, misplaced
from reprise.core.log import log_to_stderr
from reprise.core.plain import safe

MOST_CHOICES, NEAREST = 25, 8


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
    """End the job, and leave no partial file, if this machine prevented ffmpeg from writing."""
    fault = fault_of_ffmpeg(returncode, stderr, target)
    if fault is not None:
        target.unlink(missing_ok=True)
        raise MachineError(fault)


def suggestion(found: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing when no allowed name is close."""
    close = get_close_matches(found, list(allowed), n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


def choices(found: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'? Allowed: ...`; of a long list only the names that are nearest to what was found."""
    names = sorted(set(allowed))
    is_short = len(names) <= MOST_CHOICES
    shown = names if is_short else get_close_matches(found, names, n=NEAREST, cutoff=0)
    has_comma = any("," in name for name in shown)
    listed = ", ".join(f"'{name}'" if has_comma else name for name in shown) or "nothing"
    return f"{suggestion(found, names)} Allowed: {listed}{'' if is_short else f', ... ({len(names)} in all)'}."


def unknown(what: str, found: str, allowed: Iterable[str], where: str) -> UserError:
    """The error for a name that is not on a list of allowed ones."""
    return UserError(f"{where}: unknown {what} '{found}'.{choices(found, allowed)}")


@contextmanager
def faults_in_words() -> Iterator[None]:
    """Raise what this machine could not do as a message for the user."""
    try:
        yield
    except (OSError, MemoryError) as error:
        stop_on_fault(error)
        found = misplaced(error)
        if found is not None:
            raise MachineError(found) from error
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
