"""Run a Python module, such as Snakemake, in a subprocess that Ctrl-C and SIGTERM end cleanly."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from typer import Exit

from reprise.commands.check import RefusedModelError
from reprise.core.log import log

# Program that runs a module like `python -m`, but prints no traceback after Ctrl-C.
RUN_QUIETLY = (
    "import runpy, sys; hook = sys.excepthook; "
    "sys.excepthook = lambda kind, *error: kind is KeyboardInterrupt or hook(kind, *error); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
# Seconds that a subprocess gets to end by itself after Ctrl-C. A second signal could leave Snakemake's lock.
INTERRUPT_TIMEOUT_S = 40.0
# Exit codes of a subprocess that was interrupted: of `reprise`, and of a Python program without a handler.
INTERRUPT_CODES = 130, -signal.SIGINT, -signal.SIGTERM


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, as `kill` and `timeout` send it."""


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C, so that it can restore the files that it changed."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # `timeout` sends it twice.
        raise TerminatedError

    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def run_module(command: str, name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a module in a subprocess, whose end releases its memory and GPUs.

    Raises:
        Exit: The module fails.
        KeyboardInterrupt: This process or the module is interrupted.
    """
    sys.stdout.flush()
    words = [sys.executable, "-c", RUN_QUIETLY, name, *arguments]
    process = subprocess.Popen(words, env=os.environ | (environment or {}))
    try:
        code = process.wait()
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, TerminatedError):
            process.send_signal(signal.SIGINT)
        # Ctrl-C reaches the subprocess too. It ends by itself, so that Snakemake releases its lock.
        with suppress(subprocess.TimeoutExpired):
            process.wait(INTERRUPT_TIMEOUT_S)
        if process.poll() is None:  # Only this process received the signal.
            process.send_signal(signal.SIGINT)
            process.wait()
        raise
    if code in INTERRUPT_CODES:
        raise KeyboardInterrupt
    if code:  # The module has printed its error.
        is_refused = code == RefusedModelError.exit_code and name == "reprise"
        log.warning(
            f"reprise {command} --no-check runs it without the check."
            if is_refused
            else f"reprise {command}: after a correction, the same command continues."
        )
        raise Exit(1)
