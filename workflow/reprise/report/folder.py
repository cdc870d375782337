"""The folder of the report: writes pages and data into it, and keeps the list of its files.

A page that is opened from a file may load scripts, but fetch nothing. The data are therefore classic scripts.
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

MAX_TEXT = 20_000
ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# A build writes all files in these subfolders.
MANAGED = ("assets", "data", "figures", "media", "models", "runs", "tables", "time")


def display_text(text: str | None) -> str:
    """Return a text from data with characters that hide or reorder others as code points, cut if it is too long."""
    result = text or ""
    if len(result) > MAX_TEXT:
        result = f"{result[:MAX_TEXT]}... ({len(result)} characters)"
    return visible(result.replace("\r\n", "\n"))


def finite(number: float | None) -> float | None:
    """Return a number that JSON can hold, or none for NaN and infinity."""
    return number if number is not None and math.isfinite(number) else None


def without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Return the entries with content: no empty text or list, null or false. Zero is content."""
    return {name: value for name, value in values.items() if value or (value == 0 and value is not False)}


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting by its dotted name; a list is one value."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from leaves(value, f"{name}.{key}" if name else key)
    else:
        yield name, content


def as_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Folder:
    """The files of one build of the report, by name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written: dict[str, str] = {}

    def write(self, name: str, text: str) -> None:
        write_text(self._root / name, text)
        self._written[name] = text_digest(text)

    def put(self, name: str, value: Any) -> None:
        """Write data that pages load by this name."""
        self.put_encoded(name, ENCODE(value))

    def put_encoded(self, name: str, encoded: str) -> None:
        """Write JSON as a script, escaped so that no text in it can end the script element."""
        closed = encoded.replace("</", "<\\/")
        self.write(f"data/{name}.js", f"reprise.put({ENCODE(name)}, {closed});\n")

    def copy(self, source: Path, name: str, sha256: str = "") -> None:
        """Copy a file; `sha256` is its digest, if it is known."""
        digest = sha256 or file_digest(source)
        if self._written.get(name) != digest:
            with whole_file(self._root / name) as temporary:
                shutil.copyfile(source, temporary)
            self._written[name] = digest

    def link_to(self, path: Path) -> str:
        """Return the address of a file elsewhere, from a page at the top of the folder."""
        return quote(Path(os.path.relpath(path.absolute(), self._root.absolute())).as_posix())

    def finish(self) -> None:
        """Write the list of files, and remove the files of an older build.

        A page that no build has listed belongs to a user and stays.
        """
        listing = self._root / report_files()[1].name
        pages = [path for name in _listed_in(listing) if "/" not in name and (path := self._root / name).is_file()]
        for path in [*pages, *(path for name in MANAGED for path in (self._root / name).rglob("*"))]:
            if path.is_file() and path.relative_to(self._root).as_posix() not in self._written:
                path.unlink()
        write_text(listing, canonical_json(self._written) + "\n")


def _listed_in(listing: Path) -> list[str]:
    """Return the names of the files of the previous build; none if its list is missing or damaged."""
    try:
        names = read_json(listing)
    except UserError:
        return []
    return [str(name) for name in names] if isinstance(names, dict) else []
