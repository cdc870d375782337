"""The rows of people's files that do not count, in a file and in the log."""

from collections.abc import Sequence
from pathlib import Path

from reprise.construction.review import Problem
from reprise.core.log import log
from reprise.external.answers import Problem as Noted
from reprise.external.answers import write_problems

NAMED = 5


def write_refused(refused: Sequence[Problem], waiting: Sequence[str], path: Path) -> None:
    """Write them, with the tasks that still wait for people, and name the first ones in the log."""
    write_problems([Noted(one.where, None, one.found, one.problem) for one in refused], waiting, path)
    for one in refused[:NAMED]:
        log.warning(f"{one.where}: {one.problem}: {one.found}; the row does not count.")
    if len(refused) > NAMED:
        log.warning(f"{len(refused) - NAMED} more such rows: see {path}.")
