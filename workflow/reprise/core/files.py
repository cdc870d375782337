"""Small file helpers that every stage shares: whole files or none, canonical JSON, digests."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.core.faults import named

TEMPORARY = re.compile(r"\..*\.([0-9]+)\.tmp(?:\.[^.]*)?", re.DOTALL)


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no optional blanks, no NaN."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def value_digest(value: Any) -> str:
    """sha256 of a JSON-able value in its canonical form."""
    return text_digest(canonical_json(value))


def file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path next to `path` that replaces it only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        with named(path):
            yield temporary
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def half_written(folder: Path) -> Iterator[tuple[Path, int]]:
    """The temporary files of `whole_file` anywhere in a folder, each with the process that writes it, or did."""
    for path in folder.rglob(".*.tmp*"):
        found = TEMPORARY.fullmatch(path.name)
        if found:
            yield path, int(found[1])


def write_text(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def is_other(path: Path, text: str) -> bool:
    """Whether a file has another content, or does not exist."""
    return not path.is_file() or path.read_bytes() != text.encode()


def write_if_changed(path: Path, text: str) -> bool:
    """Write only when the content differs, so that an unchanged file keeps its time; returns whether it wrote."""
    if not is_other(path, text):
        return False
    write_text(path, text)
    return True


def read_json(path: Path) -> Any:
    """The content of a key file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}). Run snakemake, which writes it.") from error
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error}). Delete it and run snakemake again.") from error


def matching_files(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """The files of a folder that fit one of these patterns, by their relative names; none if there is no folder."""
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    return {path.relative_to(folder).as_posix(): path for path in paths}


def fitting_files(pattern: str) -> list[Path]:
    """The files that fit a pattern; not the hidden ones that programs leave beside a file that is open."""
    if not pattern:
        return []
    anchor = Path(pattern).anchor  # empty where the pattern is relative, as Python's own glob needs it
    found = Path(anchor).glob(str(Path(pattern).relative_to(anchor)))
    return sorted(path for path in found if path.is_file() and not path.name.startswith("."))


def inside(folder: Path, name: str) -> Path | None:
    """`folder/name`, or None when the name would leave the folder (absolute, `..`, a link that leads out)."""
    try:
        target = (folder / name).resolve()
    except RuntimeError as error:  # how Python says it before 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from error
    return target if target.is_relative_to(folder.resolve()) and target != folder.resolve() else None
