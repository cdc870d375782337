"""Check that each model's job fits a cluster partition.

Snakemake's plugin for Slurm only warns if a job fits no partition of its file. It then submits the job to the default
partition, where the job waits forever or is rejected. The needs of models are therefore compared with the same file
before jobs are planned.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from reprise.config.model import Model
from reprise.config.problems import read
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import parse_options, profile_file
from reprise.core.settings import Settings, setting_error
from reprise.core.yaml_files import load_yaml
from reprise.plan.runs import Plan
from reprise.plan.targets import find_target_runs, list_models

TRIGGERS, DEFAULT_TRIGGERS = "--rerun-triggers", ("code", "input", "mtime", "params", "software-env")
EXECUTOR, PARTITION_CONFIG, GROUP_COMPONENTS = "executor", "slurm-partition-config", "group-components"
JOBLESS_OPTION = re.compile(r"--dry-?run|--unlock|-[pqF]*n[pqF]*")
# Format of times in the output of `generate-slurm-partition-config`, such as 2-12:00:00.
SLURM_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):\d\d")


def _in_minutes(value: Any) -> Any:
    """Convert a time limit in Slurm's format to minutes."""
    if not isinstance(value, str):
        return value
    time = SLURM_TIME.fullmatch(value)
    if time is None:
        raise setting_error(
            f"should be minutes or days-hours:minutes:seconds, such as 2-12:00:00; found '{value[:60]}'."
        )
    return (24 * int(time["days"] or 0) + int(time["hours"])) * 60 + int(time["minutes"])


class SlurmPartition(Settings, extra="ignore"):
    """One partition. An omitted limit means no limit; without `max_gpu` the partition has no GPUs.

    The file belongs to the plugin, so keys that only the plugin reads are allowed.
    """

    max_runtime: Annotated[int, BeforeValidator(_in_minutes)] | None = Field(None, ge=1)
    """Longest time of a job, in minutes or in Slurm's format."""
    max_mem_mb: int | None = Field(None, ge=1)
    """Memory of a node, in MB."""
    max_threads: int | None = Field(None, ge=1)
    """CPUs of a node."""
    max_gpu: int = Field(0, ge=0)
    """GPUs of a node."""


class SlurmSite(Settings):
    """The partitions by name. A job goes to the best fit, and to a partition with GPUs only if it needs them."""

    partitions: dict[str, SlurmPartition] = Field(min_length=1)
    _runs_together: int = PrivateAttr(1)

    def max_minutes(self, gpus: int, *, is_shared: bool) -> int | None:
        """Return the longest time of a job in minutes, or None without a limit.

        A shared allocation divides its time among its runs.
        """
        limit = self.max_limit("max_runtime", gpus)
        return max(1, limit // self._runs_together) if limit is not None and is_shared else limit

    def partitions_for(self, count: int) -> dict[str, SlurmPartition]:
        """Return the partitions for this number of GPUs; jobs without GPUs avoid GPU partitions if possible."""
        cpu_only = {name: partition for name, partition in self.partitions.items() if not partition.max_gpu}
        suitable = {name: partition for name, partition in self.partitions.items() if partition.max_gpu >= count}
        return suitable if count else cpu_only or suitable

    def max_limit(self, limit: Literal["max_runtime", "max_mem_mb", "max_threads"], gpus: int) -> int | None:
        """Return the largest limit of the partitions for this number of GPUs, or None if one of them has no limit."""
        limits = [getattr(partition, limit) for partition in self.partitions_for(gpus).values()]
        return None if None in limits else max(limits, default=None)


# Eight cores decode clips about as fast as a GPU consumes them (docs/reference/inference.md).
THREADS_PER_COPY = 8


def count_threads(model: Model, copies: int = 1) -> int:
    """Return the number of CPUs of a model's job; with GPUs, these CPUs prepare clips for the copies of the model."""
    return max(model.threads, THREADS_PER_COPY * copies) if model.gpus else model.threads


def count_copies(model: Model) -> int:
    """Return the largest number of copies of a model that its GPUs can hold."""
    return max(1, model.gpus // (model.gpus_per_copy or 1))


def find_executor(arguments: Sequence[str]) -> str | None:
    """Return the executor that the call or its profile names, or None if jobs run in Snakemake's own processes."""
    options = parse_options(arguments)
    executor = options.get(f"--{EXECUTOR}", options.get("-e", _profile(arguments).get(EXECUTOR)))
    return None if executor in (None, "local") else str(executor)


def find_partitions_file(arguments: Sequence[str]) -> Path | None:
    """Return the file of partitions if this call submits jobs to Slurm and its profile names one."""
    if find_executor(arguments) != "slurm":
        return None
    path = parse_options(arguments).get(f"--{PARTITION_CONFIG}", _profile(arguments).get(PARTITION_CONFIG))
    return Path(path) if path else None


def _profile(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the content of the profile that a call uses."""
    file = profile_file(arguments)
    return (load_yaml(file) or {}) if file is not None else {}


def find_rerun_triggers(arguments: Sequence[str]) -> Collection[str]:
    """Return the rerun triggers of a call to Snakemake, from its arguments, its profile or the defaults."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    is_option = [word.startswith(TRIGGERS[:9]) for word in words]  # Snakemake accepts abbreviated options.
    if any(is_option):
        return list(takewhile(lambda word: not word.startswith("-"), words[is_option.index(True) + 1 :]))
    triggers = _profile(arguments).get(TRIGGERS.removeprefix("--"), DEFAULT_TRIGGERS)
    return triggers.split() if isinstance(triggers, str) else list(triggers)


def is_jobless(arguments: Sequence[str]) -> bool:
    """Return whether a call runs no jobs, as with a dry run or `--unlock`."""
    return any(JOBLESS_OPTION.fullmatch(argument) for argument in arguments)


def load_site(arguments: Sequence[str]) -> SlurmSite | None:
    """Return the partitions that jobs are submitted to, or None if jobs run on this machine."""
    file = find_partitions_file(arguments)
    if file is None:
        return None
    site = read(SlurmSite, file)
    site._runs_together = _runs_together(arguments)
    return site


def _runs_together(arguments: Sequence[str]) -> int:
    """Return the number of runs of a model that share an allocation at most, according to the profile."""
    groups = _profile(arguments).get(GROUP_COMPONENTS, [])
    counts = [str(group).rpartition("=")[2] for group in (groups.split() if isinstance(groups, str) else groups)]
    return max((int(count) for count in counts if count.isdecimal()), default=1)


def check_models(plan: Plan, site: SlurmSite, targets: Sequence[str]) -> None:
    """Raise a UserError that names the models whose jobs fit no partition."""
    slugs = [slug for slug in list_models(find_target_runs(plan, targets)) if slug not in plan.imports.models]
    errors = [
        f"config/models/{slug}.yaml: {problem}"
        for slug in slugs
        for problem in find_problems(plan.config.models[slug], site)
    ]
    if errors:
        advice = (
            f"Correct the models' files, or the partitions in the file that the profile names by `{PARTITION_CONFIG}`. "
            "To leave out models that this site cannot run, list them in `skip:` of the suite."
        )
        raise UserError("\n".join([*errors, advice]))
    for slug in slugs:
        if warning := runtime_warning(plan.config.models[slug], site):
            log.warning(f"config/models/{slug}.yaml: {warning}")


def runtime_warning(model: Model, site: SlurmSite) -> str:
    """Return a warning if runs that share an allocation each have less time than the model's file requests."""
    exclusive, shared = (site.max_minutes(model.gpus, is_shared=is_shared) for is_shared in (False, True))
    if model.partitions > 1 or exclusive is None or shared is None or shared >= min(exclusive, round(model.hours * 60)):
        return ""
    return (
        f"hours: {model.hours:g}: {site._runs_together} runs share an allocation of {exclusive} minutes, so each has "
        f"{shared}. An interrupted run continues when the allocation is submitted again; a smaller number at "
        f"`{GROUP_COMPONENTS}` of the profile gives each run more time."
    )


def find_problems(model: Model, site: SlurmSite) -> Iterator[str]:
    """Yield the reasons why no partition can hold a model's job."""
    partitions = site.partitions_for(model.gpus)
    if not partitions:
        largest_gpus = max(partition.max_gpu for partition in site.partitions.values())
        yield f"gpus: {model.gpus}: no partition has a node with so many; the largest is max_gpu: {largest_gpus}."
        return
    names = f"partition{'s' * (len(partitions) > 1)} {', '.join(partitions)}"
    with_memory = [
        partition
        for partition in partitions.values()
        if partition.max_mem_mb is None or model.memory_mb <= partition.max_mem_mb
    ]
    if not with_memory:
        largest_memory = site.max_limit("max_mem_mb", model.gpus)
        yield f"memory_mb: {model.memory_mb}: the largest of {names} is max_mem_mb: {largest_memory}."
    elif not any(
        partition.max_threads is None or count_threads(model) <= partition.max_threads for partition in with_memory
    ):
        threads = max(partition.max_threads or 0 for partition in with_memory)
        yield f"its job takes {count_threads(model)} CPUs: the largest of {names} is max_threads: {threads}."
