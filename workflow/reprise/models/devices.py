"""Which GPUs a job may use: Snakemake counts them, a lock on each says which are free."""

import fcntl
import os
import subprocess
import time
from pathlib import Path
from typing import IO

from reprise.core.errors import UserError
from reprise.core.log import log

POLL_SECONDS = 2.0


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


def take_gpus(count: int, folder: Path) -> list[IO[str]]:
    """Wait for free GPUs, lock them for as long as the returned files are open, and show only them to CUDA."""
    if count == 0:
        return []
    names = visible_gpus()
    if len(names) < count:
        raise UserError(
            f"the model needs {count} GPUs, this machine shows {len(names)}. Take it out of the suite's run."
        )
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        taken = _free_locks(names, count, folder)
        if len(taken) == count:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(taken)
            return list(taken.values())
        for stream in taken.values():
            stream.close()
        log.info(f"waiting for {count} free GPUs of {len(names)}")
        time.sleep(POLL_SECONDS)


def _free_locks(names: list[str], count: int, folder: Path) -> dict[str, IO[str]]:
    taken: dict[str, IO[str]] = {}
    for name in names:
        if len(taken) == count:
            break
        stream = (folder / f"gpu-{name}.lock").open("w")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken[name] = stream
        except BlockingIOError:
            stream.close()
    return taken
