"""Define `served_by:` of a model's file and build the engine's command line, environment and part of a run's key.

This module imports no engine.
"""

import ast
import json
import os
import re
from collections.abc import Mapping
from operator import not_
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from reprise.core.errors import UserError, suggest_name
from reprise.core.files import file_digest
from reprise.core.names import NAME
from reprise.core.paths import locate
from reprise.core.plain import SECRET_NAMES
from reprise.core.settings import KeyPart, Settings, setting_error

# Other settings or the job determine these arguments of the engine, so `arguments` must not contain them.
RESERVED_ARGUMENTS = frozenset({
    "--model", "--tokenizer", "--revision", "--served-model-name", "--host", "--port", "--uds", "--api-key", "--config",
    "--dtype", "--quantization", "--max-model-len", "--tensor-parallel-size", "--gpu-memory-utilization",
    "--limit-mm-per-prompt", "--trust-remote-code", "--trust-request-mm-kwargs", "--seed", "--generation-config",
    "--allowed-local-media-path", "--ssl-keyfile", "--ssl-certfile", "--root-path", "--middleware", "--download-dir",
})  # fmt: skip
# Environment variables that a model's file may set.
VARIABLE_NAME = re.compile(r"VLLM_[A-Z0-9_]+")
RESERVED_VARIABLES = frozenset({"VLLM_API_KEY", "VLLM_HOST_IP", "VLLM_PORT"})
# Engines without required settings: `served_by:` may be just their name.
NAME_ONLY_ENGINES = ("vllm",)
# Settings that only one engine supports.
VLLM_SETTINGS = ("tensor_parallel", "max_model_len", "quantised", "max_frames", "gpu_memory", "arguments", "variables")
RUNNER_SETTINGS = ("runner", "runner_files", "answer_minutes")


class ServerSettings(Settings):
    """`served_by:` of a model's file: a server that the first job of this model starts. Later jobs use it too."""

    engine: Literal["vllm", "runner"]
    """Serving engine: `vllm`, or `runner` for a model runner."""
    runner: str | None = None
    """File of the model runner, such as `resources/runners/llava_video.py` (docs/howto/servers.md)."""
    runner_files: list[str] = Field([])
    """Further files of the model's repository that the model runner reads, such as `[pytorch_model.bin]` for pickled
    weights, which it must load with `weights_only=True`."""
    environment: str = Field("serve", pattern=NAME)
    """Environment of the server, whose packages `envs/<environment>.txt` pins. Required for a model runner."""
    answer_minutes: float = Field(10, gt=0)
    """Maximum number of minutes that a model runner may take for one request. After it, the job fails."""
    tensor_parallel: int | None = Field(None, ge=1)
    """Number of GPUs over which the model is divided; by default all of `gpus`."""
    max_model_len: int | None = Field(None, ge=1)
    """Maximum tokens of prompt and answer; by default as many as fit in memory. A longer request fails as
    `beyond_context`."""
    quantised: Literal["awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "mxfp4"] | None = None
    """Quantisation of the weights, if any, which tables report."""
    max_frames: int = Field(128, ge=1)
    """Maximum frames that a request sends as images. A run with more is rejected."""
    gpu_memory: float | None = Field(None, gt=0, le=1)
    """Share of each GPU's memory that the engine uses; by default the engine decides."""
    arguments: list[str] = Field([])
    """Further command-line arguments of the engine, such as `[--enforce-eager, --max-num-seqs, "16"]`."""
    variables: dict[str, str] = Field({})
    """Further environment variables of the engine, all named `VLLM_...`."""
    start_minutes: float = Field(30, gt=0)
    """Maximum number of minutes until the server is ready. After it, the job fails."""

    @model_validator(mode="before")
    @classmethod
    def _expand_name(cls, content: Any) -> Any:
        return {"engine": content} if isinstance(content, str) else content

    @model_validator(mode="after")
    def _check_engine_settings(self) -> Self:
        missing = [name for name in ("runner", "environment") if name not in self.model_fields_set]
        if self.engine == "runner" and missing:
            raise setting_error(f"engine 'runner' requires {' and '.join(missing)}.")
        unsupported_settings = sorted(
            self.model_fields_set & set(VLLM_SETTINGS if self.engine == "runner" else RUNNER_SETTINGS)
        )
        if unsupported_settings:
            raise setting_error(
                f"{', '.join(unsupported_settings)}: engine '{self.engine}' has no such setting. Remove it."
            )
        return self

    @field_validator("runner")
    @classmethod
    def _check_runner_path(cls, runner: str | None) -> str | None:
        path = PurePosixPath(runner or "runner.py")
        if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
            raise setting_error(f"runner: '{runner}' should be a file <name>.py inside this project.")
        return runner

    @field_validator("arguments")
    @classmethod
    def _check_arguments(cls, arguments: list[str]) -> list[str]:
        for argument in arguments:
            name = argument.partition("=")[0].replace("_", "-")
            if argument.startswith("-") and not argument.startswith("--") and not argument[1:2].isdigit():
                raise setting_error(f"'{argument}': write arguments with their long names, such as --max-num-seqs.")
            if name.startswith("--") and any(reserved.startswith(name) for reserved in RESERVED_ARGUMENTS):
                raise setting_error(
                    f"'{argument}': set by other settings or by the job that starts the server. Remove it here."
                )
        if arguments and not arguments[0].startswith("--"):
            raise setting_error(f"'{arguments[0]}' is not the name of an argument. Begin with one, such as --seed.")
        return arguments

    @field_validator("variables")
    @classmethod
    def _check_variables(cls, variables: dict[str, str]) -> dict[str, str]:
        for name in variables:
            if not VARIABLE_NAME.fullmatch(name) or name in RESERVED_VARIABLES:
                raise setting_error(
                    f"'{name}': only variables named VLLM_... are allowed, except {sorted(RESERVED_VARIABLES)}."
                )
        return variables


class ServingKey(KeyPart):
    """The settings of a server that affect its model's answers, as part of the run's key."""

    engine: str
    environment: str
    """digest of the environment's packages and repositories"""
    arguments: tuple[str, ...]
    variables: dict[str, str]
    runner: str = Field("", exclude_if=not_)
    """digest of the model runner"""


class LaunchSettings(KeyPart):
    """The settings of a server that do not affect answers, which the job needs to start the server."""

    environment: str
    """name of the server's environment"""
    arguments: tuple[str, ...]
    start_minutes: float
    runner: str | None = Field(None, exclude_if=not_)
    """path of the model runner"""


# --- command line and environment of an engine ------------------------------------------------------------------------

VLLM_COMMAND = ("-m", "vllm.entrypoints.openai.api_server")
# `-I` keeps all folders except those of the environment off `sys.path`; `-u` writes output to the log at once.
RUNNER_COMMAND = ("-Iu", str(Path(__file__).with_name("runner_server.py")))
HOST = "127.0.0.1"
# These variables would make the engine's Python import packages of another environment.
REMOVED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
# Threads must not occupy the CPU while they wait, weights come from the store, and usage statistics are off.
FIXED_VARIABLES = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
}
# Environment variable -> cache folder whose path it sets, for example for compiled kernels.
CACHE_FOLDERS = {
    "HOME": "home",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "HF_HOME": "huggingface",
    "VLLM_CACHE_ROOT": "vllm",
    "VLLM_CONFIG_ROOT": "config/vllm",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
}
# Engine -> environment variable from which it reads the key that requests must have.
API_KEY_VARIABLES = {"vllm": "VLLM_API_KEY", "runner": "REPRISE_RUNNER_API_KEY"}

# Function of a model runner -> its signature, for messages.
SIGNATURES = {
    "load": "`load(folder, device)`",
    "answer": "`answer(frames, times, prompt, max_tokens)`",
    "scores": "`scores(frames, times, prompt, options)`",
    "similarity": "`similarity(frames, times, caption)`",
}
# The functions that a model runner must define, by the value of `settings.scores`.
REQUIRED_FUNCTIONS = {
    None: ("load", "answer"),
    "logprob_token_ids": ("load", "answer", "scores"),
    "similarity": ("load", "similarity"),
}


def build_serving_key(
    server: ServerSettings,
    pins_digest: str,
    *,
    dtype: str,
    trust_remote_code: bool,
    is_video: bool,
    scores: str | None = None,
) -> ServingKey:
    """Return the settings of a server that affect answers."""
    if server.runner is not None:
        digest = check_runner(server.runner, scores)
        return ServingKey(engine=server.engine, environment=pins_digest, arguments=(), variables={}, runner=digest)
    limits = {"image": 0, "video": 1} if is_video else {"image": server.max_frames, "video": 0}
    arguments = [
        *("--dtype", "auto" if dtype == "checkpoint" else dtype),
        *(("--max-model-len", str(server.max_model_len)) if server.max_model_len else ()),
        *(("--quantization", server.quantised) if server.quantised else ()),
        *("--limit-mm-per-prompt", json.dumps(limits, separators=(",", ":"))),
        *(["--trust-request-mm-kwargs"] if is_video else ()),
        *(["--trust-remote-code"] if trust_remote_code else ()),
        *("--seed", "0", "--generation-config", "auto", "--enable-prompt-tokens-details", *server.arguments),
    ]
    return ServingKey(
        engine=server.engine, environment=pins_digest, arguments=tuple(arguments), variables=server.variables
    )


def build_launch_settings(server: ServerSettings, gpus: int) -> LaunchSettings:
    """Return the settings of a server that do not affect answers, such as its number of GPUs."""
    if server.runner is not None:
        arguments = ["--device", "cuda" if gpus else "cpu"]
        arguments += ["--runner", str(locate(server.runner)), "--answer-seconds", f"{60 * server.answer_minutes:g}"]
    else:
        arguments = ["--tensor-parallel-size", str(server.tensor_parallel or max(1, gpus))]
        arguments += ["--gpu-memory-utilization", f"{server.gpu_memory:g}"] if server.gpu_memory else []
        # `auto` fits the context to the memory. Many checkpoints allow more than a GPU holds or a run needs.
        arguments += ["--max-model-len", "auto"] if server.max_model_len is None else []
        arguments += ["--host", HOST, "--disable-uvicorn-access-log"]
    return LaunchSettings(
        environment=server.environment,
        arguments=tuple(arguments),
        start_minutes=server.start_minutes,
        runner=str(locate(server.runner)) if server.runner else None,
    )


def check_runner(runner: str, scores: str | None) -> str:
    """Return the digest of a model runner; raise a UserError if its source lacks a required function."""
    path = locate(runner)
    if not path.is_file():
        candidates = [str(candidate) for candidate in path.parent.glob("*.py")]
        raise UserError(
            f"served_by.runner: no file '{runner}'.{suggest_name(runner, candidates)} Create it, or correct the path."
        )
    try:
        parameters_by_function = {
            node.name: node.args for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.FunctionDef)
        }
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{runner}: not valid Python: {error}. Correct it.") from None
    signatures = {name: SIGNATURES[name] for name in REQUIRED_FUNCTIONS[scores]}
    argument_counts = {name: signature.count(",") + 1 for name, signature in signatures.items()}
    missing = [
        signature
        for name, signature in signatures.items()
        if name not in parameters_by_function or not _accepts(parameters_by_function[name], argument_counts[name])
    ]
    if missing:
        raise UserError(
            f"{runner}: does not define {', '.join(missing)}. Define these functions at the top level of the model "
            "runner; if it has no `scores`, set `scores: null` in `settings` of the model's file."
        )
    return file_digest(path)


def _accepts(parameters: ast.arguments, argument_count: int) -> bool:
    """Return whether a function with these parameters accepts this number of positional arguments."""
    total = len(parameters.posonlyargs) + len(parameters.args)
    required = total - len(parameters.defaults)
    return (
        required <= argument_count
        and (argument_count <= total or parameters.vararg is not None)
        and None not in parameters.kw_defaults  # no keyword-only parameter is required
    )


def build_environment(serving: ServingKey, api_key: str, cache_folder: Path) -> Mapping[str, str]:
    """Return the environment variables of a server: those of this process without secrets, plus the server's key.

    The variables make vLLM and its libraries store their caches in `cache_folder` instead of the home directory.
    """
    cache_variables = (
        {name: str(cache_folder / folder) for name, folder in CACHE_FOLDERS.items()} if serving.engine == "vllm" else {}
    )
    return (
        {
            name: value
            for name, value in os.environ.items()
            if name not in REMOVED_VARIABLES and not SECRET_NAMES.search(name)
        }
        | FIXED_VARIABLES
        | cache_variables
        | serving.variables
        | {API_KEY_VARIABLES[serving.engine]: api_key}
    )
