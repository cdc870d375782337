"""Trace the lineage of a result by the provenance that its files record."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import read_provenance
from reprise.core.paths import RESULTS
from reprise.core.provenance import Provenance


class LineageStep(NamedTuple):
    """A result with its provenance."""

    path: Path
    provenance: Provenance

    @property
    def stage(self) -> str:
        return self.provenance.stage


class Lineages:
    """Tracer of the lineages of results in a folder; each provenance is read once."""

    def __init__(self, root: Path = Path()) -> None:
        """Set the working directory `root`; the paths in the provenances are relative to it."""
        self._root = root
        self._provenances: dict[Path, Provenance | None] = {}

    def trace(self, result: Path) -> list[LineageStep]:
        """Return the steps that produced a result, in the order in which they ran; the result is the last step."""
        return list(self._steps(result, set()))

    def read_provenance(self, path: Path) -> Provenance | None:
        """Return the provenance of a file in the working directory; None if the file is missing or has none."""
        if path not in self._provenances:
            file = self._root / path
            self._provenances[path] = read_provenance(file) if file.is_file() else None
        return self._provenances[path]

    def _steps(self, path: Path, visited: set[Path]) -> Iterator[LineageStep]:
        """Yield the steps behind a file and then its own step, without the steps of files in `visited`."""
        visited.add(path)
        provenance = self.read_provenance(path)
        if provenance is None or not provenance.stage:
            return
        for name in provenance.inputs:
            source = Path(name)  # Inputs outside results/, such as configuration files, have no provenance.
            if source not in visited and source.parts[:1] == RESULTS.parts:
                yield from self._steps(source, visited)
        yield LineageStep(path, provenance)
