"""Locks on files, and where a store's locks lie: in it, or in a folder elsewhere where its file system has none.

A store with locks elsewhere has links in place of the folders that hold locks: so all that use it see the same ones.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.paths import expanded

LOCKS = "locks"
# Folders of a store where files are locked.
HOLDING = (LOCKS, "limits", "uploads")
SETTING = "`locks:` in config/config.yaml"


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Wait for the lock of a file, which is made if need be, and hold it; it ends with its process, also by a kill."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}:
                raise
            raise UserError(
                f"{path}: the file system has no locks ({error.strerror}), without which jobs overwrite each other. "
                "Have it mounted with them, or move what lies there: the store by `store:` in config/config.yaml. "
                "For a store, `locks:` there may name a folder on a file system with locks (docs/reference/store.md)."
            ) from error
        yield handle
    finally:
        os.close(handle)


def put_locks(store: Path, folder: str | None) -> None:
    """Have a store's locks lie in this folder from now on; None leaves them where they are."""
    if folder is None:
        return
    target = Path(expanded(folder)).resolve()
    for name in HOLDING:
        _link(store / name, target / name)
    _elsewhere.cache_clear()


def _link(place: Path, target: Path) -> None:
    if place.is_symlink():
        if place.resolve() != target:
            raise UserError(
                f"{place}: the store's locks lie in {place.resolve().parent}, not in {target.parent} ({SETTING}); all "
                "that use a store must agree. Write that folder there, or end all that use it and delete the link."
            )
        target.mkdir(parents=True, exist_ok=True)
        return
    if place.is_dir() and any(path.name != "any.lock" for path in place.iterdir()):
        raise UserError(
            f"{place}: jobs have locked files there, and would not see those of jobs with {SETTING}. End all that use "
            "the store, delete the folder, and run the same command again."
        )
    target.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        place.symlink_to(target, target_is_directory=True)
    except FileExistsError:  # another call was quicker
        _link(place, target)


@contextmanager
def locked_elsewhere(log: Path) -> Iterator[bool]:
    """Hold the lock of a log of a store whose locks lie elsewhere; whether they do.

    A log is opened after its lock is taken and closed before that is given back: a file server shows what others wrote.
    """
    folder = _elsewhere(log.parent.absolute())
    if folder is None:
        yield False
        return
    with locked(folder / f"appending-{text_digest(log.name)[:2]}.lock"):
        yield True


@cache
def _elsewhere(folder: Path) -> Path | None:
    """The folder of the locks of the store that a folder is in; None where they lie in the store, or it is in none."""
    places = [place / LOCKS for place in (folder, *folder.parents)[:3]]  # `journal/<2 digits>/<key>.jsonl` is deepest
    return next((place for place in places if place.is_symlink()), None)
