"""Where a model's weights are: a local checkpoint, or a hub snapshot that is fetched once into the store."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.errors import UserError, run_command
from reprise.files import value_digest, write_text
from reprise.stage import arguments, say
from reprise.store import Store

PATTERNS = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")


def snapshot_folder(repo: str, revision: str, store: Store) -> Path:
    """The store's folder of one repository at one revision."""
    return store.root / "weights" / value_digest([repo, revision])[:16]


def weights_folder(key: Mapping[str, Any], store: Store) -> Path | None:
    """The folder that a run's model loads from; none for a model without weights."""
    if key["checkpoint"] is not None:
        return Path(key["checkpoint"])
    if key["repo"] is None:
        return None
    folder = snapshot_folder(key["repo"], key["answers"]["model"]["revision"], store)
    if not any(folder.glob("*.safetensors")):
        raise UserError(f"{key['repo']}: no weights in {folder}. Run snakemake, whose weights rule fetches them.")
    return folder


def main() -> None:
    """Fetch a hub snapshot into the store; the output file says where it is."""
    args = arguments("Fetch a model's pinned snapshot.", repo=str, revision=str, model=str, store=Path, out=Path)
    if args.revision == "unpinned":
        raise UserError(
            f"config/models/{args.model}.yaml: revision: is 'unpinned', so these weights cannot be named. "
            f"Run `python -m reprise pin {args.model}` with network access first."
        )
    folder = snapshot_folder(args.repo, args.revision, Store(args.store))
    from huggingface_hub import snapshot_download

    snapshot_download(args.repo, revision=args.revision, local_dir=folder, allow_patterns=list(PATTERNS))
    if not any(folder.glob("*.safetensors")):
        raise UserError(
            f"config/models/{args.model}.yaml: repo: {args.repo}@{args.revision} holds no *.safetensors. "
            "Only safetensors weights are loaded; name a repository that has them."
        )
    write_text(args.out, json.dumps({"repo": args.repo, "revision": args.revision, "folder": str(folder)}) + "\n")
    say(f"{args.repo}@{args.revision} is in {folder}")


if __name__ == "__main__":
    run_command(main)
