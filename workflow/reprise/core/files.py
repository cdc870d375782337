"""Write files atomically, with canonical JSON, digests and checksums that are verified on every read.

Without a checksum, a damaged or edited result would become a wrong number: polars does not verify parquet pages, csv
and JSON have no checksums, and Snakemake treats an edited file as a new input.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from reprise.core.errors import MachineError, UserError, add_path_to_errors, get_error_path
from reprise.core.provenance import Provenance, build_provenance_record

CHECKSUM_MARKER = b"reprise sha256="
CHECKSUM_DIGITS = 64
CHECKSUM_PLACEHOLDER = b"0" * CHECKSUM_DIGITS
# Number of bytes at the end of a parquet file that contain its metadata with the marker.
FOOTER_BYTES = 1 << 18
LINE_CHECKSUM_DIGITS = 16
MIN_FREE_MB = 100  # An evaluation does not start with less, because Snakemake could not record its jobs.
MAX_NAME_BYTES = 255  # The limit of common file systems, in bytes.


def canonical_json(value: Any) -> str:
    """Return the only JSON text of a value: sorted keys, no optional blanks, no NaN."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def value_digest(value: Any) -> str:
    return text_digest(canonical_json(value))


def file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def require_write_permission(folder: Path) -> None:
    """Raise a UserError if this user cannot write to a working directory."""
    if not os.access(folder, os.W_OK):
        raise UserError(
            f"{folder.absolute()}: no permission to write to this working directory, which holds the configuration and "
            "the results. Nothing was changed. Give this user write permission, or use another working directory."
        )


def require_free_space(folder: Path) -> None:
    """Raise a UserError if the disk of a folder, which may be missing, has less than `MIN_FREE_MB`."""
    existing_folder = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free_mb = shutil.disk_usage(existing_folder).free / 1e6
    if free_mb < MIN_FREE_MB:
        raise UserError(
            f"{folder.absolute()}: the disk has {free_mb:.1f} MB left, at least {MIN_FREE_MB} MB are needed. Nothing "
            "was changed. Make room (reprise store --prune)."
        )


def require_writable(file: Path, option: str) -> None:
    """Raise a UserError if a command could not write the file that an option names; nothing is created."""
    existing_folder = next(folder for folder in file.absolute().parents if folder.exists())
    try:
        with TemporaryFile(dir=existing_folder):
            pass
    except OSError as error:
        raise UserError(
            f"{option}: {file} cannot be written ({existing_folder}: {error.strerror}). Nothing was changed. Choose "
            "another file."
        ) from error


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which replaces `path` only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        with add_path_to_errors(path):
            yield temporary
            temporary.replace(path)
    except OSError as error:
        if error.filename is not None and str(error.filename) == str(temporary):
            error.filename = str(path)  # Users know the file, but not its temporary name.
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def draft_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, whose files move into `folder` only if the block succeeds.

    If it fails, `folder` stays as it was, or does not exist if it is new.

    Raises:
        MachineError: `folder` cannot be written.
    """
    folder_path = folder.absolute()
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".draft-") as temporary:
            draft = Path(temporary)
            yield draft
            for entry in draft.iterdir():
                _move_into(entry, folder / entry.name)
    except OSError as error:
        path = (get_error_path(error) or folder).absolute()
        if error.errno and (path.is_relative_to(folder_path) or folder_path.is_relative_to(path)):
            reason = os.strerror(error.errno)
            raise MachineError(
                f"{folder} cannot be written ({reason}). Nothing was changed there. Choose another folder."
            ) from error
        raise
    finally:
        for path in new_folders:
            with suppress(OSError):  # Only an empty folder can be removed.
                path.rmdir()


def _move_into(source: Path, target: Path) -> None:
    """Move a file or a folder to a path, where it replaces files of the same names."""
    if source.is_dir() and target.is_dir():
        for entry in source.iterdir():
            _move_into(entry, target / entry.name)
    else:
        source.replace(target)


def write_text(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file that a job wrote; raise a UserError if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}). Run snakemake, which writes it.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON ({error}). Delete it and run snakemake again.") from error


def list_matching_files(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """Return the files of a folder that match any pattern, by relative name; none if there is no folder."""
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    return {path.relative_to(folder).as_posix(): path for path in paths}


def glob_files(pattern: str) -> list[Path]:
    """Return the files that match a pattern, without hidden files, which some programs write next to an open file."""
    if not Path(pattern).name:  # `glob` does not accept an empty pattern or a folder such as `.` and `/`.
        return []
    anchor = Path(pattern).anchor  # `Path.glob` accepts only relative patterns; their anchor is empty.
    matches = Path(anchor).glob(str(Path(pattern).relative_to(anchor)))
    return sorted(path for path in matches if path.is_file() and not path.name.startswith("."))


def can_be_path(name: str) -> bool:
    """Return whether a text can be a path: it has no NUL character, encodes to UTF-8, and is not too long."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return False
    return b"\0" not in encoded and all(len(part) <= MAX_NAME_BYTES for part in encoded.split(b"/"))


def resolve_inside(folder: Path, name: str) -> Path | None:
    """Return `folder/name`, or None if the path is outside the folder (an absolute name, `..`, or a link)."""
    if not can_be_path(name):
        return None
    try:
        target = (folder / name).resolve()
    except RuntimeError as error:  # Before Python 3.13 a loop of links raises this.
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from error
    return target if target.is_relative_to(folder.resolve()) and target != folder.resolve() else None


# Tables, which contain their own checksum


def table_metadata(path: Path) -> str:
    """Return the metadata text of a table: a placeholder for its checksum, and its provenance."""
    return f"{CHECKSUM_MARKER.decode()}{CHECKSUM_PLACEHOLDER.decode()} {canonical_json(build_provenance_record(path))}"


def insert_checksum(content: bytes) -> bytes:
    """Return the bytes of a table with the checksum of all other bytes instead of the placeholder or old checksum."""
    head, marker, tail = content.rpartition(CHECKSUM_MARKER)
    digest = hashlib.sha256(head + marker + CHECKSUM_PLACEHOLDER + tail[CHECKSUM_DIGITS:]).hexdigest()
    return head + marker + digest.encode() + tail[CHECKSUM_DIGITS:]


def has_valid_checksum(content: bytes) -> bool:
    """Return whether the bytes of a table match its checksum."""
    return CHECKSUM_MARKER in content and insert_checksum(content) == content


def read_provenance(path: Path) -> Provenance | None:
    """Return the provenance recorded in a table or in the seal of another file (`seal_file`); None if there is none."""
    if path.suffix != ".parquet":
        seal = read_record(_seal_path(path))
        return _parse_provenance(seal.get("made")) if isinstance(seal, dict) else None
    with path.open("rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - FOOTER_BYTES))
        _, marker, metadata = stream.read().rpartition(CHECKSUM_MARKER)
    try:
        # The provenance follows the checksum and a blank (`table_metadata`); other metadata may follow the provenance.
        record, _ = json.JSONDecoder().raw_decode(metadata[CHECKSUM_DIGITS + 1 :].decode(errors="replace"))
    except ValueError:
        return None
    return _parse_provenance(record) if marker else None


def _parse_provenance(record: Any) -> Provenance | None:
    """Return the provenance in a record of `build_provenance_record`; None for any other JSON value."""
    try:
        return Provenance(**record)
    except TypeError:
        return None


# Lines of JSON, each with its checksum


def append_checksum(text: str) -> str:
    """Return a JSON text followed by a tab, which JSON never contains, and the checksum of the text."""
    return f"{text}\t{text_digest(text)[:LINE_CHECKSUM_DIGITS]}"


def parse_line(line: bytes) -> Any:
    """Return the JSON value of a line after verifying its checksum; lines of older versions have none.

    Raises:
        ValueError: The line is damaged; the message describes the damage.
    """
    text, tab, checksum = line.rpartition(b"\t")
    if tab and hashlib.sha256(text).hexdigest()[:LINE_CHECKSUM_DIGITS].encode() != checksum:
        raise ValueError("checksum mismatch")
    try:
        return json.loads(text if tab else line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


# Records: files with one such line


def write_record(path: Path, value: Any) -> None:
    """Write a small JSON value with its checksum, atomically."""
    write_text(path, append_checksum(canonical_json(value)) + "\n")


def read_record(path: Path) -> Any:
    """Return the value of a record; None if it is missing or damaged."""
    try:
        return parse_line(path.read_bytes().removesuffix(b"\n"))
    except (FileNotFoundError, ValueError):
        return None


# Sealed files, whose checksum is in a separate hidden file


def write_sealed_text(path: Path, text: str) -> None:
    """Write a text file atomically, and then its seal."""
    write_text(path, text)
    seal_file(path)


def seal_file(path: Path) -> None:
    """Seal a file of any format: write its checksum and its provenance (`made`) into a hidden file next to it."""
    write_record(_seal_path(path), {"sha256": file_digest(path), "made": build_provenance_record(path)})


def is_edited(path: Path) -> bool:
    """Return whether a text file differs from its recorded checksum; a file without a seal counts as unedited."""
    seal = read_record(_seal_path(path))
    return isinstance(seal, dict) and path.is_file() and file_digest(path) != seal["sha256"]


def verify_sealed_text(path: Path) -> Path:
    """Return the path of a text file after verifying its checksum; a file without a checksum is accepted."""
    if is_edited(path):
        raise UserError(
            f"{path}: damaged or edited since it was written. Save your edits under another name, delete the file and "
            "run snakemake again."
        )
    return path


def _seal_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.sum")
