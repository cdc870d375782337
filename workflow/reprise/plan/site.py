"""The site that jobs are submitted to: what its partitions give, as its file and Slurm say, and whether jobs fit."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from reprise.config.model import Model
from reprise.config.problems import read
from reprise.core.errors import UserError, choices
from reprise.core.paths import options_of, profile_file
from reprise.core.settings import Settings
from reprise.core.yaml_files import load_yaml
from reprise.plan.runs import Plan
from reprise.plan.targets import asked_by, models_of

EXECUTOR, PARTITIONS = "executor", "slurm-partition-config"
LOOKS = re.compile(r"--dry-?run|--unlock|-[pqF]*n[pqF]*")
WRITE = "Correct it, or run `python -m reprise site`, which writes the file from what Slurm says."
SINFO = ["sinfo", "--noheader", "--Node", "--format=%P|%a|%l|%c|%m|%G"]
ANSWER_S = 60
TIME = re.compile(r"(?:(?P<days>\d+)-)?(?:(?:(?P<hours>\d+):)?(?P<minutes>\d+):)?\d+")  # the last are seconds
GPUS = re.compile(r"\bgpu(?::[^:,()]+)?:(\d+)")


class PartitionLimits(Settings):
    """One partition. A limit that is omitted is none; without `max_gpu` it has no GPUs."""

    max_runtime: int | None = Field(None, ge=1)
    """Longest time of a job, in minutes."""
    max_mem_mb: int | None = Field(None, ge=1)
    """Memory of a node, in MB."""
    max_threads: int | None = Field(None, ge=1)
    """CPUs of a node."""
    max_gpu: int = Field(0, ge=0)
    """GPUs of a node."""


class Site(Settings):
    """The partitions, by name. A job goes to the one that it fits best; to one with GPUs only if it needs them."""

    partitions: dict[str, PartitionLimits] = Field(min_length=1)

    def for_gpus(self, count: int) -> dict[str, PartitionLimits]:
        """The partitions for jobs with so many GPUs: for none those without, if there are any."""
        without = {name: one for name, one in self.partitions.items() if not one.max_gpu}
        having = {name: one for name, one in self.partitions.items() if one.max_gpu >= count}
        return having if count else without or having

    def most(self, limit: Literal["max_runtime", "max_mem_mb"], gpus: int) -> int | None:
        """The largest limit of the partitions for jobs with so many GPUs; None where one of them has none."""
        limits = [getattr(one, limit) for one in self.for_gpus(gpus).values()]
        return None if None in limits else max(limits, default=None)


def threads_of(model: Model) -> int:
    """CPUs of a model's job: of a model on a GPU the processes that prepare its clips."""
    # Eight cores decode about as fast as a GPU asks for clips (docs/reference/inference.md).
    return max(model.threads, 8) if model.gpus else model.threads


def executor_of(arguments: Sequence[str]) -> str | None:
    """Return the executor that a call, or its profile, names; None where jobs run in Snakemake's own processes."""
    given = options_of(arguments)
    named = given.get(f"--{EXECUTOR}", given.get("-e", _profile(arguments).get(EXECUTOR)))
    return None if named in (None, "local") else str(named)


def partitions_file(arguments: Sequence[str]) -> Path | None:
    """The file of the partitions, if this call submits jobs to Slurm and its profile names one."""
    if executor_of(arguments) != "slurm":
        return None
    found = options_of(arguments).get(f"--{PARTITIONS}", _profile(arguments).get(PARTITIONS))
    return Path(found) if found else None


def _profile(arguments: Sequence[str]) -> dict[str, Any]:
    file = profile_file(arguments)
    return (load_yaml(file) or {}) if file is not None else {}


def is_look(arguments: Sequence[str]) -> bool:
    """Return whether a call only looks: a dry run, or `--unlock`."""
    return any(LOOKS.fullmatch(one) for one in arguments)


def site_of(arguments: Sequence[str]) -> Site | None:
    """The partitions that jobs are submitted to; None where they run here.

    Stops where Slurm is not there, or does not have them; a call that only looks may do so elsewhere.
    """
    file = partitions_file(arguments)
    if file is None:
        return None
    site = read(Site, file)
    if not is_look(arguments):
        there = partitions()
        wrong = [name for name in site.partitions if name not in there]
        if wrong:
            words = [f"{file}: Slurm has no partition '{name}' that is up.{choices(name, there)}" for name in wrong]
            raise UserError("\n".join([*words, WRITE]))
    return site


def check_models(plan: Plan, site: Site, targets: Sequence[str]) -> None:
    """Stop at models whose jobs no partition can hold: Slurm would refuse them, or leave them waiting for ever."""
    asked = [slug for slug in models_of(asked_by(plan, targets)) if slug not in plan.imports.models]
    wrong = [
        f"config/models/{slug}.yaml: {words}" for slug in asked for words in problems(plan.config.models[slug], site)
    ]
    if wrong:
        raise UserError("\n".join([*wrong, f"{WRITE} What this site cannot run is skipped by `skip:` of the suite."]))


def problems(model: Model, site: Site) -> Iterator[str]:
    """Why no partition can hold a model's job; nothing where one can."""
    having = site.for_gpus(model.gpus)
    if not having:
        most = max(one.max_gpu for one in site.partitions.values())
        yield f"gpus: {model.gpus}: no partition has a node with so many; the most is max_gpu: {most}."
        return
    listed = f"partition{'s' * (len(having) > 1)} {', '.join(having)}"
    memory = [one for one in having.values() if one.max_mem_mb is None or model.memory_mb <= one.max_mem_mb]
    if not memory:
        largest = site.most("max_mem_mb", model.gpus)
        yield f"memory_mb: {model.memory_mb}: the most of {listed} is max_mem_mb: {largest}."
    elif not any(one.max_threads is None or threads_of(model) <= one.max_threads for one in memory):
        threads = max(one.max_threads or 0 for one in memory)
        yield f"its job takes {threads_of(model)} CPUs: the most of {listed} is max_threads: {threads}."


# What Slurm says


def partitions() -> dict[str, PartitionLimits]:
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
    return partitions_in(done.stdout)


def partitions_in(text: str) -> dict[str, PartitionLimits]:
    """The partitions in what sinfo prints, a line a node of a partition.

    What a job can have is what one node has; where nodes differ, the largest of those with the most GPUs.
    """
    found: dict[str, PartitionLimits] = {}
    for line in text.splitlines():
        name, state, time, threads, memory, resources = line.strip().split("|")
        if state != "up":
            continue
        limit = TIME.fullmatch(time)  # none: `infinite`, `n/a`
        days, hours, whole = (int(limit[part] or 0) if limit else 0 for part in ("days", "hours", "minutes"))
        node = PartitionLimits(
            max_runtime=(24 * days + hours) * 60 + whole if limit else None,
            max_mem_mb=int(memory.rstrip("+")),
            max_threads=int(threads.rstrip("+")),
            max_gpu=sum(map(int, GPUS.findall(resources))),  # `gpu:a100:4(S:0-1),gpu:v100:2,shard:8` has 6
        )
        name = name.rstrip("*")
        found[name] = max(found.get(name, node), node, key=attrgetter("max_gpu", "max_mem_mb", "max_threads"))
    return found


def has_accounting() -> bool:
    """Whether Slurm remembers jobs that have ended: `sacct` may be there and say that it does not."""
    command: Sequence[str] = ["sacct", "--noheader", "--allocations", "--starttime=now"]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=ANSWER_S).returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
