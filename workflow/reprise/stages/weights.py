"""Stage `weights`: a model's pinned snapshot, fetched once into the store."""

import json
from pathlib import Path

from reprise.core.errors import UserError, run_command
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.store import Store
from reprise.fetch.snapshot import fetch_snapshot
from reprise.models.local.weights import patterns_of, record_files, snapshot_folder
from reprise.stages.arguments import arguments


def main() -> None:
    """Fetch a hub snapshot into the store; the output file says where it is."""
    args = arguments(
        "Fetch a model's pinned snapshot.", repo=str, revision=str, model=str, code=str, store=Path, out=Path
    )
    patterns = patterns_of(trust_remote_code=args.code == "fetched")
    if args.revision == "unpinned":
        raise UserError(
            f"config/models/{args.model}.yaml: revision: is 'unpinned', so these weights cannot be named. "
            f"Run `python -m reprise pin {args.model}` with network access first."
        )
    store = Store(args.store)
    folder = snapshot_folder(args.repo, args.revision, store)
    fetch_snapshot(f"config/models/{args.model}.yaml", "model", args.repo, args.revision, folder, patterns)
    if not any(folder.glob("*.safetensors")):
        raise UserError(
            f"config/models/{args.model}.yaml: repo: {args.repo}@{args.revision} holds no *.safetensors. "
            "Only safetensors weights are loaded; name a repository that has them."
        )
    record_files(folder, store)
    write_text(args.out, json.dumps({"repo": args.repo, "revision": args.revision, "folder": str(folder)}) + "\n")
    log.info(f"{args.repo}@{args.revision} is in {folder}")


if __name__ == "__main__":
    run_command(main)
