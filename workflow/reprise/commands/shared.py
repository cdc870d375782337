"""Helpers of several commands: the plan of a suite, its manifests, the requests of a run, and lists of failures."""

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
import typer

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import RunAnswers
from reprise.config.load import load
from reprise.config.model import Model
from reprise.config.variants import select_benchmarks
from reprise.core.errors import UserError
from reprise.core.paths import ManifestKind, Run, locate
from reprise.core.plain import sanitize_line, summarize_list
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, ITEMS, REQUESTS, VERDICTS, read_table
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.models.inference.response_cache import ClipRequests
from reprise.plan.retries import MANIFEST_SCHEMAS
from reprise.plan.runs import Plan
from reprise.stages.clip_requests import gather_clip_requests

MAX_LISTED = 3  # Failures of a reason that are listed without `--all`.
# Reason of a failed source, clip or answer -> its meaning.
REASON_MEANINGS = STATUSES | FAILURE_REASONS | TRANSIENT | PERMANENT
RETRY_HINT = "To retry other failures: reprise retry <run or reason>"


# A working directory has one of these. Other projects may have folders `config` and `results`, too.
WORKING_DIRECTORY_MARKS = (
    *("Snakefile", "workflow/Snakefile", ".snakemake", "results/tables"),
    *(f"config/{name}" for name in ("config.yaml", "external.yaml", "models", "suites", "tables", "benchmarks")),
)


def require_working_directory(folder: Path = Path()) -> None:
    """Raise a UserError if a folder, by default the current one, has no configuration, Snakefile or results."""
    if not any((folder / name).exists() for name in WORKING_DIRECTORY_MARKS):
        raise UserError(
            f"{folder.absolute()}: not a working directory of Reprise, because it has no Snakefile, configuration "
            "(config/config.yaml, config/suites/ ...) or results/tables/. Change to your working directory, or create "
            "one: reprise init <folder>"
        )


def load_plan(suite: str | None, benchmarks: str | None = None, *, creates_store: bool = True) -> Plan:
    """Return the plan of a suite, or of the configured suite; `benchmarks` is the value of `--benchmarks`.

    The plan records digests in the store. Without `creates_store`, it does so only if the store exists.
    """
    require_working_directory()
    config = load(Path(), {"suite": suite} if suite else None)
    if benchmarks is not None:
        config = select_benchmarks(config, benchmarks.split(","), "--benchmarks")
    return Plan(config, is_read_only=not creates_store and not Path(config.main.store).is_dir())


def find_model_file(models: Mapping[str, Model], source: str) -> str | None:
    """Return the name of the file in `config/models/` that a name, a repository or a folder of weights means."""
    if source in models:
        return source
    matches = (slug for slug, model in models.items() if source == model.repo or is_checkpoint_of(source, model))
    return next(matches, None)


def is_checkpoint_of(source: str, model: Model) -> bool:
    """Return whether a path, in any spelling, is the folder of a model's checkpoint."""
    return model.checkpoint is not None and locate(source).resolve() == locate(model.checkpoint).resolve()


def list_suite_options(suite: str | None) -> list[str]:
    """Return the options of snakemake and reprise that select a suite; none for the configured suite."""
    return ["--config", f"suite={suite}"] if suite else []


def format_snakemake_call(suite: str | None, *targets: Path) -> str:
    """Return the call of snakemake that makes files, for users to copy."""
    return " ".join(["snakemake", *map(str, targets), "--cores <N>", *list_suite_options(suite)])


def has_running_snakemake(folder: Path) -> bool:
    """Return whether Snakemake is running in a folder, or was killed there and left its lock."""
    locks = folder / ".snakemake/locks"
    return locks.is_dir() and any(locks.iterdir())


def require_file(path: Path, command: str) -> Path:
    """Return the path of a file that a command reads.

    Raises:
        UserError: The file does not exist; the message names the call that produces it.
    """
    if not path.is_file():
        raise UserError(f"{command}: {path} not found. Make it first: snakemake {path}")
    return path


def read_manifests(plan: Plan, stage: ManifestKind, benchmark: str) -> pl.DataFrame:
    """Return the rows of all existing manifests of a benchmark's sources or clips."""
    manifests, schema = plan.results.existing_manifests(stage), MANIFEST_SCHEMAS[stage]
    tables = [read_table(path, schema) for name, _, path in manifests if name == benchmark]
    return pl.concat([pl.DataFrame(schema=schema), *tables])


def list_inference_inputs(plan: Plan, run: Run) -> list[Path]:
    """Return the tables that the inference of a run reads."""
    results = plan.results
    manifests = [results.manifest("clips", run.benchmark, shard) for shard in range(plan.config.suite.shards)]
    return [results.requests(run.benchmark, run.protocol), results.frames(run.benchmark, run.sampling), *manifests]


def load_clip_requests(plan: Plan, run: Run) -> list[ClipRequests]:
    """Return the requests of a run about each clip."""
    requests, frames, *manifests = list_inference_inputs(plan, run)
    clips = pl.concat([read_table(path, CLIP_MANIFEST) for path in manifests])
    tables = read_table(requests, REQUESTS), read_table(frames, FRAME_PLAN), clips
    return gather_clip_requests(
        *tables, plan.store, with_labels=ADAPTERS[plan.config.models[run.model].adapter].needs_labels
    )


def get_extractor_name(plan: Plan, run: Run) -> str:
    """Return the extractor of a run's verdicts: the suite's first judge if answers are judged, else `robust`."""
    return plan.find_judge(run) if plan.is_judged(run.benchmark, run.protocol) else "robust"


def compute_outcomes(plan: Plan, run: Run, command: str) -> dict[str, pl.DataFrame]:
    """Return the outcomes of a run by metric: for each item, the share that counts as right."""
    path = require_file(plan.results.verdicts(run, get_extractor_name(plan, run)), command)
    form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    return load_scores(run.benchmark).SCORES[form].compute_outcomes(RunAnswers(items, read_table(path, VERDICTS)))


def confirm(question: str) -> bool:
    """Ask a question in the terminal; Ctrl-C raises `typer.Abort`."""
    # The signal handler of polars would let the terminal wait for a line after Ctrl-C.
    signal.siginterrupt(signal.SIGINT, True)
    return typer.confirm(question)


def format_choices(calls: Sequence[str]) -> str:
    """Return the last lines of a message about an ambiguous name: the calls from which the user chooses."""
    return "\n  ".join(["Copy one:", *summarize_list(calls, 12)])


def format_field(name: str, text: str, indent: str) -> Iterator[str]:
    """Yield the lines of a named text.

    If the text has several lines, they follow below the name, each with a mark; otherwise one of them might look like
    another field.
    """
    lines = text.splitlines() or [""]
    if len(lines) == 1:
        yield f"{indent}{name}: {lines[0]}"
    else:
        yield f"{indent}{name}:"
        yield from (f"{indent}| {line}" for line in lines)


def format_failures(failures: pl.DataFrame, retries: Counter[str], limit: int | None = MAX_LISTED) -> Iterator[str]:
    """Yield the failures grouped by reason, the most frequent reason first.

    Args:
        failures: Rows with the columns `reason`, `name` and `message`.
        retries: Number of failures of each reason that the next run retries.
        limit: Number of failures of a reason that are listed; None lists all.
    """
    for reason, number in Counter(failures["reason"]).most_common():
        retry_note = f"; the next run retries {retries[reason]}" if retries[reason] else ""
        yield f"{number} {reason} ({REASON_MEANINGS.get(reason, reason)}){retry_note}"
        messages = failures.filter(reason=reason).select("name", "message").iter_rows()
        lines = [
            f"  {sanitize_line(name)}{f': {sanitize_line(message)}' if message else ''}" for name, message in messages
        ]
        yield from summarize_list(lines, limit, "  and {} more")
