"""Files that this machine has put at a vendor and must delete: a small ledger for each job, held by a lock while the
job lives. What a killed job left is deleted by the next one."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from reprise.core.store import append_line, read_lines


class Uploads:
    """The files of one job, by the names that they have at the vendor."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def new_name(self) -> str:
        """A name that no other file has; it is written down before anything is sent."""
        name = f"reprise-{uuid4().hex[:24]}"
        append_line(self._path, json.dumps(["uploaded", name]))
        return name

    def deleted(self, name: str) -> None:
        """The vendor has it no more."""
        append_line(self._path, json.dumps(["deleted", name]), to_disk=False)

    def left(self) -> list[str]:
        """What is still there, as far as is known."""
        found: dict[str, None] = {}
        for kind, name in read_lines(self._path, skip_damaged=True):
            if kind == "uploaded":
                found[str(name)] = None
            else:
                found.pop(str(name), None)
        return list(found)


@contextmanager
def own_uploads(folder: Path) -> Iterator[Uploads]:
    """The ledger of this job."""
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder / f"{os.getpid()}-{uuid4().hex}.jsonl") as uploads:
        yield uploads


@contextmanager
def leftovers(folder: Path) -> Iterator[list[Uploads]]:
    """The ledgers of jobs that have ended without deleting everything."""
    with ExitStack() as ends:
        found: list[Uploads] = []
        for path in sorted(folder.glob("*.jsonl")):
            with suppress(Timeout):  # its job lives
                found.append(ends.enter_context(_held(path)))
        yield found


@contextmanager
def _held(path: Path) -> Iterator[Uploads]:
    """A ledger that no other job has; gone at the end if it holds nothing any more."""
    # The operating system's lock: it ends with its process, also by a kill.
    lock = FileLock(path.with_suffix(".lock"), fallback_to_soft=False, thread_local=False)
    with lock.acquire(blocking=False):
        uploads = Uploads(path)
        try:
            yield uploads
        finally:
            if not uploads.left():
                path.unlink(missing_ok=True)
    if not path.exists():
        path.with_suffix(".lock").unlink(missing_ok=True)
