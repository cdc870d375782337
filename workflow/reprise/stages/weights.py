"""Stage `weights`: fetch the pinned snapshot of a model into the store."""

import json
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import write_sealed_text
from reprise.core.log import log
from reprise.core.settings import Key
from reprise.core.store import Store
from reprise.fetch.hub import fetch_snapshot
from reprise.models.local.weights import get_file_patterns, get_snapshot_folder, record_file_digests
from reprise.stages.command import Out, Site


def main(
    version: Key,
    repo: str,
    revision: str,
    model: str,
    code: str,  # "fetched" if the model may run Python code of the repository, otherwise "left"
    files: list[str],
    store: Site[Store],
    out: Out[Path],
) -> None:
    patterns = get_file_patterns(code == "fetched", files)
    if revision == "unpinned":
        raise UserError(
            f"config/models/{model}.yaml: revision: 'unpinned' does not determine which weights to fetch. "
            f"Run `reprise pin {model}` with network access first."
        )
    folder = get_snapshot_folder(repo, revision, store)
    fetch_snapshot(f"config/models/{model}.yaml", "model", repo, revision, folder, patterns)
    missing_patterns = [pattern for pattern in files if not any(folder.glob(pattern))]
    if missing_patterns:
        raise UserError(
            f"config/models/{model}.yaml: served_by.files: {repo}@{revision} has no {', '.join(missing_patterns)}. "
            "Correct them."
        )
    if not files and not any(folder.glob("*.safetensors")):
        raise UserError(
            f"config/models/{model}.yaml: repo: {repo}@{revision} has no *.safetensors. "
            "Only safetensors weights are supported; choose a repository that has them."
        )
    record_file_digests(folder, store, files)
    write_sealed_text(out, json.dumps({"repo": repo, "revision": revision, "folder": str(folder)}) + "\n")
    log.info(f"{repo}@{revision} is in {folder}")
