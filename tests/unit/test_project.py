"""What the project says of itself is true: docs/architecture.md, versions, pins, required libraries, targets of make."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from itertools import product
from pathlib import Path

import reprise
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "workflow/reprise"
PAGE = (ROOT / "docs/architecture.md").read_text()
TEXT = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
BRACES = re.compile(r"\{([^}]*)\}")
LIKE_A_PATH = re.compile(r"[\w<>{},./-]+(?:/|\.(?:py|md|yaml|toml|csv|smk))")


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def paths(text: str) -> list[str]:
    """What is quoted and looks like a path of the repository; results are made, a run's name begins with a pattern."""
    quoted = [one for one in QUOTED.findall(text) if LIKE_A_PATH.fullmatch(one)]
    return [one for one in quoted if not one.startswith(("results/", "<"))]


def found(path: str) -> list[Path]:
    """The files of a path, from the root or the library on; `<name>` is any, `{a,b}` is both."""
    choices = [part.split(",") for part in BRACES.findall(path)]
    files: list[Path] = []
    for chosen in product(*choices):
        parts = iter(chosen)
        pattern = re.sub(r"<[^>]+>", "*", BRACES.sub(lambda _, parts=parts: next(parts), path))
        matches = [match for start in (ROOT, LIBRARY) for match in start.glob(pattern.rstrip("/"))]
        if not matches:
            return []
        files += matches
    return files


@cache
def defined(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):  # such as the GROUPS that a benchmark's scores take from its taxonomy
            names |= {alias.name for alias in node.names}
    return names


def test_every_path_exists() -> None:
    assert [path for path in paths(TEXT) if not found(path)] == []


def test_every_name_is_where_the_page_says() -> None:
    for what, where, names in rows("Where to find"):
        modules = [file for path in paths(where) for file in found(path) if file.suffix == ".py"]
        assert paths(where), what
        for name in QUOTED.findall(names):
            having = [file for file in modules if name in defined(file)]
            assert having if "<" not in where else having == modules, f"{what}: {name} is not in {where}"


def test_a_clip_s_journey_goes_by_rules() -> None:
    texts = [file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk")]
    rules = {name for text in texts for name in re.findall(r"^rule (\w+):", text, re.MULTILINE)}
    steps = re.findall(r"\*\*(\w+)\*\*", section("A clip's journey"))
    assert len(steps) >= 10 and set(steps) <= rules
    picture = PAGE.split("```")[1]
    assert {step for step in steps if step in picture} == set(steps)


def test_the_rooms_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "rooms")
    assert [row[0].strip("`") for row in rows("The rooms, and which may import which")] == layers[::-1]
    assert set(layers) == {path.parent.name for path in LIBRARY.glob("*/__init__.py")}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Module -> distribution: what every version of Reprise is built on.
REQUIRED = {
    "ffmpeg": "ffmpeg-python", "scenedetect": "scenedetect-headless", "cv2": "opencv-python-headless", "yt_dlp": "yt-dlp",
    "polars": "polars", "torch": "torch", "transformers": "transformers", "snakemake": "snakemake",
}  # fmt: skip
OURS = {
    "construction", "human_evaluation", "reprise", "snakemake_logger_plugin_reprise", "synthetic", "training",
}  # fmt: skip


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
    used = imported("reprise") | imported("snakemake_logger_plugin_reprise")
    assert REQUIRED.keys() <= used and set(REQUIRED.values()) <= pins("base.txt").keys()


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
