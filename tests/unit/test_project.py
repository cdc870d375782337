"""Test what the project states about itself: docs/architecture.md, versions, pins, required libraries and make targets."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain, product
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


def table_rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted_paths(text: str) -> list[str]:
    """Return the quoted paths of the repository, without results and patterns of run names."""
    quoted = [name for name in QUOTED.findall(text) if LIKE_A_PATH.fullmatch(name)]
    return [name for name in quoted if not name.startswith(("results/", "<"))]


def find_files(path: str) -> list[Path]:
    """Return the files of a path below the root or the library; `<name>` is any name, `{a,b}` is both."""
    alternatives = [part.split(",") for part in BRACES.findall(path)]
    files: list[Path] = []
    for choice in product(*alternatives):
        parts = iter(choice)
        pattern = re.sub(r"<[^>]+>", "*", BRACES.sub(lambda _, parts=parts: next(parts), path))
        matches = [match for start in (ROOT, LIBRARY) for match in start.glob(pattern.rstrip("/"))]
        if not matches:
            return []
        files += matches
    return files


@cache
def module_names(file: Path) -> set[str]:
    """Return the names that a module defines or imports at its top level."""
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
    assert [path for path in quoted_paths(TEXT) if not find_files(path)] == []


def test_every_name_in_the_table_is_in_its_module() -> None:
    for topic, location, names in table_rows("Where to find"):
        modules = [file for path in quoted_paths(location) for file in find_files(path) if file.suffix == ".py"]
        assert quoted_paths(location), topic
        for name in QUOTED.findall(names):
            matches = [file for file in modules if name in module_names(file)]
            is_found = bool(matches) if "<" not in location else matches == modules
            assert is_found, f"{topic}: {name} is not in {location}"


def test_every_step_of_a_clip_is_a_rule() -> None:
    texts = [file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk")]
    rules = {name for text in texts for name in re.findall(r"^rule (\w+):", text, re.MULTILINE)}
    steps = re.findall(r"\*\*(\w+)\*\*", section("A clip's journey"))
    assert len(steps) >= 10 and set(steps) <= rules
    diagram = PAGE.split("```")[1]
    assert {step for step in steps if step in diagram} == set(steps)


def test_the_packages_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "packages")
    assert [row[0].strip("`") for row in table_rows("Packages and their imports")] == layers[::-1]
    assert set(layers) == {path.parent.name for path in LIBRARY.glob("*/__init__.py")}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Module -> distribution that every version of Reprise requires.
REQUIRED = {
    "ffmpeg": "ffmpeg-python", "scenedetect": "scenedetect-headless", "cv2": "opencv-python-headless", "yt_dlp": "yt-dlp",
    "polars": "polars", "torch": "torch", "transformers": "transformers", "snakemake": "snakemake",
}  # fmt: skip
OWN_PACKAGES = {
    "construction", "human_evaluation", "reprise", "snakemake_logger_plugin_reprise", "synthetic", "training",
}  # fmt: skip


def pinned_versions(name: str) -> dict[str, str]:
    lines = [line.partition("#")[0].strip() for line in (ROOT / "envs" / name).read_text().splitlines()]
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines if "==" in line}


@cache
def third_party_imports(package: str) -> set[str]:
    """Return the third-party packages that a package of the workflow imports."""
    names = set()
    for path in (ROOT / "workflow" / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - OWN_PACKAGES - set(sys.stdlib_module_names)


def test_required_libraries_are_used() -> None:
    used = third_party_imports("reprise") | third_party_imports("snakemake_logger_plugin_reprise")
    assert REQUIRED.keys() <= used and set(REQUIRED.values()) <= pinned_versions("base.txt").keys()


def test_every_import_is_declared() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    distributions = packages_distributions()
    for module in set().union(*map(third_party_imports, OWN_PACKAGES)):
        assert declared & {canonicalize_name(name) for name in distributions[module]}, f"{module} is in no dependency"


def test_the_declared_ranges_admit_the_pins() -> None:
    pinned = {
        name: pin for file in ("base", "cluster", "quantised") for name, pin in pinned_versions(f"{file}.txt").items()
    }
    for line in [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), line


def test_all_versions_agree() -> None:
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == reprise.__version__
    versions = re.findall(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == reprise.__version__


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets and {line.split()[1] for line in listed.splitlines()} == set(targets[1].split())
