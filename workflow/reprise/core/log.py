"""The library's one log: plain lines on standard error, which a rule sends to its job's log file."""

import logging
import sys

from reprise.core.plain import safe

log = logging.getLogger("reprise")
log.setLevel(logging.INFO)


class _Safe(logging.Formatter):
    """The bare message, whoever wrote a part of it."""

    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))


def log_to_stderr() -> None:
    """Show the library's messages as they are, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Safe("%(message)s"))
    log.handlers = [handler]
