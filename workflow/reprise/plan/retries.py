"""Determine which results are recomputed because they contain failures.

A param of their rules is read from the results. It changes when a result is to be repeated, and the repeated result
records it (`Provenance.retry`), so that it stays the same from then on.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import file_digest, recorded, value_digest
from reprise.core.paths import Ledger
from reprise.core.provenance import SHORT
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.fetch.outcome import FetchError
from reprise.fetch.records import wants_another_try
from reprise.fetch.routes import fetcher_for
from reprise.fetch.settings import Folder
from reprise.models.local.weights import fetched_files, snapshot_folder
from reprise.plan.answers import failed_answers
from reprise.plan.runs import Plan

LEDGERS: Mapping[Ledger, pl.Schema] = {"sources": SOURCES, "clips": CLIP_LEDGER}


def retry_param(result: Path, reason: str) -> str:
    """Return the param of a result's rule: a new value if there is a reason to repeat it, else the recorded one."""
    if not result.is_file():
        return ""
    if reason:
        return f"{reason} {file_digest(result)[:SHORT]}"
    provenance = recorded(result)
    return provenance.retry if provenance else ""


def repetitions(plan: Plan) -> Iterator[tuple[Path, str]]:
    """Yield the results that are to be repeated, each with its reason."""
    for answers in failed_answers(plan):
        if answers.due:
            yield answers.job.responses, "answers failed"
    for benchmark in plan.config.suite.benchmarks:
        for stage in LEDGERS:
            for path in plan.ledgers(stage, benchmark):
                if reason := ledger_reason(plan, stage, benchmark, path):
                    yield path, f"sources or clips {reason}"
    for slug in plan.config.models:
        if weights_reason(plan, slug):
            yield plan.results.weights(slug), "weights lost"


def ledger_reason(plan: Plan, stage: Ledger, benchmark: str, path: Path) -> str:
    """Return why a manifest of sources or clips is repeated, or an empty text."""
    if not path.is_file():
        return ""
    try:
        rows = read_table(path, LEDGERS[stage])
    except UserError:  # The job that reads the manifest reports the damage.
        return ""
    stored = rows.filter(status="ok").select("object", "bytes").iter_rows()
    objects = ((plan.store.root / name, size) for name, size in stored)
    if not all(file.is_file() and file.stat().st_size == size for file, size in objects):
        return "lost"
    if stage == "clips":
        return ""
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    if attempts > 1 and wants_another_try([path], attempts):
        return "failed"
    return "replaced" if _has_replaced_videos(plan, benchmark, rows) else ""


def _has_replaced_videos(plan: Plan, benchmark: str, rows: pl.DataFrame) -> bool:
    """Return whether videos in a user's folder differ from those in the store."""
    route = plan.config.suite.benchmarks[benchmark].route
    if not isinstance(route, Folder) or not Path(route.path).is_dir():
        return False
    fetcher = fetcher_for(route, plan.store)
    for name, object_name in rows.filter(status="ok").select("source_id", "object").iter_rows():
        with suppress(FetchError, OSError):  # A removed video stays in the store.
            if value_digest(fetcher.identity(name)) != Path(object_name).stem:
                return True
    return False


def weights_reason(plan: Plan, model: str) -> str:
    """Return `lost` if a model's weights were fetched and no longer exist, else an empty text."""
    settings, note = plan.config.models[model], plan.results.weights(model)
    if settings.repo is None or not note.is_file():
        return ""
    folder = snapshot_folder(settings.repo, settings.revision or "", plan.store)
    files = [*fetched_files(folder)]
    return "" if files and all(path.is_file() for path in files) else "lost"
