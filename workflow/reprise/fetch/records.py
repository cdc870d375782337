"""Records of every source that was tried, so that only those worth another try are tried again."""

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
    model_config = ConfigDict(extra="forbid", frozen=True)
    asked_as: Any
    status: str
    attempts: int
    object: str = ""
    sha256: str = ""
    bytes: int = 0
    message: str = ""
    is_transient: bool = False
    limits: Limits | None = None  # under which the source was accepted

    def was_accepted_under(self, limits: Limits) -> bool:
        """Whether it was accepted under these limits, or under stricter ones."""
        if self.limits is None:
            return False
        accepted = self.limits.model_dump()
        return all(accepted[name] <= limit for name, limit in limits.model_dump().items())


def record_path(store: Store, asked: str) -> Path:
    return store.path("sources", asked, ".json")


def read_record(store: Store, asked: str) -> Record | None:
    """The record, unless it is damaged, another source's, or its object no longer exists."""
    record = _record(record_path(store, asked))
    if record is None or value_digest(record.asked_as) != asked:
        return None
    path = store.root / record.object
    return record if record.status != "ok" or (path.is_file() and path.stat().st_size == record.bytes) else None


def _record(path: Path) -> Record | None:
    try:
        return Record.model_validate(read_checked(path))
    except ValidationError:
        return None


def write_record(store: Store, asked: str, record: Record) -> None:
    write_checked(record_path(store, asked), record.model_dump(mode="json"))


def wants_another_try(ledgers: Iterable[Path], attempts: int) -> list[Path]:
    """The ledgers that hold a transient failure which the next run should try again."""
    wanted = (pl.col("transient")) & (pl.col("attempts") < attempts)
    return [path for path in ledgers if path.is_file() and read_table(path, SOURCES).filter(wanted).height]


def forget_failures(store: Store, statuses: Iterable[str] = ()) -> int:
    """Delete the records of failures (of these statuses, or all), so that the next run tries again."""
    chosen = set(statuses)
    count = 0
    for path in store.objects("sources"):
        if path.suffix != ".json" or path.name.endswith(".names.json"):
            continue
        record = _record(path)
        if record is None or (record.status != "ok" and (not chosen or record.status in chosen)):
            path.unlink()
            count += 1
    return count
