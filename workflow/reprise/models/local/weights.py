"""Where a model's weights are: a local checkpoint, or a hub snapshot that is fetched once into the store."""

from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_record, value_digest, write_record
from reprise.core.store import Store
from reprise.models.keys import ModelRunKey

# What a snapshot holds besides weights; code only for a model that may run it.
SMALL = ("*.json", "*.model", "*.txt", "*.jinja", "*.tiktoken")
WEIGHTS, CODE = "*.safetensors", "*.py"


def patterns_of(trust_remote_code: bool, further: Sequence[str] = ()) -> tuple[str, ...]:
    """The files of a repository that a model is loaded from; further ones are its program's."""
    return (*SMALL, WEIGHTS, *further, *([CODE] if trust_remote_code else []))


def snapshot_folder(repo: str, revision: str, store: Store) -> Path:
    """The store's folder of one repository at one revision."""
    return store.root / "weights" / value_digest([repo, revision])[:16]


def weights_folder(key: ModelRunKey, store: Store) -> Path | None:
    """The folder that a run's model loads from; none for a model without weights."""
    if key.checkpoint is not None:
        return Path(key.checkpoint)
    repo = key.answers.model.get("repo")
    if repo is None:
        return None
    folder = snapshot_folder(repo, key.answers.model["revision"], store)
    if not fetched_files(folder) and not any(folder.glob(WEIGHTS)):
        raise UserError(f"{repo}: no weights in {folder}. Run snakemake, whose weights rule fetches them.")
    for path, digest in fetched_files(folder).items():
        if not path.is_file() or file_digest(path) != digest:  # read: a remembered digest sees no decay of the disk
            path.unlink(missing_ok=True)
            raise UserError(
                f"{path}: gone, or not what was fetched. Nothing was recorded: run the same command again, which "
                "fetches it again."
            )
    return folder


def record_files(folder: Path, store: Store, further: Sequence[str] = ()) -> None:
    """Record what was fetched."""
    files = sorted({path for pattern in patterns_of(True, further) for path in folder.glob(pattern)})
    write_record(_record_of(folder), {path.name: store.digest(path) for path in files})


def fetched_files(folder: Path) -> dict[Path, str]:
    """The files of a snapshot and their digests; none where an earlier version fetched it."""
    return {folder / name: digest for name, digest in (read_record(_record_of(folder)) or {}).items()}


def _record_of(folder: Path) -> Path:
    return folder.with_suffix(".json")
