"""The file of a model that somebody wants evaluated: the one that is there, or one that is written and looked at."""

import math
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from reprise.commands.pin import pin_files, resolve_commit
from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.names import SLUG, SLUG_IN_WORDS
from reprise.models.local.devices import visible_gpus
from reprise.models.local.weights import WEIGHTS
from reprise.plan.identity import UNPINNED
from reprise.plan.repositories import model_differences, sizes_of, weights_bytes

HEAD = "# yaml-language-server: $schema=../schemas/model.schema.json\n# Written by `reprise eval`.\n"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
MB = 10**6
# Main memory beside the weights, which pass through it: half as much again, in steps of this.
MEMORY_STEP_MB, MEMORY_LEAST_MB, MEMORY_TIMES = 1000, 2000, 1.5


def slug_for(source: str, name: str | None, models: Mapping[str, Model]) -> str:
    """The name of a model's file: of one that is there and means the same weights, or of a new one."""
    if name is None and not Path(source).is_dir():
        known = [slug for slug, model in models.items() if source in (slug, model.repo)]
        if known:
            return known[0]
    slug = name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if not re.fullmatch(SLUG, slug):
        raise UserError(f"eval: '{slug}' cannot be a name. Allowed: {SLUG_IN_WORDS}. Say another one by --name.")
    return slug


def prepare_model(source: str, slug: str, gpus: int | None, models: Mapping[str, Model]) -> None:
    """Have the model's file there, its revision pinned, and its checkpoint looked at."""
    file = Path(f"config/models/{slug}.yaml")
    known = models.get(slug)
    if known is None:
        write_text(file, HEAD + _written(_described(source, file, gpus)))
        _look_at(file, source)
        return
    if source not in (slug, known.repo) and Path(source) != Path(known.checkpoint or ""):
        weights = known.checkpoint or known.repo or "no weights"
        raise UserError(f"{file}: is there, and is of another model ({weights}). Say another name by --name.")
    if gpus not in (None, known.gpus):
        raise UserError(f"{file}: gpus: is {known.gpus}. Change it there, or leave --gpus out.")
    if known.revision == UNPINNED:
        pin_files(Path(), [slug])


def _described(source: str, file: Path, gpus: int | None) -> dict[str, Any]:
    """What the file says: where the weights are, what the model needs."""
    folder = Path(source)
    where: dict[str, str | int]
    if folder.is_dir():
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
        where = {"checkpoint": str(folder)}
        if not any(fnmatch(name, WEIGHTS) for name in sizes):
            raise UserError(
                f"eval: '{source}' holds no weights ({WEIGHTS}). Found: {', '.join(sorted(sizes)) or 'nothing'}."
            )
    elif REPOSITORY.fullmatch(source):
        revision = resolve_commit(source, "model", file)
        sizes = dict(sizes_of("model", source, revision))
        where = {"repo": source, "revision": revision, "weights_bytes": weights_bytes(sizes)}
    else:
        raise UserError(
            f"eval: '{source}' is no folder, and no repository of the hub, which is named <owner>/<name>. "
            "A model with a file in config/models/ is named by that file."
        )
    needed = MEMORY_TIMES * sum(size for name, size in sizes.items() if fnmatch(name, WEIGHTS)) / MB
    memory = max(MEMORY_LEAST_MB, MEMORY_STEP_MB * math.ceil(needed / MEMORY_STEP_MB))
    count = gpus if gpus is not None else int(bool(visible_gpus()))
    on_gpu = {"gpus": count, "memory_mb": memory, "dtype": "checkpoint"} if count else {"memory_mb": memory}
    return {"label": Path(source).name, "adapter": "transformers", **where, **on_gpu}


def _written(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=10**6)


def _look_at(file: Path, source: str) -> None:
    """Stop at a checkpoint that the adapter cannot ask; its weights are not loaded."""
    from reprise.models.base import ModelSpec
    from reprise.models.local.examine import differences

    model = Model.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    if model.repo is not None:
        revision = str(model.revision)
        found = list(model_differences(file, model, revision, sizes_of("model", model.repo, revision)))
    else:
        spec = ModelSpec(
            Path(str(model.checkpoint)), "cpu", 1, model.dtype, model.attention, model.trust_remote_code, model.settings
        )  # fmt: skip
        found = list(differences(model.adapter, spec))
    if found:
        raise UserError(
            f"eval: {source} cannot be asked by the adapter transformers:\n  "
            + "\n  ".join(found)
            + "\nA model that lives in a repository of its own is asked there, and its answers are imported "
            "(docs/howto/import-answers.md)."
        )
