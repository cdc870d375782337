"""Answers made elsewhere, in the formats of a benchmark's authors: one module a benchmark, named as the benchmark's."""

from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import polars as pl

    from reprise.external.answers import Given

FOLDER = Path("resources/imports")


class Importer(Protocol):
    """What a module of this package defines."""

    FORMS: Collection[str]
    """forms of question that the authors' files hold answers to"""

    def files(self, folder: Path, form: str, frames: int | None) -> list[Path]:
        """The files of a run in a folder of its own; `frames` is what it shows of every clip, where that is known."""
        ...

    def candidates(self, folder: Path, form: str) -> list[list[Path]]:
        """For every file that a run needs, those of a folder that could be it, whatever their number of frames."""
        ...

    def read(self, files: Sequence[Path], form: str, items: "pl.DataFrame", requests: "pl.DataFrame") -> "Given":
        """The answers to a run's requests, and what is wrong with the files."""
        ...

    def write(self, folder: Path, name: str, items: "pl.DataFrame", answered: "pl.DataFrame") -> list[Path]:
        """Write a run's requests and answers, side by side, as the authors' scorer reads them; returns the files."""
        ...


class RatingImporter(Protocol):
    """What a module of this package defines besides where a judge rates answers."""

    def rating_files(self, folder: Path) -> list[Path]:
        """The file of ratings that is there."""
        ...

    def read_ratings(self, files: Sequence[Path], items: "pl.DataFrame") -> "Given":
        """Replies of a judge by item."""
        ...


def has_importer(benchmark: str) -> bool:
    """Whether answers to a benchmark can be imported."""
    return find_spec(f"reprise.external.{benchmark}") is not None


def load_importer(benchmark: str) -> Importer:
    """The module that knows a benchmark's answer files."""
    return cast(Importer, import_module(f"reprise.external.{benchmark}"))


def load_rating_importer(benchmark: str) -> RatingImporter | None:
    """The module that knows a benchmark's files of ratings; none where nobody rates."""
    module = import_module(f"reprise.external.{benchmark}")
    return cast(RatingImporter, module) if hasattr(module, "read_ratings") else None
