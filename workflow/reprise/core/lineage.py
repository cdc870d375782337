"""What a result was made from, by the records in the files themselves."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import recorded
from reprise.core.paths import RESULTS
from reprise.core.provenance import Provenance


class Step(NamedTuple):
    """A result and how it was made."""

    path: Path
    made: Provenance

    @property
    def stage(self) -> str:
        return self.made.stage


class Lineages:
    """The lineages of the results in a folder; every record is read once."""

    def __init__(self, root: Path = Path()) -> None:
        """`root` is the working directory that the paths in the records are relative to."""
        self._root = root
        self._known: dict[Path, Provenance | None] = {}

    def of(self, result: Path) -> list[Step]:
        """Return the steps behind a result, the first that was made first and the result itself last."""
        return list(self._steps(result, set()))

    def recorded(self, path: Path) -> Provenance | None:
        if path not in self._known:
            file = self._root / path
            self._known[path] = recorded(file) if file.is_file() else None
        return self._known[path]

    def _steps(self, path: Path, seen: set[Path]) -> Iterator[Step]:
        seen.add(path)
        made = self.recorded(path)
        if made is None or not made.stage:
            return
        for name in made.inputs:
            source = Path(name)
            if source not in seen and source.parts[:1] == RESULTS.parts:
                yield from self._steps(source, seen)
        yield Step(path, made)
