"""`site`: write the section of a site in a profile for Slurm from what Slurm says."""

import re
from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.plan.sinfo import Partition, has_accounting, partitions

HEAD = """\
# The partitions of this site, written by `reprise site`. Remove those that you may not use.
# max_runtime: minutes; max_mem_mb, max_threads, max_gpu: of one node. A limit that is omitted is none.
partitions:
"""
STATUS = re.compile(r"^slurm-status-command:[ ]*\w+", re.MULTILINE)


def write_site(profile: Path) -> None:
    """Write the partitions beside a profile, and into it how jobs are asked after."""
    config = profile / "config.yaml"
    if not config.is_file():
        raise UserError(f"site: no file {config}. Name the folder of a profile with `--profile`.")
    found = partitions()
    if not found:
        raise UserError("site: sinfo lists no partition that is up. Ask those who run Slurm.")
    target = profile / "partitions.yaml"
    write_text(target, written(found))
    text = config.read_text(encoding="utf-8")
    command = f"slurm-status-command: {'sacct' if has_accounting() else 'squeue'}"
    changed, count = STATUS.subn(command, text)
    write_text(config, changed)
    print(f"wrote {target}: {', '.join(_in_words(one) for one in found)}")
    print(f"{config}: {command}" if count else f"add to {config}: {command}")


def written(found: Sequence[Partition]) -> str:
    """The file of the partitions."""
    return HEAD + "".join(f"  {one.name!r}: {{{', '.join(_limits(one))}}}\n" for one in found)


def _limits(one: Partition) -> list[str]:
    time = [f"max_runtime: {one.minutes}"] if one.minutes is not None else []
    gpus = [f"max_gpu: {one.node.gpus}"] if one.node.gpus else []
    return [*time, f"max_mem_mb: {one.node.memory_mb}", f"max_threads: {one.node.threads}", *gpus]


def _in_words(one: Partition) -> str:
    time = "any time" if one.minutes is None else f"{one.minutes} min"
    return f"{one.name} ({one.node.gpus} GPUs, {one.node.threads} CPUs, {one.node.memory_mb} MB, {time})"
