"""Builds the report: data, pages, and the fixed files of the item browser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.core.paths import Results
from reprise.core.store import Store
from reprise.report.data import write_data
from reprise.report.fixed import site_files
from reprise.report.folder import Folder
from reprise.report.keys import ReportKey
from reprise.report.pages import Pages


def build(key: ReportKey, results: Results, store: Store, root: Path) -> None:
    """Write the whole report into a folder."""
    folder = Folder(root)

    def media(row: Mapping[str, Any]) -> str:
        """Where a page finds a clip: in the store, or as a copy."""
        source = store.root / row["object"]
        if key.clips == "link":
            return folder.link_to(source)
        if not source.is_file():
            return ""
        folder.copy(source, f"media/{source.name}", row["sha256"])
        return f"media/{source.name}"

    Pages(key, results, folder, write_data(key, results, folder, media)).write()
    for name, path in site_files().items():
        folder.copy(path, name)
    folder.finish()
