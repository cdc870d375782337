"""The folder of the report: what is written into it, and the list of that."""

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reprise.core.files import canonical_json, file_digest, text_digest, whole_file, write_text
from reprise.core.paths import report_files
from reprise.report.scripts import ENCODE, script

MANIFEST = report_files()[1].name
# The folders in it whose files are all written by a build.
OWN = ("assets", "data", "figures", "media", "models", "runs", "tables", "time")


class Folder:
    """Files of one build of the report, by name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written: dict[str, str] = {}

    def write(self, name: str, text: str) -> None:
        """Write a text."""
        write_text(self._root / name, text)
        self._written[name] = text_digest(text)

    def put(self, name: str, value: Any) -> None:
        """Write data that a page loads by this name."""
        self.write(f"data/{name}.js", script(name, ENCODE(value)))

    def copy(self, source: Path, name: str, sha256: str = "") -> None:
        """Copy a file, whose digest may be known."""
        digest = sha256 or file_digest(source)
        if self._written.get(name) == digest:
            return
        with whole_file(self._root / name) as temporary:
            shutil.copyfile(source, temporary)
        self._written[name] = digest

    def link_to(self, path: Path) -> str:
        """The address of a file elsewhere, from a page at the top of the folder."""
        return quote(Path(os.path.relpath(path.absolute(), self._root.absolute())).as_posix())

    def finish(self) -> None:
        """Write the list of files, and remove what an older build left."""
        for path in [*self._root.glob("*.html"), *(path for name in OWN for path in (self._root / name).rglob("*"))]:
            if path.is_file() and path.relative_to(self._root).as_posix() not in self._written:
                path.unlink()
        write_text(self._root / MANIFEST, canonical_json(self._written) + "\n")
