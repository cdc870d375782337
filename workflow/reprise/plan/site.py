"""The partitions that jobs are submitted to, and the models that fit into none of them.

Snakemake's plugin for Slurm only warns of a job that fits into no partition of its file, and submits it to the default
one, where it waits for ever or is refused. So a model's needs are compared with the same file before jobs are planned.
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
from reprise.core.paths import options_of, profile_file
from reprise.core.settings import Settings, mistake
from reprise.core.yaml_files import load_yaml
from reprise.plan.runs import Plan
from reprise.plan.targets import asked_by, models_of

TRIGGERS, DEFAULT_TRIGGERS = "--rerun-triggers", ("code", "input", "mtime", "params", "software-env")
EXECUTOR, PARTITIONS, TOGETHER = "executor", "slurm-partition-config", "group-components"
LOOKS = re.compile(r"--dry-?run|--unlock|-[pqF]*n[pqF]*")
# How `generate-slurm-partition-config` writes a time, such as 2-12:00:00.
TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):\d\d")


def _in_minutes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    time = TIME.fullmatch(value)
    if time is None:
        raise mistake(f"should be minutes or days-hours:minutes:seconds, such as 2-12:00:00; found '{value[:60]}'.")
    return (24 * int(time["days"] or 0) + int(time["hours"])) * 60 + int(time["minutes"])


class PartitionLimits(Settings, extra="ignore"):
    """One partition. A limit that is omitted is none; without `max_gpu` it has no GPUs.

    The file is the plugin's, so keys that only the plugin reads are allowed.
    """

    max_runtime: Annotated[int, BeforeValidator(_in_minutes)] | None = Field(None, ge=1)
    """Longest time of a job, in minutes or as Slurm writes it."""
    max_mem_mb: int | None = Field(None, ge=1)
    """Memory of a node, in MB."""
    max_threads: int | None = Field(None, ge=1)
    """CPUs of a node."""
    max_gpu: int = Field(0, ge=0)
    """GPUs of a node."""


class Site(Settings):
    """The partitions, by name. A job goes to the one that it fits best; to one with GPUs only if it needs them."""

    partitions: dict[str, PartitionLimits] = Field(min_length=1)
    _runs_together: int = PrivateAttr(1)

    def longest(self, gpus: int, *, is_shared: bool) -> int | None:
        """The most minutes of one job, also where several share an allocation; None where there is no limit."""
        found = self.most("max_runtime", gpus)
        return max(1, found // self._runs_together) if found is not None and is_shared else found

    def for_gpus(self, count: int) -> dict[str, PartitionLimits]:
        """The partitions for jobs with so many GPUs: for none those without, if there are any."""
        without = {name: one for name, one in self.partitions.items() if not one.max_gpu}
        having = {name: one for name, one in self.partitions.items() if one.max_gpu >= count}
        return having if count else without or having

    def most(self, limit: Literal["max_runtime", "max_mem_mb", "max_threads"], gpus: int) -> int | None:
        """The largest limit of the partitions for jobs with so many GPUs; None where one of them has none."""
        limits = [getattr(one, limit) for one in self.for_gpus(gpus).values()]
        return None if None in limits else max(limits, default=None)


# Eight cores decode about as fast as a GPU asks for clips (docs/reference/inference.md).
THREADS_OF_COPY = 8


def threads_of(model: Model, copies: int = 1) -> int:
    """CPUs of a model's job: of a model on a GPU the processes that prepare clips for its copies."""
    return max(model.threads, THREADS_OF_COPY * copies) if model.gpus else model.threads


def copies_of(model: Model) -> int:
    """How many copies of a model its GPUs hold at most."""
    return max(1, model.gpus // (model.gpus_per_copy or 1))


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


def rerun_triggers(arguments: Sequence[str]) -> Collection[str]:
    """Return by what a call of Snakemake decides what to make again: of its own words, its profile, or the defaults."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    options = [word.startswith(TRIGGERS[:9]) for word in words]  # Snakemake takes abbreviations, too
    if any(options):
        return list(takewhile(lambda word: not word.startswith("-"), words[options.index(True) + 1 :]))
    triggers = _profile(arguments).get(TRIGGERS.removeprefix("--"), DEFAULT_TRIGGERS)
    return triggers.split() if isinstance(triggers, str) else list(triggers)


def is_look(arguments: Sequence[str]) -> bool:
    """Return whether a call only looks: a dry run, or `--unlock`."""
    return any(LOOKS.fullmatch(one) for one in arguments)


def site_of(arguments: Sequence[str]) -> Site | None:
    """Return the partitions that jobs are submitted to; None where they run here."""
    file = partitions_file(arguments)
    if file is None:
        return None
    site = read(Site, file)
    site._runs_together = _runs_together(arguments)
    return site


def _runs_together(arguments: Sequence[str]) -> int:
    """Return how many runs of a model share an allocation at most, by the profile."""
    groups = _profile(arguments).get(TOGETHER, [])
    counts = [str(one).rpartition("=")[2] for one in (groups.split() if isinstance(groups, str) else groups)]
    return max((int(count) for count in counts if count.isdecimal()), default=1)


def check_models(plan: Plan, site: Site, targets: Sequence[str]) -> None:
    """Raise a UserError that names the models whose jobs fit into no partition."""
    asked = [slug for slug in models_of(asked_by(plan, targets)) if slug not in plan.imports.models]
    wrong = [
        f"config/models/{slug}.yaml: {words}" for slug in asked for words in problems(plan.config.models[slug], site)
    ]
    if wrong:
        advice = (
            f"Correct the models' files, or the partitions in the file that the profile names by `{PARTITIONS}`. "
            "What this site cannot run is skipped by `skip:` of the suite."
        )
        raise UserError("\n".join([*wrong, advice]))
    for slug in asked:
        if words := lack_of_time(plan.config.models[slug], site):
            log.warning(f"config/models/{slug}.yaml: {words}")


def lack_of_time(model: Model, site: Site) -> str:
    """Return a warning of a model whose runs have less time than its file says, since they share an allocation."""
    alone, shared = (site.longest(model.gpus, is_shared=is_shared) for is_shared in (False, True))
    if model.pieces > 1 or alone is None or shared is None or shared >= min(alone, round(model.hours * 60)):
        return ""
    return (
        f"hours: {model.hours:g}: {site._runs_together} runs share an allocation of {alone} minutes, so each has "
        f"{shared}. What is cut off goes on when the allocation is submitted again; a smaller number at "
        f"`{TOGETHER}` of the profile gives each run more."
    )


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
