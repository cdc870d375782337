"""Write a bundle: a folder with the pages and items of selected runs, without paths and secrets of this machine."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config.suite import PublishedContent
from reprise.core.paths import Results
from reprise.core.schemas import CLIP_MANIFEST, read_table
from reprise.core.settings import Settings
from reprise.core.store import Store
from reprise.report.build import Pages
from reprise.report.data import write_data
from reprise.report.folder import ReportFolder
from reprise.report.inputs import list_site_files
from reprise.report.keys import ReportKey
from reprise.report.redaction import Redactor


class RedactedFolder(ReportFolder):
    """Write files whose texts name nothing of this machine."""

    def __init__(self, root: Path, redactor: Redactor) -> None:
        super().__init__(root)
        self._redactor = redactor

    def write(self, name: str, text: str) -> None:
        super().write(name, self._redactor.redact(text))


def select_runs(key: ReportKey, names: Collection[str]) -> ReportKey:
    """Return the key of a report that contains only these scored runs, and neither tables nor figures of the suite."""
    benchmarks = []
    for benchmark in key.benchmarks:
        runs = tuple(run.model_copy(update={"ablations": {}}) for run in benchmark.runs if run.scored.name in names)
        if runs:
            benchmarks.append(benchmark.model_copy(update={"runs": runs}))
    changes = {"benchmarks": tuple(benchmarks), "show_published": False, "overview": False, "temporal": ()}
    return key.model_copy(update=changes)


def write_bundle(
    key: ReportKey,
    results: Results,
    store: Store,
    root: Path,
    settings: Mapping[str, Settings],
    contents: Mapping[str, PublishedContent],
    descriptions: Sequence[tuple[str, str]],
    redactor: Redactor,
) -> RedactedFolder:
    """Write the pages and data of a key's runs; return the folder, for further files.

    Args:
        key: Key with the selected runs.
        results: Results of the suite.
        store: Store with the clips.
        root: Folder of the bundle.
        settings: Settings of the suite's tables and runs by name.
        contents: What to write of each benchmark.
        descriptions: Files of the folder with their descriptions, for the first page.
        redactor: Redactor of all texts.
    """
    folder = RedactedFolder(root, redactor)
    clip_objects = {
        file
        for benchmark in key.benchmarks
        if contents[benchmark.name] == "clips" and benchmark.has_clips
        for shard in range(key.shards)
        for file in read_table(results.manifest("clips", benchmark.name, shard), CLIP_MANIFEST)["object"]
    }

    def get_clip_address(row: Mapping[str, Any]) -> str:
        """Return the address of the copy of a clip; empty if the clip is withheld or lost."""
        source = store.root / row["object"]
        if row["object"] not in clip_objects or not source.is_file():
            return ""
        folder.copy(source, f"media/{source.name}", row["sha256"])
        return f"media/{source.name}"

    withheld = {benchmark for benchmark, content in contents.items() if content == "answers"}
    browser_data = write_data(key, results, folder, get_clip_address, store.root, settings, withheld)
    Pages(key, results, folder, browser_data, settings, has_tables=False).write_runs(descriptions)
    for name, path in list_site_files().items():
        folder.copy(path, name)
    return folder
