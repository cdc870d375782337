"""Write pages and data into the folder of the report, and keep a list of its files.

Browsers let a page from disk load scripts, but not fetch files. The data files are therefore scripts.
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

MAX_TEXT_CHARS = 20_000  # Longer texts from data are truncated, because browsers become slow.
encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# The build owns all files in these subfolders, and removes old ones.
MANAGED_FOLDERS = ("assets", "data", "figures", "media", "models", "runs", "tables", "temporal")


def display_text(text: str | None) -> str:
    """Return a text from data for display: truncated, and with code points for invisible characters."""
    result = text or ""
    if len(result) > MAX_TEXT_CHARS:
        result = f"{result[:MAX_TEXT_CHARS]}... ({len(result)} characters)"
    return escape_invisible(result.replace("\r\n", "\n"))


def finite_or_none(number: float | None) -> float | None:
    """Return the number, or None if it is NaN or infinite, because JSON has no such numbers."""
    return number if number is not None and math.isfinite(number) else None


def drop_empty_values(values: dict[str, Any]) -> dict[str, Any]:
    """Drop entries whose value is an empty text, an empty list, None or False, but keep zeros."""
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


class ReportFolder:
    """Write the files of one build of the report, and record their names and digests."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._digest_by_name: dict[str, str] = {}

    def write(self, name: str, text: str) -> None:
        write_text(self._root / name, text)
        self._digest_by_name[name] = text_digest(text)

    def put(self, name: str, value: Any) -> None:
        """Write data that pages load by name."""
        self.put_encoded(name, encode_json(value))

    def put_encoded(self, name: str, encoded: str) -> None:
        """Write JSON as a script. The escaped JSON contains no tag that could end the script element."""
        escaped = encoded.replace("</", "<\\/")
        self.write(f"data/{name}.js", f"reprise.put({encode_json(name)}, {escaped});\n")

    def copy(self, source: Path, name: str, sha256: str = "") -> None:
        """Copy a file; `sha256` is its digest, if known."""
        digest = sha256 or file_digest(source)
        if self._digest_by_name.get(name) != digest:
            with atomic_path(self._root / name) as temporary:
                shutil.copyfile(source, temporary)
            self._digest_by_name[name] = digest

    def link_to(self, path: Path) -> str:
        """Return the address of a file outside the folder, relative to a page at the top of the report."""
        return quote(Path(os.path.relpath(path.absolute(), self._root.absolute())).as_posix())

    def finish(self) -> None:
        """Write the list of files, and remove the files of the previous build that this build did not write.

        Other files at the top belong to the user and are kept.
        """
        listing = self._root / report_files()[1].name  # The first file of the report is its first page.
        old_pages = [self._root / name for name in _read_listing(listing) if "/" not in name]
        managed_paths = [path for name in MANAGED_FOLDERS for path in (self._root / name).rglob("*")]
        for path in (*old_pages, *managed_paths):
            if path.is_file() and path.relative_to(self._root).as_posix() not in self._digest_by_name:
                path.unlink()
        write_text(listing, canonical_json(self._digest_by_name) + "\n")


def _read_listing(listing: Path) -> list[str]:
    """Return the names of the previous build's files, or an empty list if its list is missing or damaged."""
    try:
        names = read_json(listing)
    except UserError:
        return []
    return [str(name) for name in names] if isinstance(names, dict) else []
