"""Finds benchmarks, the folders next to this file that follow `contract.py`, and loads their modules."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reprise.benchmarks.contract import NEEDED, QuestionsModule, ReleaseModule, ScoresModule
from reprise.benchmarks.counting import DataStatistics
from reprise.core.errors import unknown
from reprise.core.names import UNFILTERED

if TYPE_CHECKING:
    from reprise.benchmarks.analysing import Analyses
    from reprise.benchmarks.answering import FreeAnswers

HERE = Path(__file__).parent


@cache
def benchmark_names() -> tuple[str, ...]:
    """The folders that are benchmarks."""
    folders = sorted(path for path in HERE.iterdir() if path.is_dir())
    return tuple(path.name for path in folders if all((path / f"{part}.py").is_file() for part in NEEDED))


def _folder(benchmark: str) -> str:
    """The folder of a benchmark; one that is not filtered yet is no other benchmark."""
    return benchmark.removesuffix(UNFILTERED)


def module_name(benchmark: str, part: str) -> str:
    """Import string of one module of a benchmark; its digest is part of keys."""
    return f"reprise.benchmarks.{_folder(benchmark)}.{part}"


def has_part(benchmark: str, part: str) -> bool:
    """Whether a benchmark has an optional module: `answers`, `analyses`, `data_statistics`."""
    return (HERE / _folder(benchmark) / f"{part}.py").is_file()


def load_release(benchmark: str) -> ReleaseModule:
    """The module that reads a benchmark's release."""
    return cast(ReleaseModule, _load(benchmark, "release"))


def load_questions(benchmark: str) -> QuestionsModule:
    """The module that makes questions."""
    return cast(QuestionsModule, _load(benchmark, "questions"))


def load_scores(benchmark: str) -> ScoresModule:
    """The module that scores answers."""
    return cast(ScoresModule, _load(benchmark, "scores"))


def load_answers(benchmark: str) -> "Mapping[str, FreeAnswers]":
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
