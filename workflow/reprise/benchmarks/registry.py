"""What a benchmark is: a folder beside this file with the modules below. Nothing else registers it.

    release.py          read_release  the authors' files -> clips and items           types in rows.py
    questions.py        FORMS         form of question -> what it asks of an item     asking.py
    scores.py           SCORES        form of question -> how its answers are scored  scoring.py
                        GROUPS        group -> which items are in it
                        CHANCE        metric -> score of random guessing
    answers.py          ANSWERS       form of question -> what a judge is shown       asking.py (if it is judged)
    analyses.py         ANALYSES      groups of items beside those                    scoring.py (if it is analysed)
    data_statistics.py  STATISTICS    numbers of the data itself                      counting.py (if a table has any)

release, questions and scores do not import each other. What several of them need, such as the names of groups, is in
another module of the folder. A form is named in `FORMS` and in `SCORES`; protocols in config/benchmarks/<name>.yaml
say which form they ask.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from reprise.benchmarks.asking import Form, FreeAnswers
from reprise.benchmarks.counting import DataStatistics
from reprise.benchmarks.rows import Annotations, ClipsFrom
from reprise.core.errors import unknown
from reprise.core.names import UNFILTERED

if TYPE_CHECKING:  # statistics need numpy, which few jobs do
    from reprise.benchmarks.scoring import Analyses, Groups, Scores

HERE = Path(__file__).parent
NEEDED = ("release", "questions", "scores")


class ReleaseModule(Protocol):
    def read_release(self, files: Sequence[Path], clips: ClipsFrom, options: Mapping[str, object]) -> Annotations:
        """Clips and items of a release; `options` are those of the benchmark's file, with the suite's `subset`.

        An entry with a mistake is kept, with its flaws (`flaws.py`), and counted. If no item can be made of an
        entry, a UserError names its file and row.
        """


class QuestionsModule(Protocol):
    FORMS: Mapping[str, Form]


class ScoresModule(Protocol):
    SCORES: "Mapping[str, Scores]"
    GROUPS: "Groups"
    CHANCE: Mapping[str, float | None]
    """in percent; None where STATISTICS count it"""


@cache
def benchmark_names() -> tuple[str, ...]:
    folders = sorted(path for path in HERE.iterdir() if path.is_dir())
    return tuple(path.name for path in folders if all((path / f"{part}.py").is_file() for part in NEEDED))


def _folder(benchmark: str) -> str:
    """The folder of a benchmark; one that is not filtered yet is no other benchmark."""
    return benchmark.removesuffix(UNFILTERED)


def module_name(benchmark: str, part: str) -> str:
    """Return the import string of one module of a benchmark."""
    return f"reprise.benchmarks.{_folder(benchmark)}.{part}"


def has_part(benchmark: str, part: str) -> bool:
    """Whether a benchmark has an optional module: `answers`, `analyses`, `data_statistics`."""
    return (HERE / _folder(benchmark) / f"{part}.py").is_file()


def load_release(benchmark: str) -> ReleaseModule:
    return cast(ReleaseModule, _load(benchmark, "release"))


def load_questions(benchmark: str) -> QuestionsModule:
    return cast(QuestionsModule, _load(benchmark, "questions"))


def load_scores(benchmark: str) -> ScoresModule:
    return cast(ScoresModule, _load(benchmark, "scores"))


def load_answers(benchmark: str) -> Mapping[str, FreeAnswers]:
    """Form of question -> the answers that a judge sees; empty if no answers are judged."""
    module = _load(benchmark, "answers")
    return module.ANSWERS if module else {}


def load_analyses(benchmark: str) -> "Analyses | None":
    """The groups of a benchmark's analyses; None if it has no such module."""
    module = _load(benchmark, "analyses")
    return module.ANALYSES if module else None


def load_statistics(benchmark: str) -> DataStatistics:
    """What is counted in a benchmark's data; nothing if it has no such module."""
    module = _load(benchmark, "data_statistics")
    return module.STATISTICS if module else DataStatistics()


def _load(benchmark: str, part: str) -> Any:
    """A module of a benchmark; None for an optional one that it does not have."""
    if _folder(benchmark) not in benchmark_names():
        raise unknown("benchmark", benchmark, benchmark_names(), "config")
    return import_module(module_name(benchmark, part)) if has_part(benchmark, part) else None
