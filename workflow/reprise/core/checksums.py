"""Files that carry their own checksum, so that damage is found when they are read: tables, lines of logs, records."""

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.core.files import canonical_json, file_digest, text_digest, write_text

MARK = b"reprise sha256="
DIGITS = 64
PLACE = b"0" * DIGITS
# The metadata of a parquet file stand behind its data, and with them the mark.
TAIL = 1 << 16
SHORT = 16

# Tables


def blank_seal(keys: Mapping[str, str]) -> str:
    """The text that a table carries: a place for its digest, and the key files that it was made under."""
    return f"{MARK.decode()}{PLACE.decode()} {canonical_json(keys)}"


def fill_seal(content: memoryview) -> None:
    """Put the digest of a table's bytes into the place that they have for it."""
    place = _place(content)
    content[place : place + DIGITS] = sha256(content).hexdigest().encode()


def is_whole(content: bytes) -> bool:
    """Whether a table's bytes are those that were written."""
    view = memoryview(content)
    place = _place(view)
    if place == 0:
        return False
    digest = sha256(view[:place])
    digest.update(PLACE)
    digest.update(view[place + DIGITS :])
    return digest.hexdigest().encode() == content[place : place + DIGITS]


def keys_of(path: Path) -> dict[str, str] | None:
    """The key files that a table was made under, with their digests; None where it does not say so."""
    with path.open("rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - TAIL))
        _, mark, rest = stream.read().rpartition(MARK)
    try:
        keys, _ = json.JSONDecoder().raw_decode(rest[DIGITS + 1 :].decode(errors="replace"))
    except ValueError:
        return None
    return keys if mark and isinstance(keys, dict) else None


def _place(content: memoryview) -> int:
    """Where a table's digest begins; 0 if it has none."""
    start = max(0, len(content) - TAIL)
    before, mark, _ = bytes(content[start:]).rpartition(MARK)
    return start + len(before) + len(mark) if mark else 0


# Lines


def checked_line(text: str) -> str:
    """A text and its checksum behind a tab, which JSON never holds."""
    return f"{text}\t{text_digest(text)[:SHORT]}"


def value_of_line(line: bytes) -> Any:
    """The JSON value of a checked line; a ValueError says what is wrong. A line of an older version has no checksum."""
    text, tab, check = line.rpartition(b"\t")
    if tab and sha256(text).hexdigest()[:SHORT].encode() != check:
        raise ValueError("its checksum does not fit")
    return json.loads(text if tab else line)


# Records


def write_record(path: Path, value: Any) -> None:
    """Write a small JSON value with its checksum, whole or not at all."""
    write_text(path, checked_line(canonical_json(value)) + "\n")


def read_record(path: Path) -> Any:
    """The value of a record; None if there is none or it is damaged, so that it is made anew."""
    try:
        return value_of_line(path.read_bytes().removesuffix(b"\n"))
    except (FileNotFoundError, ValueError):
        return None


# Texts, whose checksum is a file beside them


def write_sealed(path: Path, text: str) -> None:
    """Write a text that another job reads."""
    write_text(path, text)
    seal_text(path)


def seal_text(path: Path) -> None:
    """Record the checksum of a text that another job reads."""
    write_record(_seal_of(path), file_digest(path))


def sealed_text(path: Path) -> Path:
    """A text that is what was written; one without a checksum counts."""
    known = read_record(_seal_of(path))
    if known is not None and path.is_file() and file_digest(path) != known:
        raise UserError(
            f"{path}: damaged, or edited: it is not what was written. Save what you wrote in it under another name, "
            "delete it and run snakemake again."
        )
    return path


def _seal_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.sum")
