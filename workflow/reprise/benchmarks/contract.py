"""What a benchmark is: a folder beside this file with the modules below. Nothing else registers it.

    release.py          read_release  the authors' files -> clips and items           types in rows.py
    questions.py        FORMS         form of question -> what it asks of an item     asking.py
    scores.py           SCORES        form of question -> how its answers are scored  scoring.py
                        GROUPS        group -> which items are in it
                        CHANCE        metric -> score of random guessing
    answers.py          ANSWERS       form of question -> what a judge is shown       answering.py  (if it is judged)
    analyses.py         ANALYSES      groups of items beside those     analysing.py   (if it is analysed further)
    data_statistics.py  STATISTICS    numbers of the data itself                      counting.py   (if a table has any)

release, questions and scores do not import each other: each has a digest of its own, so that a change of the scores
computes scores again and asks no model. What several of them need, such as the names of groups, is in another module of
the folder. A form is named in `FORMS` and in `SCORES`; protocols in config/benchmarks/<name>.yaml say which form they
ask.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a job loads only the imports of the one module that it needs
    from reprise.benchmarks.asking import Form
    from reprise.benchmarks.rows import Annotations, ClipsFrom
    from reprise.benchmarks.scoring import Groups, Scores


class ReleaseModule(Protocol):
    """`release.py`."""

    def read_release(self, files: Sequence[Path], clips: "ClipsFrom", options: Mapping[str, object]) -> "Annotations":
        """Clips and items of a release; `options` are those of the benchmark's file, with the suite's `subset`.

        An entry with a mistake is kept, with its flaws (`flaws.py`), and counted. If no item can be made of an
        entry, a UserError names its file and row.
        """
        ...


class QuestionsModule(Protocol):
    """`questions.py`."""

    FORMS: "Mapping[str, Form]"


class ScoresModule(Protocol):
    """`scores.py`."""

    SCORES: "Mapping[str, Scores]"
    GROUPS: "Groups"
    CHANCE: Mapping[str, float | None]
    """in percent; None where STATISTICS count it"""


NEEDED = ("release", "questions", "scores")
