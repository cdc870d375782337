"""What a group of people was asked, and all that they answered so far."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.construction.review import Task, read_verdicts
from reprise.people.answers import Counted, counting, people_named
from reprise.people.keys import Inputs
from reprise.people.settings import Asked
from reprise.people.tasks import NOT_TESTED, Qualifying, qualification_tasks, question_tasks


class Gathered(NamedTuple):
    """Tasks in the order of the requests, the test before them, and the answers."""

    tasks: list[Task]
    tested: Qualifying
    counted: Counted


def tested_by(scope: str, design: Asked) -> Qualifying:
    """The questions of a design's qualification; none without one."""
    return qualification_tasks(scope, Path(design.qualification.questions)) if design.qualification else NOT_TESTED


def gather(scope: str, design: Asked, files: Inputs, requests: pl.DataFrame) -> Gathered:
    """All files of answers together: what several of them say adds up."""
    tasks, tested = question_tasks(scope, requests), tested_by(scope, design)
    verdicts, left_out = read_verdicts(map(Path, files.answers)), people_named(map(Path, files.left_out))
    return Gathered(tasks, tested, counting(tasks, verdicts, design, tested, left_out))
