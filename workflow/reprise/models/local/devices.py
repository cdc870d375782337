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
    return _listed("index") or []  # no driver, no GPU


def _listed(query: str, form: str = "csv,noheader") -> list[str] | None:
    """What the driver says of each GPU; None where there is none."""
    command = ["nvidia-smi", f"--query-gpu={query}", f"--format={form}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


def free_memory(names: Sequence[str]) -> list[int] | None:
    """The bytes that are free on each of these GPUs; None where the driver lists one of them by another name."""
    lines = _listed("index,uuid,memory.free", "csv,noheader,nounits")
    if lines is None:
        return None
    found: dict[str, int] = {}
    for line in lines:
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
    # Every node has a GPU 0, and all see one store; on a node each Slurm job may call the first of its own GPUs 0.
    place = "-".join(filter(None, (re.sub(r"[^A-Za-z0-9.]", "_", gethostname()), os.environ.get("SLURM_JOB_ID"))))
    while True:
        taken: dict[str, BaseFileLock] = {}
        for name in names:
            # The operating system's lock or none: it ends with its process, also by a kill.
            one = FileLock(folder / f"gpu-{place}-{name}.lock", fallback_to_soft=False)
            if len(taken) < count:
                with suppress(Timeout):
                    one.acquire(blocking=False)
                    taken[name] = one
        if len(taken) == count:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(taken)
            # Drivers and schedulers number GPUs by their place in the machine; CUDA would by their speed.
            os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
            return list(taken.values())
        for lock in taken.values():
            lock.release()
        log.info(f"waiting for {count} free GPUs of {len(names)}")
        time.sleep(POLL_SECONDS)
