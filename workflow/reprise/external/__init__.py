"""Imported predictions in the file formats of the benchmarks' authors: one module per benchmark, with its name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from reprise.core.names import UNFILTERED
from reprise.core.paths import locate

if TYPE_CHECKING:
    import polars as pl

    from reprise.external.answers import ImportedAnswers, ImportProblem

IMPORTS_FOLDER = Path("resources/imports")

# Error classes of imported answers. One extractor accepts further errors (`extraction.extractors.ACCEPTED_ERRORS`).
NO_ANSWER = "no_answer"
NO_TEXT = "no_text"
EXTERNAL_FAILURE = "failed_elsewhere"  # the text is a harness's error message instead of an answer
RATING_WITHOUT_TEXT = "rated_only"  # there is a rating without the rated text


AnswerReader: TypeAlias = "Callable[[Sequence[Path], pl.DataFrame, pl.DataFrame], ImportedAnswers]"
"""Files, items and requests -> the answers, and the problems of the files."""
AnswerWriter: TypeAlias = "Callable[[Path, str, pl.DataFrame, pl.DataFrame], list[Path]]"
"""Folder, name of the model, items, and requests with answers -> files in the format of the authors' scorer."""


@dataclass(frozen=True)
class AnswerFiles:
    """Functions to find, read and write the authors' files of answers to one form of question."""

    find: Callable[[Path, int | None], list[Path]]
    """Folder of one run and its number of frames per clip, if known -> the files of the run."""
    find_candidates: Callable[[Path], list[list[Path]]]
    """Folder -> for each file that a run needs, the candidates for any number of frames."""
    read: AnswerReader
    write: "AnswerWriter | None" = None
    find_settings_files: Callable[[Sequence[Path]], list[Path]] = lambda _: []
    """Files of answers -> files next to them with the settings of the run that produced them."""
    find_deviations: "Callable[[Sequence[Path], pl.DataFrame, int | None], list[ImportProblem]]" = lambda *_: []
    """Files, requests and the run's number of frames, if known -> deviations of the external run."""
    has_file_per_task: bool = False
    """Whether every task has its own file; a task without a file then counts as not requested."""


class Importer(Protocol):
    """The interface of a module of this package."""

    FORMS: Mapping[str, AnswerFiles]  # form of question -> files with its answers


class RatingImporter(Protocol):
    """The additional interface of a module of this package for a benchmark whose answers are rated by a judge."""

    def find_rating_files(self, folder: Path) -> list[Path]:
        """Return the file of ratings in a folder; an empty list if there is none."""

    def find_judge_ratings(self, predictions: Path, names: Sequence[str]) -> list[Path]:
        """Return the file of ratings by a judge of one of these names next to predictions; empty if there is none."""

    def read_ratings(self, files: Sequence[Path], items: "pl.DataFrame") -> "ImportedAnswers":
        """Return the replies of a judge by item."""


def imports_folder(benchmark: str, slug: str) -> Path:
    return locate(IMPORTS_FOLDER / benchmark / slug)


def has_importer(benchmark: str) -> bool:
    return find_spec(module_name(benchmark)) is not None


def module_name(benchmark: str) -> str:
    """Return the import string of a benchmark's module; filtered and unfiltered benchmarks share one module."""
    return f"reprise.external.{benchmark.removesuffix(UNFILTERED)}"


def load_importer(benchmark: str) -> Importer:
    return cast(Importer, import_module(module_name(benchmark)))


def load_rating_importer(benchmark: str) -> RatingImporter | None:
    """Return the module that reads a benchmark's files of ratings; None if no judge rates its answers."""
    module = import_module(module_name(benchmark))
    return cast(RatingImporter, module) if hasattr(module, "read_ratings") else None
