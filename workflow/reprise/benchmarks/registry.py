"""Find and load benchmarks. A benchmark is a folder beside this file with these modules, and needs no registration.

    release.py          read_release  the authors' files -> clips and items           types in annotations.py
    questions.py        FORMS         form of question -> questions about an item     question_forms.py
    scores.py           SCORES        form of question -> how its answers are scored  scoring.py
                        GROUPS        group -> expression that selects its items
                        CHANCE        metric -> score of random guessing
    answers.py          ANSWERS       form of question -> answers that a judge rates  question_forms.py (optional)
    analyses.py         ANALYSES      further groups of items                         scoring.py (optional)
    data_statistics.py  STATISTICS    numbers of the data itself                      data_statistics.py (optional)

The modules release, questions and scores do not import each other. Constants that several of them need, such as names
of groups, are in another module of the folder. `FORMS` and `SCORES` have the same forms as keys; each protocol in
config/benchmarks/<name>.yaml selects one form.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from reprise.benchmarks.annotations import Annotations, ClipSource
from reprise.benchmarks.data_statistics import DataStatistics
from reprise.benchmarks.question_forms import AnswerSelector, QuestionForm
from reprise.core.errors import unknown_name_error
from reprise.core.names import UNFILTERED

if TYPE_CHECKING:  # Scoring imports numpy, which few jobs need.
    from reprise.benchmarks.scoring import AnalysisGroups, GroupFilters, Scoring

BENCHMARKS_FOLDER = Path(__file__).parent
REQUIRED_MODULES = ("release", "questions", "scores")


class ReleaseModule(Protocol):
    """The module `release` of a benchmark."""

    def read_release(self, files: Sequence[Path], clips: ClipSource, options: Mapping[str, object]) -> Annotations:
        """Read a release and return its clips and items.

        An entry with an error stays in the tables with its flaws (`Flaws` in annotations.py) and is counted.

        Args:
            files: The files of the release.
            clips: Where clips come from.
            options: The options in the benchmark's file, and the suite's `subset`.

        Raises:
            UserError: No item can be built from an entry; the message names its file and row.
        """


class QuestionsModule(Protocol):
    """The module `questions` of a benchmark."""

    FORMS: Mapping[str, QuestionForm]


class ScoresModule(Protocol):
    """The module `scores` of a benchmark."""

    SCORES: "Mapping[str, Scoring]"
    GROUPS: "GroupFilters"
    CHANCE: Mapping[str, float | None]
    """metric -> score of random guessing, in percent; None if STATISTICS computes it"""


@cache
def benchmark_names() -> tuple[str, ...]:
    """Return the names of all benchmarks: the folders that have every required module."""
    folders = sorted(path for path in BENCHMARKS_FOLDER.iterdir() if path.is_dir())
    return tuple(path.name for path in folders if all((path / f"{module}.py").is_file() for module in REQUIRED_MODULES))


def _folder_name(benchmark: str) -> str:
    """Return the folder of a benchmark; the unfiltered variant of a benchmark shares its folder."""
    return benchmark.removesuffix(UNFILTERED)


def module_name(benchmark: str, module: str) -> str:
    """Return the import string of one module of a benchmark."""
    return f"reprise.benchmarks.{_folder_name(benchmark)}.{module}"


def has_module(benchmark: str, module: str) -> bool:
    """Return whether a benchmark has an optional module: `answers`, `analyses` or `data_statistics`."""
    return (BENCHMARKS_FOLDER / _folder_name(benchmark) / f"{module}.py").is_file()


def load_release(benchmark: str) -> ReleaseModule:
    """Return the module that reads a benchmark's release."""
    return cast(ReleaseModule, _load_module(benchmark, "release"))


def load_questions(benchmark: str) -> QuestionsModule:
    """Return the module with a benchmark's forms of questions."""
    return cast(QuestionsModule, _load_module(benchmark, "questions"))


def load_scores(benchmark: str) -> ScoresModule:
    """Return the module with a benchmark's scoring."""
    return cast(ScoresModule, _load_module(benchmark, "scores"))


def load_answers(benchmark: str) -> Mapping[str, AnswerSelector]:
    """Return the functions that select the answers for a judge, by form of question; empty if none are judged."""
    module = _load_module(benchmark, "answers")
    return module.ANSWERS if module else {}


def load_analyses(benchmark: str) -> "AnalysisGroups | None":
    """Return the groups of a benchmark's analyses; None if it has no such module."""
    module = _load_module(benchmark, "analyses")
    return module.ANALYSES if module else None


def load_statistics(benchmark: str) -> DataStatistics:
    """Return a benchmark's data statistics; empty ones if it has no such module."""
    module = _load_module(benchmark, "data_statistics")
    return module.STATISTICS if module else DataStatistics()


def _load_module(benchmark: str, module: str) -> Any:
    """Import a module of a benchmark; return None if it is optional and the benchmark lacks it."""
    if _folder_name(benchmark) not in benchmark_names():
        raise unknown_name_error("benchmark", benchmark, benchmark_names(), "config")
    return import_module(module_name(benchmark, module)) if has_module(benchmark, module) else None
