"""What Slurm says of its partitions."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from reprise.core.errors import UserError

SINFO = ["sinfo", "--noheader", "--Node", "--format=%P|%a|%l|%c|%m|%G"]
ANSWER_S = 60
TIME = re.compile(r"(?:(?P<days>\d+)-)?(?:(?:(?P<hours>\d+):)?(?P<minutes>\d+):)?(?P<seconds>\d+)")
GPUS = re.compile(r"\bgpu(?::[^:,()]+)?:(\d+)")
NO_LIMIT = ("infinite", "n/a")


class Node(NamedTuple):
    """What one node of a partition can give to a job."""

    gpus: int
    memory_mb: int
    threads: int


class Partition(NamedTuple):
    """A partition, and the most that one node of it gives to a job."""

    name: str
    is_default: bool
    minutes: int | None
    """longest time of a job; None where there is no limit"""
    node: Node


def partitions() -> list[Partition]:
    """The partitions that take jobs now; an error where there is no Slurm."""
    if shutil.which(SINFO[0]) is None:
        raise UserError(
            "no Slurm here: there is no command 'sinfo'. Run snakemake on a machine from which jobs can be submitted "
            "(often `module load slurm` is needed first), or without `--workflow-profile profiles/slurm`."
        )
    try:
        done = subprocess.run(SINFO, capture_output=True, text=True, check=False, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        raise UserError(f"Slurm does not answer: sinfo took more than {ANSWER_S} s. Try again later.") from None
    if done.returncode:
        raise UserError(f"Slurm does not answer: {done.stderr.strip()}. Try again later, or ask those who run it.")
    return listed(done.stdout)


def listed(text: str) -> list[Partition]:
    """The partitions in what sinfo prints, a line a node of a partition.

    What a job can have is what one node has; where nodes differ, the largest of those with the most GPUs.
    """
    nodes: dict[str, list[Node]] = {}
    minutes: dict[str, int | None] = {}
    for line in text.splitlines():
        name, state, time, threads, memory, resources = line.strip().split("|")
        if state != "up":
            continue
        # `gpu:a100:4(S:0-1),gpu:v100:2,shard:8` has 6 GPUs.
        node = Node(sum(map(int, GPUS.findall(resources))), int(memory.rstrip("+")), int(threads.rstrip("+")))
        nodes.setdefault(name, []).append(node)
        minutes[name] = minutes_of(time)
    return [Partition(name.rstrip("*"), name.endswith("*"), minutes[name], max(found)) for name, found in nodes.items()]


def minutes_of(time: str) -> int | None:
    """Whole minutes of a time limit as Slurm prints it, `days-hours:minutes:seconds`; None where there is none."""
    if time in NO_LIMIT:
        return None
    found = TIME.fullmatch(time)
    if found is None:
        raise ValueError(f"not a time limit of Slurm: {time!r}")
    days, hours, minutes, _ = (int(part or 0) for part in found.groups())
    return (24 * days + hours) * 60 + minutes


def has_accounting() -> bool:
    """Whether Slurm remembers jobs that have ended: `sacct` may be there and say that it does not."""
    if shutil.which("sacct") is None:
        return False
    command: Sequence[str] = ["sacct", "--noheader", "--allocations", "--starttime=now"]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=ANSWER_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False
