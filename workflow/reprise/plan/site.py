"""The site that jobs are submitted to: what its partitions can give, and whether what is asked for fits."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from reprise.config.model import Model
from reprise.config.problems import read
from reprise.config.site import Site
from reprise.core.errors import UserError, choices
from reprise.core.paths import options_of, profile_file
from reprise.core.yaml_files import load_yaml
from reprise.plan.runs import Plan
from reprise.plan.sinfo import partitions
from reprise.plan.targets import asked_by

EXECUTOR, PARTITIONS = "executor", "slurm-partition-config"
LOOKS = re.compile(r"--dry-?run|--unlock|-[pqF]*n[pqF]*")
PREPARING = 8
"""As many cores decode about as fast as a GPU asks for clips (docs/reference/inference.md)."""
WRITE = "Correct it, or run `python -m reprise site`, which writes the file from what Slurm says."


def threads_of(model: Model) -> int:
    """CPUs of a model's job: of a model on a GPU the processes that prepare its clips."""
    return max(model.threads, PREPARING) if model.gpus else model.threads


def partitions_file(arguments: Sequence[str]) -> Path | None:
    """The file of the partitions, if this call submits jobs to Slurm and its profile names one."""
    file = profile_file(arguments)
    profile = (load_yaml(file) or {}) if file is not None else {}
    given = options_of(arguments)
    if given.get(f"--{EXECUTOR}", given.get("-e", profile.get(EXECUTOR))) != "slurm":
        return None
    found = given.get(f"--{PARTITIONS}", profile.get(PARTITIONS))
    return Path(found) if found else None


def site_of(arguments: Sequence[str]) -> Site | None:
    """The partitions that jobs are submitted to; None where they run here.

    Stops where Slurm is not there, or does not have them; a call that only looks may do so elsewhere.
    """
    file = partitions_file(arguments)
    if file is None:
        return None
    site = read(Site, file)
    if not any(LOOKS.fullmatch(one) for one in arguments):
        there = [one.name for one in partitions()]
        wrong = [name for name in site.partitions if name not in there]
        if wrong:
            words = [f"{file}: Slurm has no partition '{name}' that is up.{choices(name, there)}" for name in wrong]
            raise UserError("\n".join([*words, WRITE]))
    return site


def check_models(plan: Plan, site: Site, targets: Sequence[str]) -> None:
    """Stop at models whose jobs no partition can hold: Slurm would refuse them, or leave them waiting for ever."""
    slugs = {slug for one in asked_by(plan, targets) for slug in (one.run.model, one.judge) if slug}
    asked = sorted(slugs - plan.imports.models)
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
    memory = [one for one in having.values() if one.max_mem_mb is None or model.memory_mb <= one.max_mem_mb]
    if not memory:
        most = site.most_memory_mb(model.gpus) or 0
        yield f"memory_mb: {model.memory_mb}: the most of {_listed(having)} is max_mem_mb: {most}."
    elif not any(one.max_threads is None or threads_of(model) <= one.max_threads for one in memory):
        most = max(one.max_threads or 0 for one in memory)
        yield f"its job takes {threads_of(model)} CPUs: the most of {_listed(having)} is max_threads: {most}."


def _listed(names: Collection[str]) -> str:
    return f"partition{'s' * (len(names) > 1)} {', '.join(names)}"
