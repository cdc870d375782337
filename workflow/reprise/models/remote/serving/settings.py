"""`served_by:` of a model's file, and what of it stands in a run's key. Imports no engine."""

import re
from operator import not_
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from reprise.core.names import NAME
from reprise.core.settings import Settings, mistake

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
    """Most tokens of prompt and answer; by default what the checkpoint says, which may need much memory."""
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
        if self.engine == "program":
            missing = [name for name in ("program", "environment") if name not in self.model_fields_set]
            if missing:
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
        return words

    @field_validator("variables")
    @classmethod
    def _further_variables(cls, variables: dict[str, str]) -> dict[str, str]:
        for name in variables:
            if not VARIABLE.fullmatch(name) or name in OWN_VARIABLES:
                raise mistake(f"'{name}': only variables named VLLM_... are here, and none of {sorted(OWN_VARIABLES)}.")
        return variables

    @model_validator(mode="after")
    def _first_argument(self) -> Self:
        if self.arguments and not self.arguments[0].startswith("--"):
            raise mistake(f"arguments: '{self.arguments[0]}' belongs to no argument. Begin with one, such as --seed.")
        return self


class Serving(Settings):
    """What of a server shapes its model's answers; stands in the run's key."""

    engine: str
    environment: str
    """digest of the file that pins its packages"""
    arguments: tuple[str, ...]
    variables: dict[str, str]
    program: str = Field("", exclude_if=not_)
    """digest of the model's program"""


class Hosting(Settings):
    """What the job that starts the server needs besides."""

    environment: str
    """its name"""
    arguments: tuple[str, ...]
    start_minutes: float
    program: str | None = Field(None, exclude_if=not_)
    """its file"""
