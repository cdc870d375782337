"""Evaluate models from Python: checkpoints, servers, and functions of the calling program (docs/howto/training.md)."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from reprise.commands.api_process import run_command_line
from reprise.commands.api_server import FunctionServer
from reprise.commands.shared import require_working_directory
from reprise.core.errors import UserError
from reprise.core.files import require_free_space, require_write_permission
from reprise.core.paths import Run
from reprise.tables.builder import DEFAULT_EXTRACTION

AnswerFunction: TypeAlias = Callable[[Any, Any, str], str]
"""Frames, their times and a prompt -> a text; see docs/howto/training.md."""
ScoresFunction: TypeAlias = Callable[[Any, Any, str, list[str]], Sequence[float]]
"""Frames, their times, a prompt and options -> the probability of each option as the answer's first token."""

# Columns of the data frame that `evaluate` returns.
NUMBERS = pl.Schema(
    {
        "model": pl.String,
        "benchmark": pl.String,
        "protocol": pl.String,
        "sampling": pl.String,
        "column": pl.String,
        "metric": pl.String,
        "group": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "chance": pl.Float64,
        "p_chance": pl.Float64,
        "requested": pl.Int32,
        "scored": pl.Int32,
        "failed": pl.Int32,
        "unparsed": pl.Int32,
        "missing": pl.Int32,
        "judge": pl.String,
        "run": pl.String,
        "key": pl.String,
        "suite": pl.String,
    }
)


def evaluate(
    model: str | Path | AnswerFunction | Sequence[str | Path],
    benchmarks: str | Sequence[str] | None = None,
    *,
    limit: int | None = None,
    suite: str | None = None,
    frames: str | int | None = None,
    name: str | None = None,
    gpus: int | None = None,
    engine: str | None = None,
    cores: int | None = None,
    check: bool = True,
    scores: ScoresFunction | None = None,
    version: str | None = None,
    folder: str | Path = ".",
) -> pl.DataFrame:
    """Evaluate a model and return its numbers of the overview, one per row; `reprise eval` does the same.

    Args:
        model: A folder of weights, a repository of the hub, the address of a server, the name of a model file, a list
            of these, or a function `answer(frames, times, prompt)`, which this thread calls.
        benchmarks: Names of benchmarks; by default all of the overview.
        limit: Number of videos or pairs of each benchmark.
        suite: Suite to use instead of the configured one (`--config suite=<name>`).
        frames: Number of frames, or a sampling; by default that of the benchmark.
        name: Name of the model's file; required for a function. In a list, it precedes the name of each folder.
        gpus: Number of GPUs of the model.
        engine: `transformers` or `vllm`.
        cores: Number of CPU cores to use; by default all.
        check: Whether to check first with a few requests if the model uses the video. A function is never checked.
        scores: Function `scores(frames, times, prompt, options)` of a model that is a function.
        version: Version of a function's weights. Calls with the same name and version share answers; by default, each
            call requests all answers.
        folder: Working folder with the configuration and the results.

    Raises:
        UserError: The evaluation fails. Its configuration is restored where `reprise eval` restores it; for a function
            always, because nothing else can answer in its place.
    """
    options: dict[str, Any] = {
        "benchmarks": benchmarks if benchmarks is None or isinstance(benchmarks, str) else ",".join(benchmarks),
        "limit": limit, "frames": frames, "gpus": gpus, "engine": engine, "cores": cores,
        "config": suite and f"suite={suite}",
    }  # fmt: skip
    working_folder = Path(folder).resolve()
    require_working_directory(working_folder)
    require_write_permission(working_folder)
    require_free_space(working_folder)
    if callable(model):
        server = FunctionServer(model, scores, name, version, working_folder)
        return _evaluate(server.name, options, False, working_folder, server)
    if scores is not None or version is not None:
        raise UserError("evaluate: `scores` and `version` belong to a function. Leave them out.")
    if isinstance(model, str | Path):
        return _evaluate(_locate(model, working_folder), options | {"name": name}, check, working_folder)
    if not isinstance(model, Sequence) or not model:
        raise UserError(
            f"evaluate: {model!r} is no model. Allowed: a folder, a repository of the hub, the address of a server, "
            "the name of a model file, a list of these, or a function."
        )
    names = [f"{name}-{Path(source).name.lower()}" if name else None for source in model]
    return pl.concat(
        _evaluate(_locate(source, working_folder), options | {"name": model_name}, check, working_folder)
        for source, model_name in zip(model, names, strict=True)
    )


def _locate(model: str | Path, working_folder: Path) -> str:
    """Return a model as an argument of the command line.

    The command runs in the working folder, so the path of a folder becomes absolute if the program runs elsewhere.
    """
    path = Path(model)
    return str(path.resolve() if path.is_dir() and Path.cwd() != working_folder else model)


def _evaluate(
    model: str,
    options: dict[str, Any],
    check: bool,
    folder: Path,
    server: FunctionServer | None = None,
) -> pl.DataFrame:
    """Run `reprise eval` for one model, and return its numbers; `server` serves the model if it is a function."""
    arguments = [text for name, value in options.items() if value is not None for text in (f"--{name}", str(value))]
    arguments += [] if check else ["--no-check"]
    with tempfile.TemporaryDirectory() as temporary, server or nullcontext():
        json_file = Path(temporary) / "numbers.json"
        command = ["eval", model, *arguments, "--yes", "--json", str(json_file)]
        if server is None:
            run_command_line(command, folder)
        else:
            server.run_command(command)
        numbers = json.loads(json_file.read_text(encoding="utf-8"))["numbers"]
    return pl.DataFrame(list(_iter_rows(numbers)), schema=NUMBERS)


def _iter_rows(numbers: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame: the numbers that the overview shows, with the parts of their runs' names."""
    for number in numbers:
        if (number["convention"], number["extractor"]) == DEFAULT_EXTRACTION:
            run = Run.parse(number["run"])
            parts = {name: getattr(run, name) for name in ("model", "benchmark", "protocol", "sampling")}
            yield {**{name: number.get(name) for name in NUMBERS}, **parts}
