"""Read tables of releases and of users, of any file type, and check their columns."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import atomic_path, file_digest, read_json, seal_file, verify_sealed_text
from reprise.core.plain import escape_cell


def read_file_list(listing: Path) -> dict[str, Path]:
    """Return name -> path of the files that the stage `release` listed in the file `listing`.

    Raises:
        UserError: A file has changed since. The listing is deleted, and the next run makes it again.
    """
    files = {}
    for file_record in read_json(verify_sealed_text(listing)):
        path = Path(file_record["path"])
        if not path.is_file() or file_digest(path) != file_record["sha256"]:
            listing.unlink()
            raise UserError(
                f"{path}: changed since {listing} was written. Nothing was recorded: run the same command again to "
                "list the release again."
            )
        files[file_record["name"]] = path
    return files


# Strings are matched too, because brackets inside them do not count.
BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]')
MAX_DEPTH = 100

SEPARATORS = {".csv": ",", ".tsv": "\t"}

csv.field_size_limit(2**27)  # A cell may be longer than the default limit of the csv module.


def read_rows(path: Path) -> pl.DataFrame:
    """Return the rows of a released table of any file type, with all columns unchanged."""
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".parquet": partial(pl.read_parquet, glob=False),
        ".csv": partial(pl.read_csv, infer_schema=False, glob=False),
        ".tsv": partial(pl.read_csv, infer_schema=False, glob=False, separator="\t"),
        # Infer types from all rows: from the first 100, polars would cut the 1.5 of a later row to 1.
        ".json": partial(pl.read_json, infer_schema_length=None),
        ".jsonl": lambda path: pl.read_ndjson(path.read_bytes(), infer_schema_length=None),
    }
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise UserError(f"{path}: file type '{path.suffix}' is not supported. Allowed: {', '.join(sorted(readers))}.")
    try:
        if suffix in SEPARATORS:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                _reject_invalid_header(path, next(csv.reader(stream, delimiter=SEPARATORS[suffix]), []))
        elif suffix in {".json", ".jsonl"}:
            _reject_deep_nesting(path)
        return readers[suffix](path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, csv.Error) as error:
        reject_other_encoding(path)
        reason = str(error).strip().partition("\n")[0]  # polars adds hints about its own API on further lines.
        raise UserError(
            f"{path}: not readable as {path.suffix[1:]}: {reason}. Fetch the file again or, if it is yours, correct it."
        ) from error


def read_user_rows(path: Path) -> pl.DataFrame:
    """Return the rows of a handwritten table; errors in a csv file name the row."""
    if path.suffix.lower() in SEPARATORS:
        for _ in read_csv_lines(path):  # Reading the lines raises the errors that name a row.
            pass
    return read_rows(path)


def reject_other_encoding(path: Path) -> None:
    """Raise an error that names the first line of a text file that is not UTF-8."""
    if path.suffix == ".parquet" or not path.is_file():
        return
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}: line {number}: not UTF-8 ({error.reason}). Save the file as UTF-8."
                ) from error


def _reject_deep_nesting(path: Path) -> None:
    """Reject deeply nested JSON, which would crash the whole process in polars."""
    depth = 0
    with path.open("rb") as stream:
        for line in stream:
            for match in BRACKETS.finditer(line):
                depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(match[0], 0)
                if depth > MAX_DEPTH:
                    raise ValueError(f"nested more than {MAX_DEPTH} deep")


def format_cell(cell: object, location: str) -> str:
    """Return a cell as text on one line, empty for null; reject anything but text and numbers."""
    if cell is None:
        return ""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        raise UserError(f"{location}: should be a text, found {str(cell)[:60]}. Correct the row.")
    return " ".join(str(cell).split())


def read_csv_rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a csv file that must have exactly these columns."""
    lines = [cells for _, cells in read_csv_lines(path)]
    header, rows = (lines[0], lines[1:]) if lines else ([], [])
    if header != list(columns):
        raise UserError(f"{path}: found columns {header}, expected {', '.join(columns)}.")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def read_csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of a csv file and then its nonblank rows, each with the number of its first line.

    A row may extend over several lines. Errors name the number of the row.
    """
    separator = SEPARATORS.get(path.suffix.lower(), ",")
    row_number, columns = 0, []  # Row 0 has the names of the columns.
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=separator, strict=True)
            line = 1
            for cells in reader:
                first_line, line = line, reader.line_num + 1
                if not cells:
                    continue
                if not row_number:
                    columns = cells
                    _reject_invalid_header(path, columns)
                elif len(cells) != len(columns):
                    raise UserError(
                        f"{path}: row {row_number}: {len(cells)} cells for {len(columns)} columns "
                        f"({', '.join(columns)}). A text with a comma needs quotes around it. Correct the row, then "
                        "run the same command again."
                    )
                yield first_line, cells
                row_number += 1
    except (UnicodeDecodeError, csv.Error) as error:
        reject_other_encoding(path)
        location = f"row {row_number}" if row_number else "its columns"
        raise UserError(
            f"{path}: {location}: not readable as csv: {error}. A quote there may be unclosed, or a quote inside a "
            "text not doubled. Correct it, then run the same command again."
        ) from error


def _reject_invalid_header(path: Path, columns: Sequence[str]) -> None:
    """Raise a UserError if a table has another separator than expected, or two columns with the same name."""
    for separator, description in ((";", "';'"), ("\t", "tabs")):
        if len(columns) == 1 and separator in columns[0]:
            raise UserError(f"{path}: its columns are separated by {description}. Save the file as csv with commas.")
    names = [name.strip() for name in columns]
    duplicates = [name for name in names if name and names.count(name) > 1]
    if duplicates:
        raise UserError(f"{path}: duplicate column '{duplicates[0]}'. Found: {', '.join(columns)}. Remove one of them.")


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a csv file with its seal (`seal_file`); its texts are escaped, so that a spreadsheet evaluates none."""
    with atomic_path(path) as temporary:
        frame.with_columns(pl.col(pl.String).map_elements(escape_cell, return_dtype=pl.String)).write_csv(temporary)
    seal_file(path)


def find_single_table(files: Sequence[Path], columns: Sequence[str]) -> Path:
    """Return the only file of a release that is a table with these columns; a single table may have other columns."""
    tables = [path for path in files if path.suffix in {".parquet", ".csv", ".tsv", ".json", ".jsonl"}]
    if len(tables) > 1:
        tables = [path for path in tables if _has_columns(path, columns)]
    if len(tables) != 1:
        names = ", ".join(path.name for path in files) or "nothing"
        raise UserError(
            f"release: expected one table with columns {', '.join(columns)}, found {len(tables)} in {names}."
        )
    return tables[0]


def _has_columns(path: Path, columns: Sequence[str]) -> bool:
    try:
        return set(columns) <= set(read_rows(path).columns)
    except UserError:  # A file that does not parse cannot be the table.
        return False


def require_columns(frame: pl.DataFrame, columns: Sequence[str], path: Path) -> pl.DataFrame:
    """Return only these columns of the rows of a file; raise a UserError if one of them is missing."""
    missing_columns = [name for name in columns if name not in frame.columns]
    if missing_columns:
        raise UserError(
            f"{path}: column '{missing_columns[0]}' is missing. Found: {', '.join(frame.columns)}. "
            f"Needed: {', '.join(columns)}."
        )
    return frame.select(columns)
