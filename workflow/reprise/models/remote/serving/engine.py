"""What an engine is told: the words of its command line and its environment variables, by a model's settings."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from reprise.core.plain import SECRET_NAMES
from reprise.models.remote.serving.settings import Hosting, ServedBy, Serving

MODULES = {"vllm": "vllm.entrypoints.openai.api_server"}
HOST = "127.0.0.1"
# Of this process's environment: what would lead the engine's Python to packages of another one.
NOT_PASSED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
# Weights lie in the store, and nothing is told to anybody.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
}
KEY = "VLLM_API_KEY"


def serving_of(
    served: ServedBy, pins: str, *, dtype: str, gpus: int, trust_remote_code: bool, is_video: bool
) -> Serving:
    """What of a server shapes answers; `pins` is the digest of the file that pins its packages."""
    limits = {"image": 0, "video": 1} if is_video else {"image": served.max_frames, "video": 0}
    words = ["--dtype", "auto" if dtype == "checkpoint" else dtype]
    words += ["--tensor-parallel-size", str(served.tensor_parallel or max(1, gpus))]
    words += ["--max-model-len", str(served.max_model_len)] if served.max_model_len else []
    words += ["--quantization", served.quantised] if served.quantised else []
    words += ["--limit-mm-per-prompt", json.dumps(limits, separators=(",", ":"))]
    words += ["--trust-request-mm-kwargs"] if is_video else []
    words += ["--trust-remote-code"] if trust_remote_code else []
    words += ["--seed", "0", "--generation-config", "auto", "--enable-prompt-tokens-details", *served.arguments]
    return Serving(engine=served.engine, environment=pins, arguments=tuple(words), variables=served.variables)


def hosting_of(served: ServedBy) -> Hosting:
    """What of a server shapes no answer."""
    words = ["--gpu-memory-utilization", f"{served.gpu_memory:g}"] if served.gpu_memory else []
    return Hosting(
        environment=served.environment,
        arguments=(*words, "--disable-uvicorn-access-log"),
        start_minutes=served.start_minutes,
    )


def command(python: Path, serving: Serving, hosting: Hosting, *, weights: Path, name: str, port: int) -> Sequence[str]:
    """The words that start a server of these weights under this name."""
    return [
        str(python), "-m", MODULES[serving.engine], "--model", str(weights.resolve()), "--served-model-name", name,
        "--host", HOST, "--port", str(port), *serving.arguments, *hosting.arguments,
    ]  # fmt: skip


def environment(serving: Serving, key: str) -> Mapping[str, str]:
    """The environment of a server: this one's without its secrets and paths of Python, and the server's own key."""
    passed = {name: value for name, value in os.environ.items() if not SECRET_NAMES.search(name)}
    return (
        {name: value for name, value in passed.items() if name not in NOT_PASSED}
        | OFFLINE
        | serving.variables
        | {KEY: key}
    )
