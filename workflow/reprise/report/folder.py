"""Write pages and data into the folder of the report, and keep a list of its files.

A page that is opened from disk may load scripts but not fetch files. The data are therefore classic scripts.
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
from reprise.core.files import atomic_path, canonical_json, file_digest, read_json, text_digest, write_text
from reprise.core.paths import report_files
from reprise.core.plain import escape_invisible

MAX_TEXT = 20_000
ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# All files in these subfolders belong to the build; old ones are removed.
MANAGED = ("assets", "data", "figures", "media", "models", "runs", "tables", "temporal")


def display_text(text: str | None) -> str:
    """Return a text from data, truncated, with invisible and reordering characters shown as code points."""
    result = text or ""
    if len(result) > MAX_TEXT:
        result = f"{result[:MAX_TEXT]}... ({len(result)} characters)"
    return escape_invisible(result.replace("\r\n", "\n"))


def finite_or_none(number: float | None) -> float | None:
    """Return the number, or None for NaN and infinity, which JSON cannot represent."""
    return number if number is not None and math.isfinite(number) else None


def without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Return the entries without empty texts, empty lists, None and False; zero is kept."""
    return {name: value for name, value in values.items() if value or (value == 0 and value is not False)}


def flatten_settings(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting with its dotted name; a list is one value."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from flatten_settings(value, f"{name}.{key}" if name else key)
    else:
        yield name, content


def to_text(value: Any) -> str:
    """Return a string unchanged, and any other value as JSON."""
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
        """Write data that pages load by name."""
        self.put_encoded(name, ENCODE(value))

    def put_encoded(self, name: str, encoded: str) -> None:
        """Write JSON as a script, escaped so that no text in it can end the script element."""
        escaped = encoded.replace("</", "<\\/")
        self.write(f"data/{name}.js", f"reprise.put({ENCODE(name)}, {escaped});\n")

    def copy(self, source: Path, name: str, sha256: str = "") -> None:
        """Copy a file; `sha256` is its digest, if known."""
        digest = sha256 or file_digest(source)
        if self._written.get(name) != digest:
            with atomic_path(self._root / name) as temporary:
                shutil.copyfile(source, temporary)
            self._written[name] = digest

    def link_to(self, path: Path) -> str:
        """Return the relative address of a file outside the folder, from a page at the top."""
        return quote(Path(os.path.relpath(path.absolute(), self._root.absolute())).as_posix())

    def finish(self) -> None:
        """Write the list of files, and remove files of an older build.

        A page at the top that no build has listed belongs to a user and is kept.
        """
        listing = self._root / report_files()[1].name
        pages = [path for name in _read_listing(listing) if "/" not in name and (path := self._root / name).is_file()]
        for path in [*pages, *(path for name in MANAGED for path in (self._root / name).rglob("*"))]:
            if path.is_file() and path.relative_to(self._root).as_posix() not in self._written:
                path.unlink()
        write_text(listing, canonical_json(self._written) + "\n")


def _read_listing(listing: Path) -> list[str]:
    """Return the names of the files of the previous build; none if its list is missing or damaged."""
    try:
        names = read_json(listing)
    except UserError:
        return []
    return [str(name) for name in names] if isinstance(names, dict) else []
