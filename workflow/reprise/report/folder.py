"""The folder of the report: what is written into it as texts and as data, and the list of that.

A page that is opened from a file may load scripts, but fetch nothing: data are classic scripts.
"""

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reprise.core.errors import UserError
from reprise.core.files import canonical_json, file_digest, read_json, text_digest, whole_file, write_text
from reprise.core.paths import report_files
from reprise.core.plain import visible

LONGEST = 20_000
ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# The folders in it whose files are all written by a build.
OWN = ("assets", "data", "figures", "media", "models", "runs", "tables", "time")


def shown(text: str | None) -> str:
    """A text from data: signs that hide or reorder others by their code points, and what is too long cut."""
    cut = text or ""
    if len(cut) > LONGEST:
        cut = f"{cut[:LONGEST]}... ({len(cut)} characters)"
    return visible(cut.replace("\r\n", "\n"))


def finite(number: float | None) -> float | None:
    """A number as JSON can hold it: none for what is no number."""
    return number if number is not None and math.isfinite(number) else None


def without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """The entries that say something: no empty text or list, null or false. Zero says something."""
    return {name: value for name, value in values.items() if value or (value == 0 and value is not False)}


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting by its dotted name; a list is one value."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from leaves(value, f"{name}.{key}" if name else key)
    else:
        yield name, content


def in_words(value: Any) -> str:
    """A value as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Folder:
    """Files of one build of the report, by name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written: dict[str, str] = {}

    def write(self, name: str, text: str) -> None:
        write_text(self._root / name, text)
        self._written[name] = text_digest(text)

    def put(self, name: str, value: Any) -> None:
        """Write data that a page loads by this name."""
        self.put_encoded(name, ENCODE(value))

    def put_encoded(self, name: str, encoded: str) -> None:
        """Write JSON as a script that none of it ends."""
        closed = encoded.replace("</", "<\\/")
        self.write(f"data/{name}.js", f"reprise.put({ENCODE(name)}, {closed});\n")

    def copy(self, source: Path, name: str, sha256: str = "") -> None:
        """Copy a file, whose digest may be known."""
        digest = sha256 or file_digest(source)
        if self._written.get(name) != digest:
            with whole_file(self._root / name) as temporary:
                shutil.copyfile(source, temporary)
            self._written[name] = digest

    def link_to(self, path: Path) -> str:
        """The address of a file elsewhere, from a page at the top of the folder."""
        return quote(Path(os.path.relpath(path.absolute(), self._root.absolute())).as_posix())

    def finish(self) -> None:
        """Write the list of files, and remove what an older build left; a page that no build listed is a user's."""
        listing = self._root / report_files()[1].name
        pages = [path for name in _listed_in(listing) if "/" not in name and (path := self._root / name).is_file()]
        for path in [*pages, *(path for name in OWN for path in (self._root / name).rglob("*"))]:
            if path.is_file() and path.relative_to(self._root).as_posix() not in self._written:
                path.unlink()
        write_text(listing, canonical_json(self._written) + "\n")


def _listed_in(listing: Path) -> list[str]:
    """Return the names of the files of the build before; none where its list is missing or damaged."""
    try:
        names = read_json(listing)
    except UserError:
        return []
    return [str(name) for name in names] if isinstance(names, dict) else []
