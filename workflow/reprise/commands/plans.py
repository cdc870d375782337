"""What the commands share: the plan of the suite that they are about."""

from pathlib import Path

from reprise.config.load import load
from reprise.plan.runs import Plan


def plan_of(suite: str | None) -> Plan:
    """The plan of a suite, or of the configured one."""
    return Plan(load(Path(), {"suite": suite} if suite else None))


def call_for(target: Path, suite: str | None) -> str:
    """What to type to have a file of a suite made."""
    return f"snakemake {target} --cores <N>{f' --config suite={suite}' if suite else ''}"
