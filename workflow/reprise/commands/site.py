"""`site`: write the section of a site in a profile for Slurm from what Slurm says."""

import re
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.plan.sinfo import has_accounting, partitions

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
    lines, said = [], []
    for name, minutes, node in ((one.name, one.minutes, one.node) for one in found):
        limits = {"max_mem_mb": node.memory_mb, "max_threads": node.threads}
        before = {"max_runtime": minutes} if minutes is not None else {}
        after = {"max_gpu": node.gpus} if node.gpus else {}
        listed = ", ".join(f"{limit}: {value}" for limit, value in (before | limits | after).items())
        lines.append(f"  {name!r}: {{{listed}}}\n")
        time = "any time" if minutes is None else f"{minutes} min"
        said.append(f"{name} ({node.gpus} GPUs, {node.threads} CPUs, {node.memory_mb} MB, {time})")
    target = profile / "partitions.yaml"
    write_text(target, HEAD + "".join(lines))
    command = f"slurm-status-command: {'sacct' if has_accounting() else 'squeue'}"
    changed, count = STATUS.subn(command, config.read_text(encoding="utf-8"))
    write_text(config, changed)
    print(f"wrote {target}: {', '.join(said)}")
    print(f"{config}: {command}" if count else f"add to {config}: {command}")
