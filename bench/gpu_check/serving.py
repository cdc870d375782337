"""Check vLLM, started as a job starts it, against transformers with the same tiny checkpoint."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reprise.core.files import write_record
from reprise.core.log import log_to_stderr
from reprise.core.store import Store
from reprise.models.base import ModelSpec
from reprise.models.inference.money.prices import NO_BUDGET, Account
from reprise.models.remote.serving.environment import (
    compute_pins_digest,
    get_environment_folder,
    get_pins_path,
    is_installed,
)
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import ServerSettings, build_launch_settings, build_serving_key

from bench.gpu_check.outcome import Line, NotTriedError, Session, line_with_reason
from bench.gpu_check.process import is_package_missing

NAME, FRAMES, MINUTES = "gpu/check@random", 8, 4  # Name of the model, frames of the clip, minutes for the start.
# Eager mode avoids minutes of compilation. On a CPU vLLM needs an explicit size of its cache.
ARGUMENTS = ["--enforce-eager", "--max-num-seqs", "8"]
ON_CPU = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


def vllm(session: Session) -> Iterator[Line]:
    """Compare the scores of vLLM with those of transformers."""
    server = ServerSettings(
        engine="vllm", environment="serve-cpu" if session.is_cpu else "serve", arguments=ARGUMENTS,
        variables=ON_CPU if session.is_cpu else {}, start_minutes=MINUTES,
    )  # fmt: skip
    store = _store(session, server.environment)
    # Imported only here: without vLLM these imports would take most of this check's time.
    from reprise.models.remote.openai import OpenAIAdapter

    from bench.gpu_check.model_queries import TOLERANCE, adapter_of, answer_clip, clip_of, dtype_of, spec_of, video

    log_to_stderr()
    dtype, clip = dtype_of(session), clip_of(video(session), FRAMES)
    serving = build_serving_key(
        server, compute_pins_digest(get_pins_path(server.environment)), dtype=dtype, trust_remote_code=False,
        is_video=True,
    )  # fmt: skip
    folder = _write_tiny(session)
    with adapter_of(spec_of(session, folder)) as adapter:
        native_answers = answer_clip(adapter, clip, texts=0)
    host = ServerProcess(
        serving, build_launch_settings(server, session.gpus), weights_folder=_copy_renamed(folder),
        model_name=NAME, store=store,
        log_file=session.logs / "vllm.server.log",
    )  # fmt: skip
    try:
        settings = {**host.start(), "model": NAME, "frames": "video", "scores": "logprob_token_ids"}
        spec = ModelSpec(None, session.device, 1, dtype, "sdpa", False, settings)
        account = Account(session.folder, "gpu-check", None, NO_BUDGET, is_paid=False)
        answers = answer_clip(OpenAIAdapter(replace(spec, account=account)), clip, texts=0)
    finally:
        host.close()
    difference = answers.largest_difference(native_answers)
    reason = (
        ""
        if difference <= TOLERANCE[dtype]
        else f"its scores differ from those of transformers by more than {TOLERANCE[dtype]}"
    )
    yield line_with_reason("vllm", reason, largest_difference=difference, dtype=dtype)


def _store(session: Session, environment: str) -> Store:
    """Return a store with vLLM's environment: the project's if it is built, else this Python's own vLLM."""
    if not get_pins_path(environment).is_file():
        raise NotTriedError(f"{get_pins_path(environment)} is missing")
    for root in (session.store, Path(".cache/serve").resolve()):
        if is_installed(get_environment_folder(get_pins_path(environment), Store(root))):
            return Store(root)
    if is_package_missing("vllm"):
        raise NotTriedError("vllm is missing: neither in the store nor beside torch")
    store = Store(session.folder / "serving")
    folder = get_environment_folder(get_pins_path(environment), store)
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    # A link would not work, because Python finds its packages relative to the path of its executable.
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    write_record(folder.with_suffix(".json"), {"file": environment, "packages": []})
    return store


def _write_tiny(session: Session) -> Path:
    """Write a checkpoint with tiny shapes, also for a GPU."""
    from bench.gpu_check.families import checkpoint

    return checkpoint(replace(session, folder=session.folder / "tiny"), "LLaVA-OneVision", is_tiny=True)


def _copy_renamed(folder: Path) -> Path:
    """Copy a checkpoint, with the weight names of the vision tower that the hub's files use and vLLM expects."""
    from safetensors.torch import load_file, save_file

    target = folder.with_name("for-vllm")
    shutil.copytree(folder, target, dirs_exist_ok=True)
    tensors = load_file(folder / "model.safetensors")
    names = {
        name: name.replace("vision_tower.", "vision_tower.vision_model.")
        for name in tensors
        if "vision_model." not in name
    }
    save_file(
        {names.get(name, name): tensor for name, tensor in tensors.items()},
        target / "model.safetensors",
        {"format": "pt"},
    )
    return target
