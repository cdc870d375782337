"""Which GPUs a job may use: Snakemake counts them, a lock on each says which are free."""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from socket import gethostname

from filelock import BaseFileLock, FileLock, Timeout

from reprise.core.errors import UserError
from reprise.core.log import log

POLL_SECONDS = 2.0
MIB = 2**20


def visible_gpus() -> list[str]:
    """The GPUs that this process may see: those that the scheduler gave it, else all that the driver lists."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [name for name in given.split(",") if name]
    try:
        listing = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, check=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []  # no driver, no GPU
    return listing.stdout.split()


def free_memory(names: Sequence[str]) -> list[int] | None:
    """The bytes that are free on each of these GPUs; None where the driver lists one of them by another name."""
    query = ["nvidia-smi", "--query-gpu=index,uuid,memory.free", "--format=csv,noheader,nounits"]
    try:
        listing = subprocess.run(query, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    found: dict[str, int] = {}
    for line in listing.stdout.splitlines():
        index, uuid, free = (part.strip() for part in line.split(","))
        found[index] = found[uuid] = int(free) * MIB
    return [found[name] for name in names] if set(names) <= found.keys() else None


def take_gpus(count: int, folder: Path) -> list[BaseFileLock]:
    """Wait for free GPUs, lock them for as long as the returned locks are kept, and show only them to CUDA."""
    if count == 0:
        return []
    names = visible_gpus()
    if len(names) < count:
        raise UserError(
            f"the model needs {count} GPU{'s' * (count > 1)}, found {len(names)} here. "
            "Remove the model from the suite's `run:`, or correct `gpus` in its file."
        )
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        taken = _free_locks(names, count, folder)
        if len(taken) == count:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(taken)
            # Drivers and schedulers number GPUs by their place in the machine; CUDA would by their speed.
            os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
            return list(taken.values())
        for lock in taken.values():
            lock.release()
        log.info(f"waiting for {count} free GPUs of {len(names)}")
        time.sleep(POLL_SECONDS)


def _free_locks(names: list[str], count: int, folder: Path) -> dict[str, BaseFileLock]:
    taken: dict[str, BaseFileLock] = {}
    # Every node has a GPU 0, and all see one store; on a node each Slurm job may call the first of its own GPUs 0.
    place = "-".join(filter(None, (re.sub(r"[^A-Za-z0-9.]", "_", gethostname()), os.environ.get("SLURM_JOB_ID"))))
    for name in names:
        if len(taken) == count:
            break
        # The operating system's lock or none: it ends with its process, also by a kill.
        lock = FileLock(folder / f"gpu-{place}-{name}.lock", fallback_to_soft=False)
        with suppress(Timeout):
            lock.acquire(blocking=False)
            taken[name] = lock
    return taken
