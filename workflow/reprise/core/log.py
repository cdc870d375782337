"""The library's one log: plain lines on standard error, which a rule sends to its job's log file."""

import logging
import sys

log = logging.getLogger("reprise")
log.setLevel(logging.INFO)


def log_to_stderr() -> None:
    """Show the library's messages as they are, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers = [handler]
