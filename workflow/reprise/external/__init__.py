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

# Values of `Answer.error` for imported answers. Two more values mark answers that only one of the extractors accepts
# (`extractors.ACCEPTED_ERROR_BY_EXTRACTOR`).
NO_ANSWER = "no_answer"
NO_TEXT = "no_text"
EXTERNAL_FAILURE = "failed_elsewhere"  # the text is the error message of another harness instead of an answer
RATING_WITHOUT_TEXT = "rated_only"  # the file has the rating of an answer, but not its text


AnswerReader: TypeAlias = "Callable[[Sequence[Path], pl.DataFrame, pl.DataFrame], ImportedAnswers]"
"""Files, items and requests -> the answers, and the problems of the files."""
AnswerWriter: TypeAlias = "Callable[[Path, str, pl.DataFrame, pl.DataFrame], list[Path]]"
"""Folder, name of the model, items, and requests with answers -> files in the format of the authors' scorer."""


@dataclass(frozen=True)
class AnswerFiles:
    """Functions to find, read and write the authors' files of answers to one form of question."""

    find: Callable[[Path, int | None], list[Path]]
    """Folder of a run and its number of frames per clip (None if unknown) -> the files of the run."""
    find_candidates: Callable[[Path], list[list[Path]]]
    """Folder -> for each file that a run needs, the files that may be it, whatever number of frames they state."""
    read: AnswerReader
    write: "AnswerWriter | None" = None
    find_settings_files: Callable[[Sequence[Path]], list[Path]] = lambda _: []
    """Files of answers -> files next to them with the settings of the run that produced them."""
    find_deviations: "Callable[[Sequence[Path], pl.DataFrame, int | None], list[ImportProblem]]" = lambda *_: []
    """Files, requests and the run's number of frames (None if unknown) -> deviations of the external run."""
    has_file_per_task: bool = False
    """Whether each task has its own file; the items of a task without a file then count as not requested."""


class Importer(Protocol):
    """The interface of a module of this package."""

    FORMS: Mapping[str, AnswerFiles]  # form of question -> files with its answers


class RatingImporter(Protocol):
    """The additional interface of a module of this package for a benchmark whose answers are rated by a judge."""

    def find_rating_files(self, folder: Path) -> list[Path]:
        """Return the file of ratings in a folder; an empty list if there is none."""

    def find_judge_ratings(self, predictions: Path, names: Sequence[str]) -> list[Path]:
        """Return the file next to predictions with ratings by a judge of one of these names; empty if missing."""

    def read_ratings(self, files: Sequence[Path], items: "pl.DataFrame") -> "ImportedAnswers":
        """Return the ratings by item id, each as the text of a judge's reply."""


def get_imports_folder(benchmark: str, slug: str) -> Path:
    """Return the folder of a model's imported files for a benchmark; `slug` is the model's name."""
    return locate(IMPORTS_FOLDER / benchmark / slug)


def has_importer(benchmark: str) -> bool:
    """Return whether answers to a benchmark can be imported."""
    return find_spec(get_module_name(benchmark)) is not None


def get_module_name(benchmark: str) -> str:
    """Return the import string of a benchmark's module, which filtered and unfiltered benchmarks share."""
    return f"reprise.external.{benchmark.removesuffix(UNFILTERED)}"


def load_importer(benchmark: str) -> Importer:
    """Return the module that reads and writes the answer files of a benchmark."""
    return cast(Importer, import_module(get_module_name(benchmark)))


def load_rating_importer(benchmark: str) -> RatingImporter | None:
    """Return the module that reads the ratings of a benchmark's answers; None if no judge rates these."""
    module = import_module(get_module_name(benchmark))
    return cast(RatingImporter, module) if hasattr(module, "read_ratings") else None
