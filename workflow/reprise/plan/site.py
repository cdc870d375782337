"""Check that each model's job fits a cluster partition.

If a job fits no partition of the Slurm plugin's partitions file, the plugin only warns. It then submits the job to the
default partition, where the job waits forever or is rejected. Reprise therefore compares the models with the same file
before jobs are planned.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from reprise.config.model import Model
from reprise.config.problems import read_config_file
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.paths import find_profile_file, parse_option_values
from reprise.core.settings import Settings, setting_error
from reprise.core.yaml_files import load_yaml
from reprise.plan.runs import Plan
from reprise.plan.targets import find_target_runs, list_models

TRIGGERS_OPTION, DEFAULT_TRIGGERS = "--rerun-triggers", ("code", "input", "mtime", "params", "software-env")
EXECUTOR, PARTITION_CONFIG, GROUP_COMPONENTS = "executor", "slurm-partition-config", "group-components"
# Options without jobs. The short option -n may be combined with other short options, as in -np.
JOBLESS_OPTION = re.compile(r"--dry-?run|--unlock|-[pqF]*n[pqF]*")
# Format of times in the output of `generate-slurm-partition-config`, such as 2-12:00:00.
SLURM_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):\d\d")


def _parse_minutes(value: Any) -> Any:
    """Convert a time limit in Slurm's format to minutes. Return a number unchanged; pydantic checks it afterwards."""
    if not isinstance(value, str):
        return value
    time = SLURM_TIME.fullmatch(value)
    if time is None:
        raise setting_error(
            f"should be minutes or days-hours:minutes:seconds, such as 2-12:00:00; found '{value[:60]}'."
        )
    return (24 * int(time["days"] or 0) + int(time["hours"])) * 60 + int(time["minutes"])


class SlurmPartition(Settings, extra="ignore"):
    """Limits of one partition. Without a limit, jobs are not limited; without `max_gpu`, the partition has no GPUs.

    The plugin owns the file, so keys that only the plugin reads are allowed.
    """

    max_runtime: Annotated[int, BeforeValidator(_parse_minutes)] | None = Field(None, ge=1)
    """Maximum time of a job, in minutes or in Slurm's format."""
    max_mem_mb: int | None = Field(None, ge=1)
    """Memory of a node, in MB."""
    max_threads: int | None = Field(None, ge=1)
    """CPUs of a node."""
    max_gpu: int = Field(0, ge=0)
    """GPUs of a node."""


class SlurmSite(Settings):
    """Partitions of a Slurm cluster, by name. Jobs without GPUs avoid partitions with GPUs."""

    partitions: dict[str, SlurmPartition] = Field(min_length=1)
    _runs_per_allocation: int = PrivateAttr(1)
    """Maximum number of runs that share one job of Slurm."""

    def get_max_minutes(self, gpu_count: int, *, is_shared: bool) -> int | None:
        """Return the maximum time of a job in minutes, or None without a limit.

        In a shared allocation, each run gets an equal part of the time.
        """
        limit = self.get_max_limit("max_runtime", gpu_count)
        return max(1, limit // self._runs_per_allocation) if limit is not None and is_shared else limit

    def find_partitions(self, gpu_count: int) -> dict[str, SlurmPartition]:
        """Return the partitions that fit this number of GPUs; without GPUs, those without GPUs if there are any."""
        cpu_partitions = {name: partition for name, partition in self.partitions.items() if not partition.max_gpu}
        fitting_partitions = {
            name: partition for name, partition in self.partitions.items() if partition.max_gpu >= gpu_count
        }
        if gpu_count or not cpu_partitions:
            return fitting_partitions
        return cpu_partitions

    def get_max_limit(self, limit: Literal["max_runtime", "max_mem_mb", "max_threads"], gpu_count: int) -> int | None:
        """Return the largest limit of the partitions that fit this number of GPUs, or None if any has no limit."""
        limits = [getattr(partition, limit) for partition in self.find_partitions(gpu_count).values()]
        return None if None in limits else max(limits, default=None)


# Eight CPU cores decode clips about as fast as one GPU consumes them (docs/reference/inference.md).
THREADS_PER_COPY = 8


def count_threads(model: Model, copies: int = 1) -> int:
    """Return the number of CPUs of a model's job. With GPUs, the CPUs prepare clips for all copies of the model."""
    return max(model.threads, THREADS_PER_COPY * copies) if model.gpus else model.threads


def count_copies(model: Model) -> int:
    """Return the largest number of copies of a model that its GPUs can hold."""
    return max(1, model.gpus // (model.gpus_per_copy or 1))


def find_executor(arguments: Sequence[str]) -> str | None:
    """Return the executor of a call or its profile, or None if jobs run on this machine."""
    options = parse_option_values(arguments)
    executor = options.get(f"--{EXECUTOR}", options.get("-e", _load_profile(arguments).get(EXECUTOR)))
    return None if executor in (None, "local") else str(executor)


def find_partitions_file(arguments: Sequence[str]) -> Path | None:
    """Return the partitions file, or None if the call submits no jobs to Slurm or names no such file."""
    if find_executor(arguments) != "slurm":
        return None
    path = parse_option_values(arguments).get(f"--{PARTITION_CONFIG}", _load_profile(arguments).get(PARTITION_CONFIG))
    return Path(path) if path else None


def _load_profile(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the content of the profile that a call uses."""
    file = find_profile_file(arguments)
    return (load_yaml(file) or {}) if file is not None else {}


def find_rerun_triggers(arguments: Sequence[str]) -> Collection[str]:
    """Return the rerun triggers of a call to Snakemake, from its arguments, its profile or the defaults."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    # Snakemake accepts abbreviated options. `--rerun-t` is the shortest that means only this option.
    is_option = [word.startswith("--rerun-t") for word in words]
    if any(is_option):
        return list(takewhile(lambda word: not word.startswith("-"), words[is_option.index(True) + 1 :]))
    triggers = _load_profile(arguments).get(TRIGGERS_OPTION.removeprefix("--"), DEFAULT_TRIGGERS)
    return triggers.split() if isinstance(triggers, str) else list(triggers)


def is_jobless(arguments: Sequence[str]) -> bool:
    """Return whether a call runs no jobs, such as a dry run or `--unlock`."""
    return any(JOBLESS_OPTION.fullmatch(argument) for argument in arguments)


def load_site(arguments: Sequence[str]) -> SlurmSite | None:
    """Return the cluster's partitions, or None if the call names no partitions file."""
    file = find_partitions_file(arguments)
    if file is None:
        return None
    site = read_config_file(SlurmSite, file)
    site._runs_per_allocation = _read_runs_per_allocation(arguments)
    return site


def _read_runs_per_allocation(arguments: Sequence[str]) -> int:
    """Return the maximum number of runs that share an allocation, according to the profile."""
    groups = _load_profile(arguments).get(GROUP_COMPONENTS, [])
    counts = [str(group).rpartition("=")[2] for group in (groups.split() if isinstance(groups, str) else groups)]
    return max((int(count) for count in counts if count.isdecimal()), default=1)


def check_model_resources(plan: Plan, site: SlurmSite, targets: Sequence[str]) -> None:
    """Raise a UserError if the jobs of some models fit no partition. The message names these models."""
    slugs = [slug for slug in list_models(find_target_runs(plan, targets)) if slug not in plan.imports.models]
    errors = [
        f"config/models/{slug}.yaml: {problem}"
        for slug in slugs
        for problem in find_resource_problems(plan.config.models[slug], site)
    ]
    if errors:
        advice = (
            f"Correct the models' files, or the partitions in the file that the profile names by `{PARTITION_CONFIG}`. "
            "To leave out models that this site cannot run, list them in `skip:` of the suite."
        )
        raise UserError("\n".join([*errors, advice]))
    for slug in slugs:
        if warning := find_runtime_warning(plan.config.models[slug], site):
            log.warning(f"config/models/{slug}.yaml: {warning}")


def find_runtime_warning(model: Model, site: SlurmSite) -> str:
    """Return a warning if each run in a shared allocation gets less time than the model's file requests."""
    allocation_minutes = site.get_max_minutes(model.gpus, is_shared=False)
    run_minutes = site.get_max_minutes(model.gpus, is_shared=True)
    if model.partitions > 1 or allocation_minutes is None or run_minutes is None:
        return ""
    if run_minutes >= min(allocation_minutes, round(model.hours * 60)):
        return ""
    return (
        f"hours: {model.hours:g}: {site._runs_per_allocation} runs share an allocation of {allocation_minutes} "
        f"minutes, so each has {run_minutes}. An interrupted run continues when the allocation is submitted again; a "
        f"smaller number at `{GROUP_COMPONENTS}` of the profile gives each run more time."
    )


def find_resource_problems(model: Model, site: SlurmSite) -> Iterator[str]:
    """Yield the reasons why no partition can hold a model's job."""
    partitions = site.find_partitions(model.gpus)
    if not partitions:
        largest_gpu_count = max(partition.max_gpu for partition in site.partitions.values())
        yield f"gpus: {model.gpus}: no partition has a node with so many; the largest is max_gpu: {largest_gpu_count}."
        return
    names = f"partition{'s' * (len(partitions) > 1)} {', '.join(partitions)}"
    partitions_with_memory = [
        partition
        for partition in partitions.values()
        if partition.max_mem_mb is None or model.memory_mb <= partition.max_mem_mb
    ]
    if not partitions_with_memory:
        largest_memory_mb = site.get_max_limit("max_mem_mb", model.gpus)
        yield f"memory_mb: {model.memory_mb}: the largest of {names} is max_mem_mb: {largest_memory_mb}."
    elif not any(
        partition.max_threads is None or count_threads(model) <= partition.max_threads
        for partition in partitions_with_memory
    ):
        largest_thread_count = max(partition.max_threads or 0 for partition in partitions_with_memory)
        thread_count = count_threads(model)
        yield f"its job takes {thread_count} CPUs: the largest of {names} is max_threads: {largest_thread_count}."
