"""`served_by:` of a model's file, what of it stands in a run's key, and what an engine is told by it: the words of its
command line and its environment variables. Imports no engine."""

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

# What other settings, or the job, say to the engine; none of them may come by `arguments`.
OWN_ARGUMENTS = frozenset({
    "--model", "--tokenizer", "--revision", "--served-model-name", "--host", "--port", "--uds", "--api-key", "--config",
    "--dtype", "--quantization", "--max-model-len", "--tensor-parallel-size", "--gpu-memory-utilization",
    "--limit-mm-per-prompt", "--trust-remote-code", "--trust-request-mm-kwargs", "--seed", "--generation-config",
    "--allowed-local-media-path", "--ssl-keyfile", "--ssl-certfile", "--root-path", "--middleware", "--download-dir",
})  # fmt: skip
VARIABLE = re.compile(r"VLLM_[A-Z0-9_]+")
OWN_VARIABLES = frozenset({"VLLM_API_KEY", "VLLM_HOST_IP", "VLLM_PORT"})


# Engines that are enough said by their name.
NEEDS_NO_MORE = ("vllm",)
# Settings of one engine.
OF_VLLM = ("tensor_parallel", "max_model_len", "quantised", "max_frames", "gpu_memory", "arguments", "variables")
OF_PROGRAM = ("program", "files", "answer_minutes")


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
    def _by_name(cls, content: Any) -> Any:
        return {"engine": content} if isinstance(content, str) else content

    @model_validator(mode="after")
    def _settings_of_its_engine(self) -> Self:
        missing = [name for name in ("program", "environment") if name not in self.model_fields_set]
        if self.engine == "program" and missing:
            raise mistake(f"a program needs {' and '.join(missing)} here.")
        needless = sorted(self.model_fields_set & set(OF_VLLM if self.engine == "program" else OF_PROGRAM))
        if needless:
            raise mistake(f"{', '.join(needless)}: engine '{self.engine}' has no such setting. Remove it.")
        return self

    @field_validator("program")
    @classmethod
    def _inside(cls, program: str | None) -> str | None:
        path = PurePosixPath(program or "program.py")
        if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
            raise mistake(f"program: '{program}' should be a file <name>.py inside this project.")
        return program

    @field_validator("arguments")
    @classmethod
    def _further_arguments(cls, words: list[str]) -> list[str]:
        for word in words:
            name = word.partition("=")[0].replace("_", "-")
            if word.startswith("-") and not word.startswith("--") and not word[1:2].isdigit():
                raise mistake(f"'{word}': write arguments with their long names, such as --max-num-seqs.")
            if name.startswith("--") and any(own.startswith(name) for own in OWN_ARGUMENTS):
                raise mistake(f"'{word}': not here; other settings, or the job that starts the server, say so.")
        if words and not words[0].startswith("--"):
            raise mistake(f"'{words[0]}' belongs to no argument. Begin with one, such as --seed.")
        return words

    @field_validator("variables")
    @classmethod
    def _further_variables(cls, variables: dict[str, str]) -> dict[str, str]:
        for name in variables:
            if not VARIABLE.fullmatch(name) or name in OWN_VARIABLES:
                raise mistake(f"'{name}': only variables named VLLM_... are here, and none of {sorted(OWN_VARIABLES)}.")
        return variables


class Serving(KeyPart):
    """What of a server shapes its model's answers; stands in the run's key."""

    engine: str
    environment: str
    """digest of its packages and repositories"""
    arguments: tuple[str, ...]
    variables: dict[str, str]
    program: str = Field("", exclude_if=not_)
    """digest of the model's program"""


class Hosting(KeyPart):
    """What the job that starts the server needs besides."""

    environment: str
    """its name"""
    arguments: tuple[str, ...]
    start_minutes: float
    program: str | None = Field(None, exclude_if=not_)
    """its file"""


# --- what an engine is told -------------------------------------------------------------------------------------------

VLLM = ("-m", "vllm.entrypoints.openai.api_server")
# Serves a program; `-I`: nothing but the environment is on its path, `-u`: what it prints is in the log at once.
PROGRAM_SERVER = ("-Iu", str(Path(__file__).with_name("program_server.py")))
HOST = "127.0.0.1"
# Of this process's environment: what would lead the engine's Python to packages of another one.
NOT_PASSED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
# Weights lie in the store, nothing is told to anybody, and threads that wait leave the processor to others.
TOLD = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
}
# What engines keep for their next start (compiled kernels, code of repositories), by the variables that say where.
CACHES = {
    "HOME": "home",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "HF_HOME": "huggingface",
    "VLLM_CACHE_ROOT": "vllm",
    "VLLM_CONFIG_ROOT": "config/vllm",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
}
KEYS = {"vllm": "VLLM_API_KEY", "program": "REPRISE_PROGRAM_API_KEY"}

FUNCTIONS = {
    "load": "`load(folder, device)`",
    "answer": "`answer(frames, times, prompt, max_tokens)`",
    "scores": "`scores(frames, times, prompt, options)`",
    "similarity": "`similarity(frames, times, caption)`",
}
# What a program defines, by `settings.scores` of its model.
DEFINED = {
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
    """Return what of a server shapes answers; `pins` is the digest of its environment."""
    if served.program is not None:
        digest = check_program(served.program, scores)
        return Serving(engine=served.engine, environment=pins, arguments=(), variables={}, program=digest)
    limits = {"image": 0, "video": 1} if is_video else {"image": served.max_frames, "video": 0}
    words = [
        *("--dtype", "auto" if dtype == "checkpoint" else dtype),
        *(("--max-model-len", str(served.max_model_len)) if served.max_model_len else ()),
        *(("--quantization", served.quantised) if served.quantised else ()),
        *("--limit-mm-per-prompt", json.dumps(limits, separators=(",", ":"))),
        *(["--trust-request-mm-kwargs"] if is_video else ()),
        *(["--trust-remote-code"] if trust_remote_code else ()),
        *("--seed", "0", "--generation-config", "auto", "--enable-prompt-tokens-details", *served.arguments),
    ]
    return Serving(engine=served.engine, environment=pins, arguments=tuple(words), variables=served.variables)


def hosting_of(served: ServedBy, gpus: int) -> Hosting:
    """Return what of a server shapes no answer, such as the devices that it computes on."""
    if served.program is not None:
        words = ["--device", "cuda" if gpus else "cpu"]
        words += ["--program", str(located(served.program)), "--answer-seconds", f"{60 * served.answer_minutes:g}"]
    else:
        words = ["--tensor-parallel-size", str(served.tensor_parallel or max(1, gpus))]
        words += ["--gpu-memory-utilization", f"{served.gpu_memory:g}"] if served.gpu_memory else []
        # As much as fits: many checkpoints read more than a card holds, and no run here needs as much.
        words += ["--max-model-len", "auto"] if served.max_model_len is None else []
        words += ["--host", HOST, "--disable-uvicorn-access-log"]
    return Hosting(
        environment=served.environment,
        arguments=tuple(words),
        start_minutes=served.start_minutes,
        program=str(located(served.program)) if served.program else None,
    )


def check_program(file: str, scores: str | None) -> str:
    """The digest of a model's program, which defines what it is asked for as far as its text says."""
    path = located(file)
    if not path.is_file():
        there = [str(one) for one in path.parent.glob("*.py")]
        raise UserError(f"served_by.program: no file '{file}'.{suggestion(file, there)} Write it, or correct the path.")
    try:
        defined = {one.name: one.args for one in ast.parse(path.read_bytes()).body if isinstance(one, ast.FunctionDef)}
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{file}: no Python: {error}. Correct it.") from None
    wanted = {name: FUNCTIONS[name] for name in DEFINED[scores]}
    missing = [
        call for name, call in wanted.items() if name not in defined or not _takes(defined[name], call.count(",") + 1)
    ]
    if missing:
        raise UserError(
            f"{file}: it does not define {', '.join(missing)}. A program has these functions at its top level; without "
            "`scores`, write `scores: null` into `settings` of the model's file."
        )
    return file_digest(path)


def _takes(arguments: ast.arguments, count: int) -> bool:
    """Whether a function with these can be called with so many."""
    places = len(arguments.posonlyargs) + len(arguments.args)
    least = places - len(arguments.defaults)
    return least <= count and (count <= places or arguments.vararg is not None) and None not in arguments.kw_defaults


def environment(serving: Serving, key: str, caches: Path) -> Mapping[str, str]:
    """The environment of a server: this one's without its secrets and paths of Python, and the server's own key.

    vLLM and its libraries keep in `caches` what they would keep in the home directory.
    """
    kept = {name: str(caches / folder) for name, folder in CACHES.items()} if serving.engine == "vllm" else {}
    return (
        {name: value for name, value in os.environ.items() if name not in NOT_PASSED and not SECRET_NAMES.search(name)}
        | TOLD
        | kept
        | serving.variables
        | {KEYS[serving.engine]: key}
    )
