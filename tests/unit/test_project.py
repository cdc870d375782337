"""What the project says of itself agrees: versions, pins, required libraries, checks, targets of make."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import reprise
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Module -> distribution: what every version of Reprise is built on.
REQUIRED = {
    "ffmpeg": "ffmpeg-python", "scenedetect": "scenedetect-headless", "cv2": "opencv-python-headless", "yt_dlp": "yt-dlp",
    "polars": "polars", "torch": "torch", "transformers": "transformers", "snakemake": "snakemake",
}  # fmt: skip
OURS = {"reprise", "snakemake_logger_plugin_reprise", "synthetic", "training"}


def pins(name: str) -> dict[str, str]:
    lines = [line.partition("#")[0].strip() for line in (ROOT / "envs" / name).read_text().splitlines()]
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines if "==" in line}


@cache
def imported(package: str) -> set[str]:
    """The packages outside the standard library that a package of the workflow imports anywhere."""
    found = set()
    for path in (ROOT / "workflow" / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - OURS - set(sys.stdlib_module_names)


def test_required_libraries_stay_in_use() -> None:
    assert REQUIRED.keys() <= imported("reprise") and set(REQUIRED.values()) <= pins("base.txt").keys()


def test_every_import_is_declared() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    known = packages_distributions()
    for module in set().union(*map(imported, OURS)):
        assert declared & {canonicalize_name(name) for name in known[module]}, f"{module} is in no dependency"


def test_the_declared_ranges_admit_the_pins() -> None:
    pinned = pins("base.txt")
    for line in PROJECT["dependencies"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), line


def test_one_version() -> None:
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == reprise.__version__
    versions = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == reprise.__version__


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets and {line.split()[1] for line in listed.splitlines()} == set(targets[1].split())
