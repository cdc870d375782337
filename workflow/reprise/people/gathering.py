"""What a group of people was asked, and all that they answered so far."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.construction.review import Task, read_verdicts
from reprise.core.errors import UserError
from reprise.core.keyfile import refuse_edited
from reprise.core.log import log
from reprise.people.answers import NAMES_DIFFER, Counted, counting
from reprise.people.keys import Inputs
from reprise.people.names import named, people_named, read_names
from reprise.people.settings import Asked
from reprise.people.tasks import NOT_TESTED, Qualifying, qualification_tasks, question_tasks


class Gathered(NamedTuple):
    """Tasks in the order of the requests, the test before them, and the answers."""

    tasks: list[Task]
    tested: Qualifying
    counted: Counted


def qualification_of(scope: str, design: Asked) -> Qualifying:
    """The questions of a design's qualification; none without one."""
    if design.qualification is None:
        return NOT_TESTED
    path, needed = Path(design.qualification.questions), design.qualification.right
    found = qualification_tasks(scope, path)
    if needed > len(found.tasks):
        raise UserError(
            f"{path}: has {len(found.tasks)} questions, and `right: {needed}` of the group needs more of them."
        )
    return found


def gather(scope: str, design: Asked, files: Inputs, requests: pl.DataFrame) -> Gathered:
    """All files of answers together: what several of them say adds up."""
    tasks, tested = question_tasks(scope, requests), qualification_of(scope, design)
    names = {who: name for path in files.names for who, name in read_names(Path(path)).items()}
    verdicts = named(read_verdicts(map(Path, files.answers)), names)
    left_out = {names.get(name, name) for name in people_named(map(Path, files.left_out))}
    refuse_edited(files.digests())
    found = counting(tasks, verdicts, design, tested, left_out)
    if found.nobody_left_out:
        log.warning(f"None of the {found.named} people of `left_out:` is among those who answered. {NAMES_DIFFER}.")
    return Gathered(tasks, tested, found)
