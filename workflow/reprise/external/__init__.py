"""Answers made elsewhere, in the formats of a benchmark's authors: one module a benchmark, named as the benchmark's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from reprise.core.names import UNFILTERED
from reprise.core.paths import located

if TYPE_CHECKING:
    import polars as pl

    from reprise.external.answers import ImportedAnswers, Problem

FOLDER = Path("resources/imports")

# Error classes of imported answers, apart from those that concern one reader only (`readers.FORGIVEN`).
NO_ANSWER = "no_answer"
NO_TEXT = "no_text"
FAILED_ELSEWHERE = "failed_elsewhere"  # the text is a harness's message that there was no answer
RATED_ONLY = "rated_only"  # there is a rating, but not the text that was rated


Read: TypeAlias = "Callable[[Sequence[Path], pl.DataFrame, pl.DataFrame], ImportedAnswers]"
"""Files, items and requests -> the answers, and what is wrong with the files."""
Write: TypeAlias = "Callable[[Path, str, pl.DataFrame, pl.DataFrame], list[Path]]"
"""Folder, name of the model, items, and requests with their answers -> files as the authors' scorer reads them."""


@dataclass(frozen=True)
class AnswerFiles:
    """How the authors' files hold answers to one form of question."""

    find: Callable[[Path, int | None], list[Path]]
    """The files of a run in a folder of its own, by the frames that it shows of every clip, where that is known."""
    candidates: Callable[[Path], list[list[Path]]]
    """For every file that a run needs, its candidates in a folder, for any number of frames."""
    read: Read
    write: "Write | None" = None
    beside: Callable[[Sequence[Path]], list[Path]] = lambda _: []
    """The files of answers -> files next to them that say how the answers were made; read like them."""
    deviations: "Callable[[Sequence[Path], pl.DataFrame, int | None], list[Problem]]" = lambda *_: []
    """Files, requests and the frames that the run shows, where known -> what was done otherwise elsewhere."""
    has_file_per_task: bool = False
    """Whether every task has a file of its own, so that one without a file was not asked."""


class Importer(Protocol):
    """What a module of this package defines."""

    FORMS: Mapping[str, AnswerFiles]  # the forms of question that the authors' files hold answers to


class RatingImporter(Protocol):
    """What a module of this package also defines where a judge rates answers."""

    def rating_files(self, folder: Path) -> list[Path]:
        """The file of ratings in a folder; empty where there is none."""

    def ratings_beside(self, predictions: Path, names: Sequence[str]) -> list[Path]:
        """The file of ratings next to one of predictions, by a judge of one of these names; empty if there is none."""

    def read_ratings(self, files: Sequence[Path], items: "pl.DataFrame") -> "ImportedAnswers":
        """Replies of a judge by item."""


def imports_of(benchmark: str, slug: str) -> Path:
    return located(FOLDER / benchmark / slug)


def has_importer(benchmark: str) -> bool:
    return find_spec(module_name(benchmark)) is not None


def module_name(benchmark: str) -> str:
    """Import string of the module of a benchmark; one that is not filtered yet is no other benchmark."""
    return f"reprise.external.{benchmark.removesuffix(UNFILTERED)}"


def load_importer(benchmark: str) -> Importer:
    return cast(Importer, import_module(module_name(benchmark)))


def load_rating_importer(benchmark: str) -> RatingImporter | None:
    """The module that knows a benchmark's files of ratings; None where no judge rates answers."""
    module = import_module(module_name(benchmark))
    return cast(RatingImporter, module) if hasattr(module, "read_ratings") else None
