"""Records of fetched and failed sources; only transient failures are attempted again."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from reprise.core.files import read_record as read_checked
from reprise.core.files import value_digest
from reprise.core.files import write_record as write_checked
from reprise.core.schemas import SOURCES, read_table
from reprise.core.store import Store
from reprise.media.settings import Limits


class FetchRecord(BaseModel):
    """The outcome of the last attempt to fetch a source."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    identity: Any = Field(validation_alias=AliasChoices("identity", "asked_as"))  # `asked_as` in older stores
    status: str
    attempts: int
    object: str = ""  # path of the fetched file in the store
    sha256: str = ""
    bytes: int = 0
    message: str = ""
    is_transient: bool = False
    limits: Limits | None = None  # limits at the time when the source was accepted

    def is_within(self, limits: Limits) -> bool:
        """Return whether the source was accepted with limits at least as strict as these."""
        if self.limits is None:
            return False
        accepted = self.limits.model_dump()
        return all(accepted[name] <= limit for name, limit in limits.model_dump().items())


def record_path(store: Store, digest: str) -> Path:
    """Return the path of the record of a source, by the digest of the source's identity."""
    return store.path("sources", digest, ".json")


def read_record(store: Store, digest: str) -> FetchRecord | None:
    """Return a source's record; None if it is missing or damaged, or if its object is missing."""
    record = _load_record(record_path(store, digest))
    if record is None or value_digest(record.identity) != digest:
        return None
    path = store.root / record.object
    return record if record.status != "ok" or (path.is_file() and path.stat().st_size == record.bytes) else None


def _load_record(path: Path) -> FetchRecord | None:
    """Return the record in a file; None if it is missing, damaged or invalid."""
    try:
        return FetchRecord.model_validate(read_checked(path))
    except ValidationError:
        return None


def write_record(store: Store, digest: str, record: FetchRecord) -> None:
    """Write a source's record; `digest` is that of the source's identity."""
    write_checked(record_path(store, digest), record.model_dump(mode="json"))


def find_retryable_manifests(manifests: Iterable[Path], attempts: int) -> list[Path]:
    """Return the manifests with a transient failure of fewer than `attempts` attempts, which the next run retries."""
    is_retryable = (pl.col("transient")) & (pl.col("attempts") < attempts)
    return [path for path in manifests if path.is_file() and read_table(path, SOURCES).filter(is_retryable).height]


def forget_failures(store: Store, statuses: Iterable[str] = ()) -> int:
    """Delete the records of failures, which the next run then retries, and damaged records; return their number.

    Args:
        store: The store with the records.
        statuses: The statuses of the failures; all failures if empty.
    """
    selected_statuses = set(statuses)
    count = 0
    for path in store.objects("sources"):
        if path.suffix != ".json" or path.name.endswith(".names.json"):  # `.names.json`: lists in older stores
            continue
        record = _load_record(path)
        if record is None or (record.status != "ok" and (not selected_statuses or record.status in selected_statuses)):
            path.unlink()
            count += 1
    return count
