"""Locks on files of the store, which jobs of several nodes and working directories write at the same time.

Snakemake's own lock protects only one working directory. The operating system releases a lock when its process ends,
even by a kill.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reprise.core.errors import UserError


@contextmanager
def file_lock(path: Path) -> Iterator[int]:
    """Create a lock file if it is missing, wait for its lock, and hold the lock in the block.

    The block receives the descriptor of the open lock file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}:
                raise
            raise UserError(
                f"{path}: the file system does not support locks ({error.strerror}); without them, jobs would "
                "overwrite each other's files. Set `store:` in config/config.yaml to a folder on a file system with "
                "locks, or mount this one with locks, such as Lustre with `flock` (docs/reference/store.md)."
            ) from error
        yield handle
    finally:
        os.close(handle)
