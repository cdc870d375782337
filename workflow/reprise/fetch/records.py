"""Records of all attempted sources, so that only failures that may pass are attempted again."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from reprise.core.files import read_record as read_checked
from reprise.core.files import value_digest
from reprise.core.files import write_record as write_checked
from reprise.core.schemas import SOURCES, read_table
from reprise.core.store import Store
from reprise.media.settings import Limits


class Record(BaseModel):
    """The outcome of the last attempt to fetch a source."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    asked_as: Any
    status: str
    attempts: int
    object: str = ""
    sha256: str = ""
    bytes: int = 0
    message: str = ""
    is_transient: bool = False
    limits: Limits | None = None  # the limits under which the source was accepted

    def was_accepted_under(self, limits: Limits) -> bool:
        """Return whether the source was accepted under these limits or stricter ones."""
        if self.limits is None:
            return False
        accepted = self.limits.model_dump()
        return all(accepted[name] <= limit for name, limit in limits.model_dump().items())


def record_path(store: Store, digest: str) -> Path:
    """Return the path of the record of a source, by the digest of the source's identity."""
    return store.path("sources", digest, ".json")


def read_record(store: Store, digest: str) -> Record | None:
    """Return a source's record, or None if it is damaged or another source's, or if its object no longer exists."""
    record = _load_record(record_path(store, digest))
    if record is None or value_digest(record.asked_as) != digest:
        return None
    path = store.root / record.object
    return record if record.status != "ok" or (path.is_file() and path.stat().st_size == record.bytes) else None


def _load_record(path: Path) -> Record | None:
    try:
        return Record.model_validate(read_checked(path))
    except ValidationError:
        return None


def write_record(store: Store, digest: str, record: Record) -> None:
    write_checked(record_path(store, digest), record.model_dump(mode="json"))


def wants_another_try(ledgers: Iterable[Path], attempts: int) -> list[Path]:
    """Return the manifests that contain a transient failure which the next run should try again."""
    should_retry = (pl.col("transient")) & (pl.col("attempts") < attempts)
    return [path for path in ledgers if path.is_file() and read_table(path, SOURCES).filter(should_retry).height]


def forget_failures(store: Store, statuses: Iterable[str] = ()) -> int:
    """Delete the records of failures, so that the next run tries again, and return their number.

    Args:
        store: The store with the records.
        statuses: The statuses of the failures; all failures if empty.
    """
    selected = set(statuses)
    count = 0
    for path in store.objects("sources"):
        if path.suffix != ".json" or path.name.endswith(".names.json"):
            continue
        record = _load_record(path)
        if record is None or (record.status != "ok" and (not selected or record.status in selected)):
            path.unlink()
            count += 1
    return count
