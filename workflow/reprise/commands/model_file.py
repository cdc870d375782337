"""Write or check the file of a model in `config/models/` from a repository, a folder of weights or a server."""

import math
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from reprise.commands.evaluation_options import EvaluationOptions
from reprise.commands.pin import pin_files, resolve_commit
from reprise.commands.served import describe_served_model, is_server_url, normalise_url
from reprise.commands.shared import is_checkpoint_of
from reprise.commands.weights_folder import check_weights, is_path, no_folder_error, suggest_neighbour
from reprise.config.model import Model
from reprise.config.suite_checks import TERMS
from reprise.core.errors import UserError, suggest_name
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.names import SLUG, SLUG_DESCRIPTION, UNPINNED
from reprise.core.paths import locate
from reprise.core.yaml_files import dump_yaml
from reprise.models.local.gpus import check_build, get_driver_error, list_visible_gpus, read_installed_build
from reprise.models.local.weights import DAMAGED, WEIGHT_PATTERN
from reprise.models.remote.serving.environment import read_torch_build
from reprise.plan.builds import check_model_gpus
from reprise.plan.repositories import (
    detect_frame_mode,
    fetch_sizes,
    find_folder_differences,
    find_model_differences,
    sum_weights_bytes,
)
from reprise.plan.site import find_executor

FILE_HEADER = "# yaml-language-server: $schema=../schemas/model.schema.json\n# Written by `reprise eval`.\n"

# Weights are loaded into main memory before they are copied to a GPU. A new model gets a `memory_mb` of 1.5 times their
# size, rounded up to full steps.
MB, MEMORY_STEP_MB, MEMORY_MIN_MB, MEMORY_FACTOR = 10**6, 1000, 2000, 1.5

MODEL_DESCRIPTION = (
    "the folder of a checkpoint, a repository of the hub (<owner>/<name>), the address of a server (http://...), or a "
    "model that has a file in config/models/."
)

# Environment and concurrent requests of a model that vLLM serves, as in the files of `config/models/`.
ENVIRONMENT, CONCURRENCY = "serve", 32


def choose_slug(options: EvaluationOptions, models: Mapping[str, Model]) -> str:
    """Return the slug of a model: that of an existing file with the same weights, or a new one."""
    source = options.model
    matches = [
        slug
        for slug, model in models.items()
        if source == slug
        or (source == model.repo and options.engine in (None, _get_engine(model)))
        or (is_server_url(source) and _is_at_server(options, model))
    ]
    if matches and options.name is None and not locate(source).is_dir():
        return matches[0]
    if is_server_url(source) and options.name is None:
        source = describe_served_model(source, options.served_model)["label"]
    slug = options.name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if options.name is None and options.engine == "vllm":  # A file for the same weights with transformers may exist.
        slug += "-vllm"
    if not re.fullmatch(SLUG, slug) or slug in TERMS:
        reason = (
            "has a meaning in `run:` of suites"
            if slug in TERMS
            else f"is not a valid name. Allowed: {SLUG_DESCRIPTION}"
        )
        raise UserError(f"{options.command}: '{slug}' {reason}. Choose another one with --name.")
    return slug


def prepare_model(options: EvaluationOptions, slug: str, models: Mapping[str, Model]) -> None:
    """Write or check the model's file, pin its revision, and check its checkpoint without loading weights."""
    source, file, existing_model = options.model, Path(f"config/models/{slug}.yaml"), models.get(slug)
    if existing_model is not None:
        _check_existing_model(options, slug, file, existing_model)
        return
    if is_server_url(source):
        write_text(file, FILE_HEADER + dump_yaml(describe_served_model(source, options.served_model)))
        return
    is_served, gpu_count = options.engine == "vllm", _choose_gpu_count(options, file)
    settings, sizes = _describe_model(options, file, gpu_count, models)
    model = Model.model_validate(settings)
    frame_modes: list[str] = []  # How a served model takes frames: one entry, once its folder is checked.

    def check_folder(model: Model, folder: Path) -> list[str]:
        differences = find_folder_differences(model, folder)
        if is_served and not differences:
            frame_modes.append(detect_frame_mode(model, folder))
        return differences

    problems = list(
        find_model_differences(file, model, str(model.revision), sizes, check_folder)
        if model.repo
        else check_folder(model, locate(source))
    )
    if problems:
        is_damaged = any(DAMAGED in problem for problem in problems)
        advice = (
            ""
            if is_damaged
            else " For a model with its own code see docs/howto/import-answers.md; for one that only vLLM supports, "
            "docs/howto/servers.md."
        )
        raise UserError(f"{options.command}: {source} cannot be loaded: {' '.join(problems)}{advice}")
    if is_served:
        adapter_settings = {"frames": frame_modes[0], "concurrency": CONCURRENCY}
        settings |= {"adapter": "openai", "served_by": options.engine, "settings": adapter_settings}
    write_text(file, FILE_HEADER + dump_yaml(settings))


def _choose_gpu_count(options: EvaluationOptions, file: Path) -> int:
    """Return the number of GPUs of a new model: that of `--gpus`, or one if this machine has GPUs.

    Raises:
        UserError: The model needs a GPU and gets none, or this machine runs its jobs and cannot use the GPUs.
    """
    gpu_count = options.gpus if options.gpus is not None else int(bool(list_visible_gpus()))
    driver_error = get_driver_error() if options.gpus is None and not gpu_count else ""
    is_served = options.engine == "vllm"
    if is_served and not gpu_count:
        note = f" ({driver_error})" if driver_error else ""
        raise UserError(
            f"{options.command}: --engine vllm needs a GPU, and this machine has none{note}. For another machine, give "
            "their number with --gpus; for a test on CPUs see docs/howto/servers.md."
        )
    if driver_error:
        log.warning(f"{file}: gpus: 0, since nvidia-smi lists no GPU: {driver_error}")
    if find_executor([]) is None:  # Jobs run on this machine.
        try:
            check_build(read_torch_build(ENVIRONMENT) if is_served else read_installed_build(), gpu_count)
        except UserError as error:
            raise UserError(f"{options.command}: --gpus {gpu_count}: {error}") from None
    return gpu_count


def _check_existing_model(options: EvaluationOptions, slug: str, file: Path, model: Model) -> None:
    """Check that the file of a model agrees with the options of the command, and pin its revision."""
    source = options.model
    is_same = _is_at_server(options, model) if is_server_url(source) else is_checkpoint_of(source, model)
    if source not in (slug, model.repo) and not is_same:
        location = model.checkpoint or model.repo or model.settings.get("url") or "no weights"
        raise UserError(f"{file}: belongs to another model ({location}). Choose another name with --name.")
    if model.checkpoint and not model.files:
        check_weights(options.command, model.checkpoint)
    if options.engine not in (None, _get_engine(model)):
        raise UserError(
            f"{file}: its engine is not {options.engine}. Leave --engine out, or name the model's repository or "
            f"folder ({model.repo or model.checkpoint or 'it has no weights'}), which gets a new file."
        )
    if find_executor([]) is None:  # Jobs run on this machine.
        check_model_gpus(slug, model)
    if options.gpus not in (None, model.gpus):
        raise UserError(f"{file}: gpus: is {model.gpus}. Change it in the file, or leave --gpus out.")
    if model.revision == UNPINNED:
        pin_files(Path(), [slug])


def _is_at_server(options: EvaluationOptions, model: Model) -> bool:
    """Return whether a model's file describes the model at the server that the command names."""
    url, name = str(model.settings.get("url", "")), model.settings.get("model")
    return url.rstrip("/") == normalise_url(options.model) and options.served_model in (None, name)


def _get_engine(model: Model) -> str:
    """Return the engine of a model as in `--engine`: that of its server, or its adapter."""
    return model.served_by.engine if model.served_by else model.adapter


def _suggest_model(source: str, models: Mapping[str, Model]) -> str:
    """Return ` Did you mean 'x'?` with the closest model, repository or neighbouring folder; empty if none is close."""
    path = Path(source)
    if len(path.parts) > 1 and locate(path.parent).is_dir():
        return suggest_neighbour(path)
    repositories = {model.repo for model in models.values() if model.repo}
    return suggest_name(source, [*models, *sorted(repositories)]) or suggest_neighbour(path)


def _describe_model(
    options: EvaluationOptions, file: Path, gpu_count: int, models: Mapping[str, Model]
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the settings for the model's file, and name -> size in bytes of the files in its folder or repository."""
    folder, source = locate(options.model), options.model
    location: dict[str, str | int]
    if folder.is_file():
        is_checkpoint = (folder.parent / "config.json").is_file()
        hint = f"the folder of the checkpoint: {folder.parent}" if is_checkpoint else MODEL_DESCRIPTION
        raise UserError(f"{options.command}: '{source}' is a file. Name {hint}")
    if folder.is_dir():
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
        location = {"checkpoint": str(Path(source))}
        check_weights(options.command, source)
    elif is_path(source):
        raise no_folder_error(options.command, source)
    elif re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        try:
            revision = resolve_commit(source, "model", file)
        except UserError as error:
            raise UserError(f"{error}{_suggest_model(source, models)}") from error
        sizes = dict(fetch_sizes("model", source, revision))
        location = {"repo": source, "revision": revision, "weights_bytes": sum_weights_bytes(sizes)}
    else:
        hint = _suggest_model(source, models)
        raise UserError(
            f"{options.command}: '{source}' is neither a folder nor a repository of the hub (<owner>/<name>) nor a "
            f"server's address (http://...).{hint} Name a model that has a file in config/models/ by that file."
        )
    min_memory_mb = MEMORY_FACTOR * sum(size for name, size in sizes.items() if fnmatch(name, WEIGHT_PATTERN)) / MB
    memory_mb = max(MEMORY_MIN_MB, MEMORY_STEP_MB * math.ceil(min_memory_mb / MEMORY_STEP_MB))
    resources = (
        {"gpus": gpu_count, "memory_mb": memory_mb, "dtype": "checkpoint"} if gpu_count else {"memory_mb": memory_mb}
    )
    return {"label": folder.name, "adapter": "transformers", **location, **resources}, sizes
