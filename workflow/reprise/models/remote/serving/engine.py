"""What an engine is told: the words of its command line and its environment variables, by a model's settings."""

import ast
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from reprise.core.errors import UserError, suggestion
from reprise.core.files import file_digest
from reprise.core.paths import located
from reprise.core.plain import SECRET_NAMES
from reprise.models.remote.serving.settings import Hosting, ServedBy, Serving

VLLM = ("-m", "vllm.entrypoints.openai.api_server")
# Serves a program; `-I`: nothing but the environment is on its path, `-u`: what it prints is in the log at once.
PROGRAM_SERVER = ("-Iu", str(Path(__file__).with_name("program_server.py")))
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
KEYS = {"vllm": "VLLM_API_KEY", "program": "REPRISE_PROGRAM_API_KEY"}

SCORES = "scores"
FUNCTIONS = {
    "load": "`load(folder, device)`",
    "answer": "`answer(frames, times, prompt, max_tokens)`",
    SCORES: "`scores(frames, times, prompt, options)`",
    "similarity": "`similarity(frames, times, caption)`",
}
# What a program defines, by `settings.scores` of its model.
DEFINED = {
    None: ("load", "answer"),
    "logprob_token_ids": ("load", "answer", SCORES),
    "similarity": ("load", "similarity"),
}


def serving_of(
    served: ServedBy,
    pins: str,
    *,
    dtype: str,
    gpus: int,
    trust_remote_code: bool,
    is_video: bool,
    scores: str | None = None,
) -> Serving:
    """What of a server shapes answers; `pins` is the digest of the file that pins its packages."""
    if served.program is not None:
        words, digest = ["--device", "cuda" if gpus else "cpu"], check_program(served.program, scores)
        return Serving(engine=served.engine, environment=pins, arguments=tuple(words), variables={}, program=digest)
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
    if served.program is not None:
        words = ["--program", str(located(served.program)), "--answer-seconds", f"{60 * served.answer_minutes:g}"]
    else:
        words = ["--gpu-memory-utilization", f"{served.gpu_memory:g}"] if served.gpu_memory else []
        words += ["--host", HOST, "--disable-uvicorn-access-log"]
    return Hosting(
        environment=served.environment,
        arguments=tuple(words),
        start_minutes=served.start_minutes,
        program=str(located(served.program)) if served.program else None,
    )


def command(python: Path, serving: Serving, hosting: Hosting, *, weights: Path, name: str, port: int) -> Sequence[str]:
    """The words that start a server of these weights under this name."""
    return [
        str(python), *(PROGRAM_SERVER if hosting.program else VLLM), "--model", str(weights.resolve()),
        "--served-model-name", name, "--port", str(port), *serving.arguments, *hosting.arguments,
    ]  # fmt: skip


def check_program(file: str, scores: str | None) -> str:
    """The digest of a model's program, which defines what it is asked for as far as its text says."""
    path = located(file)
    if not path.is_file():
        there = [str(one) for one in path.parent.glob("*.py")]
        raise UserError(f"served_by.program: no file '{file}'.{suggestion(file, there)} Write it, or correct the path.")
    try:
        defined = {one.name for one in ast.parse(path.read_bytes()).body if isinstance(one, ast.FunctionDef)}
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{file}: no Python: {error}. Correct it.") from None
    missing = [FUNCTIONS[name] for name in DEFINED[scores] if name not in defined]
    if missing:
        cure = " If the model gives no probabilities, write `scores: null` into `settings` of its file."
        raise UserError(
            f"{file}: it does not define {', '.join(missing)}. A program has these functions at its top level."
            f"{cure if missing == [FUNCTIONS[SCORES]] else ''}"
        )
    return file_digest(path)


def environment(serving: Serving, key: str) -> Mapping[str, str]:
    """The environment of a server: this one's without its secrets and paths of Python, and the server's own key."""
    passed = {name: value for name, value in os.environ.items() if not SECRET_NAMES.search(name)}
    return (
        {name: value for name, value in passed.items() if name not in NOT_PASSED}
        | OFFLINE
        | serving.variables
        | {KEYS[serving.engine]: key}
    )
