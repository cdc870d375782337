"""Determine which results are recomputed because they contain failures.

A param of their rules is read from the results. It changes when a result is to be repeated, and the repeated result
records it (`Provenance.retry`), so that it stays the same from then on.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_provenance, value_digest
from reprise.core.paths import ManifestKind
from reprise.core.provenance import INPUT_DIGEST_DIGITS
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, read_table
from reprise.fetch.outcome import FetchError
from reprise.fetch.records import find_retriable_manifests
from reprise.fetch.routes import create_fetcher
from reprise.fetch.settings import Folder
from reprise.models.local.weights import list_fetched_files, snapshot_folder
from reprise.plan.answers import find_failed_answers
from reprise.plan.runs import Plan

MANIFEST_SCHEMAS: Mapping[ManifestKind, pl.Schema] = {"sources": SOURCES, "clips": CLIP_MANIFEST}


def retry_param(result: Path, reason: str) -> str:
    """Return the param of a result's rule: a new value if there is a reason to repeat it, else the recorded one."""
    if not result.is_file():
        return ""
    if reason:
        return f"{reason} {file_digest(result)[:INPUT_DIGEST_DIGITS]}"
    provenance = read_provenance(result)
    return provenance.retry if provenance else ""


def find_retries(plan: Plan) -> Iterator[tuple[Path, str]]:
    """Yield the results that are to be repeated, each with its reason."""
    for answers in find_failed_answers(plan):
        if answers.retry_counts:
            yield answers.job.responses, "answers failed"
    for benchmark in plan.config.suite.benchmarks:
        for stage in MANIFEST_SCHEMAS:
            for path in plan.manifests(stage, benchmark):
                if reason := manifest_retry_reason(plan, stage, benchmark, path):
                    yield path, f"sources or clips {reason}"
    for slug in plan.config.models:
        if weights_retry_reason(plan, slug):
            yield plan.results.weights(slug), "weights lost"


def manifest_retry_reason(plan: Plan, stage: ManifestKind, benchmark: str, path: Path) -> str:
    """Return why a manifest of sources or clips is made again, or an empty text."""
    if not path.is_file():
        return ""
    try:
        rows = read_table(path, MANIFEST_SCHEMAS[stage])
    except UserError:  # The job that reads the manifest reports the damage.
        return ""
    stored = rows.filter(status="ok").select("object", "bytes").iter_rows()
    objects = ((plan.store.root / name, size) for name, size in stored)
    if not all(file.is_file() and file.stat().st_size == size for file, size in objects):
        return "lost"
    if stage == "clips":
        return ""
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    if attempts > 1 and find_retriable_manifests([path], attempts):
        return "failed"
    return "replaced" if _has_replaced_videos(plan, benchmark, rows) else ""


def _has_replaced_videos(plan: Plan, benchmark: str, rows: pl.DataFrame) -> bool:
    """Return whether videos in a user's folder differ from those in the store."""
    route = plan.config.suite.benchmarks[benchmark].route
    if not isinstance(route, Folder) or not Path(route.path).is_dir():
        return False
    fetcher = create_fetcher(route, plan.store)
    for name, object_name in rows.filter(status="ok").select("source_id", "object").iter_rows():
        with suppress(FetchError, OSError):  # A removed video stays in the store.
            if value_digest(fetcher.identity(name)) != Path(object_name).stem:
                return True
    return False


def weights_retry_reason(plan: Plan, model: str) -> str:
    """Return `lost` if a model's weights were fetched and no longer exist, else an empty text."""
    settings, note = plan.config.models[model], plan.results.weights(model)
    if settings.repo is None or not note.is_file():
        return ""
    folder = snapshot_folder(settings.repo, settings.revision or "", plan.store)
    files = [*list_fetched_files(folder)]
    return "" if files and all(path.is_file() for path in files) else "lost"
