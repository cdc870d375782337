"""Finds benchmarks: each folder beside this file that has a release, questions and scores. Loads one module of one."""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

from reprise.benchmarks.contract import DataStatistics, FreeAnswers, Questions, Release, Scores, VideoStatistics
from reprise.core.errors import unknown

HERE = Path(__file__).parent
NEEDED = ("release", "questions", "scores")


@cache
def benchmark_names() -> tuple[str, ...]:
    """The folders that are benchmarks."""
    folders = sorted(path for path in HERE.iterdir() if path.is_dir())
    return tuple(path.name for path in folders if all((path / f"{part}.py").is_file() for part in NEEDED))


def module_name(benchmark: str, part: str) -> str:
    """Import string of one module of a benchmark: its digest says when what the module does has changed."""
    return f"reprise.benchmarks.{benchmark}.{part}"


def has_part(benchmark: str, part: str) -> bool:
    """Whether a benchmark has a module that not all have: `answers`, `data_statistics`."""
    return (HERE / benchmark / f"{part}.py").is_file()


def load_release(benchmark: str) -> Release:
    """The module that reads a benchmark's release."""
    return cast(Release, _load(benchmark, "release"))


def load_questions(benchmark: str) -> Questions:
    """The module that says what is asked."""
    return cast(Questions, _load(benchmark, "questions"))


def load_scores(benchmark: str) -> Scores:
    """The module that says what answers are worth."""
    return cast(Scores, _load(benchmark, "scores"))


def load_answers(benchmark: str) -> FreeAnswers | None:
    """The module that finds what was answered, for a judge; none where no answer is put to a judge."""
    return cast(FreeAnswers, _load(benchmark, "answers")) if has_part(benchmark, "answers") else None


def load_data_statistics(benchmark: str) -> DataStatistics | None:
    """The module with numbers of the data itself; none where there are none."""
    found = _load(benchmark, "data_statistics") if has_part(benchmark, "data_statistics") else None
    return cast(DataStatistics, found) if found else None


def load_video_statistics(benchmark: str) -> VideoStatistics | None:
    """The same module, where it counts something in the videos themselves."""
    found = load_data_statistics(benchmark)
    return cast(VideoStatistics, found) if hasattr(found, "video_statistics") else None


def _load(benchmark: str, part: str) -> ModuleType:
    if benchmark not in benchmark_names():
        raise unknown("benchmark", benchmark, benchmark_names(), "config")
    return import_module(module_name(benchmark, part))
