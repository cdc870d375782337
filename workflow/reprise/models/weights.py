"""Where a model's weights are: a local checkpoint, or a hub snapshot that is fetched once into the store."""

from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.store import Store
from reprise.models.keys import ModelRunKey

PATTERNS = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")


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
    if not any(folder.glob("*.safetensors")):
        raise UserError(f"{repo}: no weights in {folder}. Run snakemake, whose weights rule fetches them.")
    return folder
