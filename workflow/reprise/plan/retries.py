"""Determine which results are recomputed because they contain failures.

The rules of such results have a param `retry`. If a result must be recomputed, the param gets a new value, and
Snakemake reruns the job. The new result records the value (`Provenance.retry`). Later plans read the value from there,
so the job runs only once.
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
from reprise.fetch.records import find_retryable_manifests
from reprise.fetch.routes import create_fetcher
from reprise.fetch.settings import Folder
from reprise.models.local.weights import get_snapshot_folder, list_fetched_files
from reprise.plan.answers import find_failed_answers
from reprise.plan.runs import Plan

MANIFEST_SCHEMAS: Mapping[ManifestKind, pl.Schema] = {"sources": SOURCES, "clips": CLIP_MANIFEST}


def compute_retry_param(result: Path, reason: str) -> str:
    """Return the param `retry` of a result: a new value if it must be recomputed, else the recorded value."""
    if not result.is_file():
        return ""
    if reason:
        return f"{reason} {file_digest(result)[:INPUT_DIGEST_DIGITS]}"
    provenance = read_provenance(result)
    return provenance.retry if provenance else ""


def find_retries(plan: Plan) -> Iterator[tuple[Path, str]]:
    """Yield each result that must be recomputed, with the reason."""
    for answers in find_failed_answers(plan):
        if answers.retry_count_by_reason:
            yield answers.job.responses_path, "answers failed"
    for benchmark in plan.config.suite.benchmarks:
        for stage in MANIFEST_SCHEMAS:
            for path in plan.list_manifests(stage, benchmark):
                if reason := find_manifest_retry_reason(plan, stage, benchmark, path):
                    yield path, f"sources or clips {reason}"
    for slug in plan.config.models:
        if find_weights_retry_reason(plan, slug):
            yield plan.results.weights(slug), "weights lost"


def find_manifest_retry_reason(plan: Plan, stage: ManifestKind, benchmark: str, path: Path) -> str:
    """Return why a manifest of sources or clips must be recomputed, or an empty text."""
    if not path.is_file():
        return ""
    try:
        rows = read_table(path, MANIFEST_SCHEMAS[stage])
    except UserError:  # The job that reads the manifest reports the damage.
        return ""
    for object_name, size in rows.filter(status="ok").select("object", "bytes").iter_rows():
        path_in_store = plan.store.root / object_name
        if not path_in_store.is_file() or path_in_store.stat().st_size != size:
            return "lost"
    if stage == "clips":
        return ""
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    if attempts > 1 and find_retryable_manifests([path], attempts):
        return "failed"
    return "replaced" if _has_replaced_videos(plan, benchmark, rows) else ""


def _has_replaced_videos(plan: Plan, benchmark: str, rows: pl.DataFrame) -> bool:
    """Return whether a user replaced videos in the folder of the route since they were copied to the store."""
    route = plan.config.suite.benchmarks[benchmark].route
    if not isinstance(route, Folder) or not Path(route.path).is_dir():
        return False
    fetcher = create_fetcher(route, plan.store)
    for source_id, object_name in rows.filter(status="ok").select("source_id", "object").iter_rows():
        with suppress(FetchError, OSError):  # If the user removed a video, its copy in the store remains valid.
            if value_digest(fetcher.identity(source_id)) != Path(object_name).stem:
                return True
    return False


def find_weights_retry_reason(plan: Plan, model: str) -> str:
    """Return `lost` if the fetched weights of a model no longer exist, else an empty text."""
    settings, fetch_record = plan.config.models[model], plan.results.weights(model)
    if settings.repo is None or not fetch_record.is_file():
        return ""
    folder = get_snapshot_folder(settings.repo, settings.revision or "", plan.store)
    paths = [*list_fetched_files(folder)]
    return "" if paths and all(path.is_file() for path in paths) else "lost"
