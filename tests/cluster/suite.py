"""The reduced suite with models that fail or hang, for local runs and runs through Slurm."""

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.faults.runs import Outcome, Reduced
from tests.faults.suite import FIGURE, PREVIEW, SUITE, VINOGROUND, plug_adapters, reduced_suite, write_pairs
from tests.workflow.conftest import FULL

SUBMITTED = re.compile(r"^Job ([\w-]+) has been submitted with SLURM jobid", re.MULTILINE)
RESTARTED = re.compile(r"^Trying to restart job ([\w-]+)", re.MULTILINE)
RULE = re.compile(r"^ *rule (\w+):\n(?: +\w+: .*\n)*? +resources: (.*)$", re.MULTILINE)
REGISTRATION = """

class TroubledSettings(Settings):
    seed: int = 0
    name: str


ADAPTERS |= {"troubled": AdapterInfo("reprise.models.local.troubled:Troubled", TroubledSettings, request_types=ALL_REQUEST_TYPES)}
"""
PAIRS = 6
CLIPS_BEFORE = 3
MODEL_WITH_TWO_RUNS = "cancelled"  # a model with two runs, which share an allocation
GPU = "gpus: 1\n"
# 0.034 hours are a time limit of two minutes.
MODELS = {"fails": "", "cancelled": "", "killed": GPU, "slow": "hours: 0.034\n", "lost": GPU}
QUICK_CHECKS = ("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "1")


@dataclass
class Local(Reduced):
    """A copy with local runs."""

    targets: tuple[str, ...] = ("all", PREVIEW, FIGURE)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", "--resources", "gpu=1", FULL, *arguments]


@dataclass
class OnSlurm(Local):
    """A copy with runs through Slurm."""

    def command(self, *arguments: str) -> list[str]:
        profile = ["--workflow-profile", "profiles/slurm", *QUICK_CHECKS]
        return [sys.executable, "-m", "snakemake", *profile, FULL, *arguments]

    def trouble(self, name: str, action: str, clips: int = CLIPS_BEFORE) -> None:
        """Make a model stop once: `fail` exits, `hang` waits until the test ends the job."""
        self.write(f"trouble/{name}", f"{clips} {action}\n")

    def reached(self, name: str) -> Path:
        """Return the file to which a hanging model writes its process, job and node."""
        return self.root / "reached" / name


def cluster_suite(root: Path, names: tuple[str, ...]) -> Reduced:
    """Write the suite with a row for each of these models, without running it."""
    project = reduced_suite(root)
    plug_adapters(project, Path(__file__).with_name("troubled.py"), REGISTRATION)
    rows: list[dict[str, str]] = []
    for name in names:
        settings = f"settings: {{seed: {len(rows) + 1}, name: {name}}}\n"
        model = f"label: {name}\nadapter: troubled\nmemory_mb: 400\n{MODELS[name]}{settings}"
        project.write(f"config/models/{name}.yaml", model)
        rows.append({"label": name, "model": name, "protocol": "paper", "sampling": "linspace4"})
    rows.append({"label": "second run", "model": MODEL_WITH_TWO_RUNS, "protocol": "paper", "sampling": "linspace1"})
    suite, tables = yaml.safe_load(SUITE), yaml.safe_load(VINOGROUND)
    suite["shards"] = 1
    suite["run"] = [*(slug for slug in suite["run"] if slug != "hub-siglip"), *names]
    tables["tables"]["table3"]["sections"][0]["rows"][1:] = rows
    project.write("config/suites/reduced.yaml", yaml.safe_dump(suite))
    project.write("config/tables/reduced_vinoground.yaml", yaml.safe_dump(tables))
    write_pairs(project, PAIRS)
    for folder in ("asked", "reached", "trouble"):
        (project.root / folder).mkdir()
    return project


def submissions(outcome: Outcome) -> tuple[Counter[str], Counter[str]]:
    """Return how often each job was submitted, and how often the log states a restart."""
    return Counter(SUBMITTED.findall(outcome.output)), Counter(RESTARTED.findall(outcome.output))
