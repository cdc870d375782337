"""`served_by:` of a model's file, its part of a run's key, and the command line and environment of the engine.

Imports no engine.
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

from reprise.core.errors import UserError, suggestion
from reprise.core.files import file_digest
from reprise.core.names import NAME
from reprise.core.paths import located
from reprise.core.plain import SECRET_NAMES
from reprise.core.settings import KeyPart, Settings, mistake

# Other settings or the job determine these arguments of the engine, so `arguments` must not contain them.
RESERVED_ARGUMENTS = frozenset({
    "--model", "--tokenizer", "--revision", "--served-model-name", "--host", "--port", "--uds", "--api-key", "--config",
    "--dtype", "--quantization", "--max-model-len", "--tensor-parallel-size", "--gpu-memory-utilization",
    "--limit-mm-per-prompt", "--trust-remote-code", "--trust-request-mm-kwargs", "--seed", "--generation-config",
    "--allowed-local-media-path", "--ssl-keyfile", "--ssl-certfile", "--root-path", "--middleware", "--download-dir",
})  # fmt: skip
VARIABLE_NAME = re.compile(r"VLLM_[A-Z0-9_]+")
RESERVED_VARIABLES = frozenset({"VLLM_API_KEY", "VLLM_HOST_IP", "VLLM_PORT"})


# Engines that need no further settings, so that their name may replace the whole group.
NEEDS_NO_MORE = ("vllm",)
# Settings that exist for one engine only.
VLLM_SETTINGS = ("tensor_parallel", "max_model_len", "quantised", "max_frames", "gpu_memory", "arguments", "variables")
PROGRAM_SETTINGS = ("program", "files", "answer_minutes")


class ServedBy(Settings):
    """`served_by:` of a model's file: the server that a run's own job starts for its model, and ends."""

    engine: Literal["vllm", "program"]
    """What serves it: `vllm`, or `program`, a file of Python that loads the model and answers."""
    program: str | None = None
    """That file, such as `resources/programs/llava_video.py`, which defines `load(folder, device)`, `answer(frames,
    times, prompt, max_tokens)` and, where the model can, `scores(frames, times, prompt, options)`; or, with
    `settings: {scores: similarity}`, `load` and `similarity(frames, times, caption)`."""
    files: list[str] = Field([])
    """Further files of the model's repository that a program reads, such as `[pytorch_model.bin]` where its weights are
    pickles. It must read those with `torch.load(..., weights_only=True)`, which runs no code of theirs."""
    environment: str = Field("serve", pattern=NAME)
    """Where it is installed: `envs/<environment>.txt` pins all packages. The workflow makes it once, in the store. A
    program names one."""
    answer_minutes: float = Field(10, gt=0)
    """Minutes after which a program that does not answer a question is given up, and its job with it."""
    tensor_parallel: int | None = Field(None, ge=1)
    """Number of GPUs that the model is spread over; by default all `gpus` of the model."""
    max_model_len: int | None = Field(None, ge=1)
    """Most tokens of prompt and answer; by default as many as the memory that is left beside the weights holds, and at
    most what the checkpoint says. A question that is longer fails, `beyond_context`."""
    quantised: Literal["awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "mxfp4"] | None = None
    """How the weights are quantised, where they are; tables say so."""
    max_frames: int = Field(128, ge=1)
    """Most frames that a question shows as images. A run that shows more is refused before anything is asked."""
    gpu_memory: float | None = Field(None, gt=0, le=1)
    """Share of each GPU's memory that the engine takes; by default its own."""
    arguments: list[str] = Field([])
    """Further words of the engine's command line, such as `[--enforce-eager, --max-num-seqs, "16"]`. No shell reads
    them."""
    variables: dict[str, str] = Field({})
    """Further environment variables of the engine, all named `VLLM_...`."""
    start_minutes: float = Field(30, gt=0)
    """Minutes after which a server that does not answer yet is given up."""

    @model_validator(mode="before")
    @classmethod
    def _expand_name(cls, content: Any) -> Any:
        return {"engine": content} if isinstance(content, str) else content

    @model_validator(mode="after")
    def _check_engine_settings(self) -> Self:
        missing = [name for name in ("program", "environment") if name not in self.model_fields_set]
        if self.engine == "program" and missing:
            raise mistake(f"a program needs {' and '.join(missing)} here.")
        extra = sorted(self.model_fields_set & set(VLLM_SETTINGS if self.engine == "program" else PROGRAM_SETTINGS))
        if extra:
            raise mistake(f"{', '.join(extra)}: engine '{self.engine}' has no such setting. Remove it.")
        return self

    @field_validator("program")
    @classmethod
    def _check_program_path(cls, program: str | None) -> str | None:
        path = PurePosixPath(program or "program.py")
        if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
            raise mistake(f"program: '{program}' should be a file <name>.py inside this project.")
        return program

    @field_validator("arguments")
    @classmethod
    def _check_arguments(cls, arguments: list[str]) -> list[str]:
        for argument in arguments:
            name = argument.partition("=")[0].replace("_", "-")
            if argument.startswith("-") and not argument.startswith("--") and not argument[1:2].isdigit():
                raise mistake(f"'{argument}': write arguments with their long names, such as --max-num-seqs.")
            if name.startswith("--") and any(reserved.startswith(name) for reserved in RESERVED_ARGUMENTS):
                raise mistake(f"'{argument}': not here; other settings, or the job that starts the server, say so.")
        if arguments and not arguments[0].startswith("--"):
            raise mistake(f"'{arguments[0]}' belongs to no argument. Begin with one, such as --seed.")
        return arguments

    @field_validator("variables")
    @classmethod
    def _check_variables(cls, variables: dict[str, str]) -> dict[str, str]:
        for name in variables:
            if not VARIABLE_NAME.fullmatch(name) or name in RESERVED_VARIABLES:
                raise mistake(
                    f"'{name}': only variables named VLLM_... are here, and none of {sorted(RESERVED_VARIABLES)}."
                )
        return variables


class Serving(KeyPart):
    """The settings of a server that affect its model's answers, as part of the run's key."""

    engine: str
    environment: str
    """digest of its packages and repositories"""
    arguments: tuple[str, ...]
    variables: dict[str, str]
    program: str = Field("", exclude_if=not_)
    """digest of the model's program"""


class Hosting(KeyPart):
    """The other settings that the job needs to start the server."""

    environment: str
    """its name"""
    arguments: tuple[str, ...]
    start_minutes: float
    program: str | None = Field(None, exclude_if=not_)
    """its file"""


# --- command line and environment of an engine ------------------------------------------------------------------------

VLLM_COMMAND = ("-m", "vllm.entrypoints.openai.api_server")
# `-I` keeps everything but the environment off `sys.path`; `-u` writes output to the log at once.
PROGRAM_COMMAND = ("-Iu", str(Path(__file__).with_name("program_server.py")))
HOST = "127.0.0.1"
# These variables would make the engine's Python import packages of another environment.
REMOVED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
# Weights are in the store, usage statistics stay off, and waiting threads must not occupy the CPU.
FIXED_VARIABLES = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
}
# Folders for what engines keep for their next start, such as compiled kernels, by the variables that set their paths.
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
KEY_VARIABLES = {"vllm": "VLLM_API_KEY", "program": "REPRISE_PROGRAM_API_KEY"}

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


def serving_of(
    served: ServedBy,
    pins: str,
    *,
    dtype: str,
    trust_remote_code: bool,
    is_video: bool,
    scores: str | None = None,
) -> Serving:
    """Return the settings of a server that affect answers; `pins` is the digest of its environment."""
    if served.program is not None:
        digest = check_program(served.program, scores)
        return Serving(engine=served.engine, environment=pins, arguments=(), variables={}, program=digest)
    limits = {"image": 0, "video": 1} if is_video else {"image": served.max_frames, "video": 0}
    arguments = [
        *("--dtype", "auto" if dtype == "checkpoint" else dtype),
        *(("--max-model-len", str(served.max_model_len)) if served.max_model_len else ()),
        *(("--quantization", served.quantised) if served.quantised else ()),
        *("--limit-mm-per-prompt", json.dumps(limits, separators=(",", ":"))),
        *(["--trust-request-mm-kwargs"] if is_video else ()),
        *(["--trust-remote-code"] if trust_remote_code else ()),
        *("--seed", "0", "--generation-config", "auto", "--enable-prompt-tokens-details", *served.arguments),
    ]
    return Serving(engine=served.engine, environment=pins, arguments=tuple(arguments), variables=served.variables)


def hosting_of(served: ServedBy, gpus: int) -> Hosting:
    """Return the settings of a server that affect no answer, such as the number of its GPUs."""
    if served.program is not None:
        arguments = ["--device", "cuda" if gpus else "cpu"]
        arguments += ["--program", str(located(served.program)), "--answer-seconds", f"{60 * served.answer_minutes:g}"]
    else:
        arguments = ["--tensor-parallel-size", str(served.tensor_parallel or max(1, gpus))]
        arguments += ["--gpu-memory-utilization", f"{served.gpu_memory:g}"] if served.gpu_memory else []
        # `auto` fits the context to the memory; many checkpoints allow more than a GPU holds, which no run needs.
        arguments += ["--max-model-len", "auto"] if served.max_model_len is None else []
        arguments += ["--host", HOST, "--disable-uvicorn-access-log"]
    return Hosting(
        environment=served.environment,
        arguments=tuple(arguments),
        start_minutes=served.start_minutes,
        program=str(located(served.program)) if served.program else None,
    )


def check_program(file: str, scores: str | None) -> str:
    """Return the digest of a model runner; raise a UserError if its source lacks a required function."""
    path = located(file)
    if not path.is_file():
        candidates = [str(candidate) for candidate in path.parent.glob("*.py")]
        raise UserError(
            f"served_by.program: no file '{file}'.{suggestion(file, candidates)} Write it, or correct the path."
        )
    try:
        defined = {
            node.name: node.args for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.FunctionDef)
        }
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{file}: no Python: {error}. Correct it.") from None
    signatures = {name: SIGNATURES[name] for name in REQUIRED_FUNCTIONS[scores]}
    missing = [
        signature
        for name, signature in signatures.items()
        if name not in defined or not _accepts(defined[name], signature.count(",") + 1)
    ]
    if missing:
        raise UserError(
            f"{file}: it does not define {', '.join(missing)}. A program has these functions at its top level; without "
            "`scores`, write `scores: null` into `settings` of the model's file."
        )
    return file_digest(path)


def _accepts(arguments: ast.arguments, count: int) -> bool:
    """Return whether a function with these parameters accepts so many positional arguments."""
    total = len(arguments.posonlyargs) + len(arguments.args)
    required = total - len(arguments.defaults)
    return required <= count and (count <= total or arguments.vararg is not None) and None not in arguments.kw_defaults


def environment(serving: Serving, key: str, caches: Path) -> Mapping[str, str]:
    """Return the environment of a server: this one's without secrets and Python paths, plus the server's key.

    vLLM and its libraries keep their caches in `caches` instead of the home directory.
    """
    cache_variables = (
        {name: str(caches / folder) for name, folder in CACHE_FOLDERS.items()} if serving.engine == "vllm" else {}
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
        | {KEY_VARIABLES[serving.engine]: key}
    )
