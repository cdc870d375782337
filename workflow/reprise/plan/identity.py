"""What a model is: its weights by revision or digest, and the server that a job starts for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.config.model import Model
from reprise.core.errors import UserError, suggestion
from reprise.core.store import Store
from reprise.models.remote.serving.environment import named_versions, pins_file
from reprise.models.remote.serving.settings import Hosting, Serving, hosting_of, serving_of

UNPINNED = "unpinned"
DIGITS = 12
PROGRAM_MODULE = "reprise.models.remote.serving.program_server"


class ModelServer(NamedTuple):
    """What a run's key holds of the server that its job starts; nothing where it starts none."""

    serving: Serving | None
    hosting: Hosting | None
    versions: dict[str, str]
    settings: dict[str, Any]
    modules: tuple[str, ...] = ()
    """of this library, what runs there"""


def weights_identity(slug: str, model: Model, store: Store) -> dict[str, str]:
    """What the weights are: a hub revision, or the digest of a local folder's files; nothing where there are none."""
    if model.repo is not None:
        return {"repo": model.repo, "revision": model.revision or UNPINNED}
    if model.checkpoint is None:
        return {}
    path, cure = f"config/models/{slug}.yaml: checkpoint", f"or write `skip: [{slug}]` in the suite's file"
    return {"checkpoint": local_weights(Path(model.checkpoint), path, cure, store, model.files)}


def local_weights(folder: Path, where: str, cure: str, store: Store, files: Sequence[str] = ()) -> str:
    """The digest of a checkpoint's folder, which must hold weights."""
    if not folder.is_dir():
        is_inside = not folder.is_absolute() and ".." not in folder.parts
        there = [str(path) for path in folder.parent.glob("*/")] if is_inside else []
        raise UserError(
            f"{where}: no folder '{folder}'.{suggestion(str(folder), there)} "
            f"Put the weights there, correct the path, {cure}."
        )
    wanted = files or ["*.safetensors"]
    missing = [one for one in wanted if not any(folder.glob(one))]
    if missing:
        raise UserError(
            f"{where}: '{folder}' holds no weights ({', '.join(missing)}). "
            f"Found: {', '.join(sorted(path.name for path in folder.iterdir())) or 'nothing'}."
        )
    return store.folder_digest(folder)


def server_of(model: Model, identity: dict[str, str], store: Store) -> ModelServer:
    """The server that a job starts for a model. Its name for the model is one that no other weights have."""
    served = model.served_by
    if served is None:
        return ModelServer(None, None, {}, {})
    path = pins_file(served.environment)
    versions = named_versions(path)
    serving = serving_of(
        served,
        store.digest(path),
        dtype=model.dtype,
        gpus=model.gpus,
        trust_remote_code=model.trust_remote_code,
        is_video=model.settings["frames"] == "video",
        scores=model.settings["scores"],
    )
    modules = (PROGRAM_MODULE,) if served.program else ()
    return ModelServer(serving, hosting_of(served), versions, {"model": _name(model, identity)}, modules)


def _name(model: Model, identity: dict[str, str]) -> str:
    if model.repo is not None:
        return f"{model.repo}@{model.revision}"
    return f"{Path(str(model.checkpoint)).name}@{identity['checkpoint'][:DIGITS]}"
