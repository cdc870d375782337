"""Builds the report: data, pages, and the fixed files of the item browser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.core.paths import Results
from reprise.core.store import Store
from reprise.report.clips import Media
from reprise.report.data import write_data
from reprise.report.fixed import site_files
from reprise.report.folder import Folder
from reprise.report.keys import ReportKey
from reprise.report.pages import Pages


def build(key: ReportKey, results: Results, store: Store, root: Path) -> None:
    """Write the whole report into a folder."""
    folder = Folder(root)
    summaries = write_data(key, results, folder, media_of(key, store, folder))
    Pages(key, results, folder, summaries).write()
    for name, path in site_files().items():
        folder.copy(path, name)
    folder.finish()


def media_of(key: ReportKey, store: Store, folder: Folder) -> Media:
    """How a page finds a clip: where it lies in the store, or as a copy."""

    def link(row: Mapping[str, Any]) -> str:
        return folder.link_to(store.root / row["object"])

    def copy(row: Mapping[str, Any]) -> str:
        source = store.root / row["object"]
        if not source.is_file():
            return ""
        name = f"media/{source.name}"
        folder.copy(source, name, row["sha256"])
        return name

    return copy if key.clips == "copy" else link
