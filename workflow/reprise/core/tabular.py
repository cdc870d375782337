"""Released tables: rows of whatever file type, with their columns checked."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_json, seal_text, sealed_text, whole_file
from reprise.core.plain import as_cell


def listed_files(listing: Path) -> dict[str, Path]:
    """The files that the stage `release` found, by name; one that is another now has the listing made again."""
    found = {}
    for entry in read_json(sealed_text(listing)):
        path = Path(entry["path"])
        if not path.is_file() or file_digest(path) != entry["sha256"]:
            listing.unlink()
            raise UserError(
                f"{path}: not the file that the release had when {listing} was made. Nothing was recorded: run the "
                "same command again, which looks at the release again."
            )
        found[entry["name"]] = path
    return found


# Strings, whose brackets count for nothing, and brackets.
BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]')
DEEPEST = 100

SEPARATORS = {".csv": ",", ".tsv": "\t"}

csv.field_size_limit(2**27)  # a cell may be longer than the csv module's own limit


def read_rows(path: Path) -> pl.DataFrame:
    """Rows of a released table of any file type, all columns unchanged."""
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".parquet": partial(pl.read_parquet, glob=False),
        ".csv": partial(pl.read_csv, infer_schema=False, glob=False),
        ".tsv": partial(pl.read_csv, infer_schema=False, glob=False, separator="\t"),
        # All rows tell a column's type: from the first 100, polars would cut the 1.5 of a later row to 1.
        ".json": partial(pl.read_json, infer_schema_length=None),
        ".jsonl": lambda path: pl.read_ndjson(path.read_bytes(), infer_schema_length=None),
    }
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise UserError(f"{path}: file type '{path.suffix}' is not known. Allowed: {', '.join(sorted(readers))}.")
    try:
        if suffix in SEPARATORS:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                _refuse_columns(path, next(csv.reader(stream, delimiter=SEPARATORS[suffix]), []))
        elif suffix in {".json", ".jsonl"}:
            _refuse_deep_nesting(path)
        return readers[suffix](path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, csv.Error) as error:
        refuse_other_encoding(path)
        what = str(error).strip().partition("\n")[0]  # polars adds how its own functions are called
        raise UserError(
            f"{path}: not readable as {path.suffix[1:]}: {what}. Fetch the file again or, if it is yours, correct it."
        ) from error


def read_own_rows(path: Path) -> pl.DataFrame:
    """Rows of a table that people write by hand: what is wrong in a csv file is named by its row."""
    if path.suffix.lower() in SEPARATORS:
        for _ in csv_lines(path):
            pass
    return read_rows(path)


def refuse_other_encoding(path: Path) -> None:
    """Name the first line of a text file that is no UTF-8."""
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


def _refuse_deep_nesting(path: Path) -> None:
    """Refuse JSON that no parser follows to its end: polars would take the whole process down with it."""
    depth = 0
    with path.open("rb") as stream:
        for line in stream:
            for sign in BRACKETS.finditer(line):
                depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(sign[0], 0)
                if depth > DEEPEST:
                    raise ValueError(f"nested more than {DEEPEST} deep")


def text_of(value: object, where: str) -> str:
    """A cell on one line; nothing where there is none. What is neither a text nor a number is a mistake."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserError(f"{where}: should be a text, found {str(value)[:60]}. Correct the row.")
    return " ".join(str(value).split())


def csv_rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    names, *rows = [cells for _, cells in csv_lines(path)] or [[]]
    if names != list(columns):
        raise UserError(f"{path}: found columns {names}, expected {', '.join(columns)}.")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The columns of a csv file and then its rows, blank ones left out, each with the line that it begins in.

    What is wrong is named by its row.
    """
    separator = SEPARATORS.get(path.suffix.lower(), ",")
    number, columns = 0, []
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=separator, strict=True)
            line = 1
            for cells in reader:
                began, line = line, reader.line_num + 1
                if not cells:
                    continue
                if not number:
                    columns = cells
                    _refuse_columns(path, columns)
                elif len(cells) != len(columns):
                    raise UserError(
                        f"{path}: row {number}: {len(cells)} cells for {len(columns)} columns ({', '.join(columns)}). "
                        "A text with a comma needs quotes around it. Correct the row, then run the same command again."
                    )
                yield began, cells
                number += 1
    except (UnicodeDecodeError, csv.Error) as error:
        refuse_other_encoding(path)
        where = f"row {number}" if number else "its columns"
        raise UserError(
            f"{path}: {where}: not readable as csv: {error}. A quote that begins there may not be closed, or one "
            "inside a text not be written twice. Correct it, then run the same command again."
        ) from error


def _refuse_columns(path: Path, columns: Sequence[str]) -> None:
    for sign, shown in ((";", "';'"), ("\t", "tabs")):
        if len(columns) == 1 and sign in columns[0]:
            raise UserError(f"{path}: its columns are separated by {shown}. Save the file as csv with commas.")
    names = [name.strip() for name in columns]
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise UserError(f"{path}: duplicate column '{twice[0]}'. Found: {', '.join(columns)}. Remove one of them.")


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    with whole_file(path) as temporary:
        frame.with_columns(pl.col(pl.String).map_elements(as_cell, return_dtype=pl.String)).write_csv(temporary)
    seal_text(path)


def only_table(files: Sequence[Path], columns: Sequence[str]) -> Path:
    """The one file of a release that is a table with these columns."""
    tables = [path for path in files if path.suffix in {".parquet", ".csv", ".tsv", ".json", ".jsonl"}]
    for path in list(tables) if len(tables) > 1 else []:
        with suppress(UserError):  # a file of another shape is not the table that is looked for
            if set(columns) <= set(read_rows(path).columns):
                continue
        tables.remove(path)
    if len(tables) != 1:
        names = ", ".join(path.name for path in files) or "nothing"
        raise UserError(
            f"release: expected one table with columns {', '.join(columns)}, found {len(tables)} in {names}."
        )
    return tables[0]


def require_columns(frame: pl.DataFrame, columns: Sequence[str], path: Path) -> pl.DataFrame:
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(frame.columns)}. "
            f"Needed: {', '.join(columns)}."
        )
    return frame.select(columns)
