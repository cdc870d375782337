"""Who is who: people have numbers in Label Studio and names elsewhere, which count without case and outer spaces."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reprise.construction.review import Verdict, is_exported, known_as, read_typed
from reprise.core.errors import UserError
from reprise.core.tabular import csv_rows, read_own_rows

REVIEWER = "reviewer"
COLUMNS = (REVIEWER, "name")


def read_names(path: Path) -> dict[str, str]:
    """The name behind what people are called in files of answers."""
    found: dict[str, str] = {}
    for number, row in enumerate(csv_rows(path, COLUMNS), start=1):
        reviewer, name = known_as(row[REVIEWER]), known_as(row["name"])
        if not reviewer or not name:
            raise UserError(f"{path}: row {number}: an empty cell. Both columns need a text.")
        if found.setdefault(reviewer, name) != name:
            raise UserError(f"{path}: row {number}: this reviewer has another name in a row above.")  # logs name nobody
    return found


def named(verdicts: Sequence[Verdict], names: Mapping[str, str]) -> list[Verdict]:
    """The verdicts, each by the name of its person."""
    called = [(one, known_as(one.reviewer)) for one in verdicts]
    return [one._replace(reviewer=names.get(name, name)) for one, name in called]


def people_named(paths: Iterable[Path]) -> set[str]:
    """The people that files name in their column `reviewer`, and those who typed captions in Label Studio."""
    found: set[str] = set()
    for path in paths:
        if is_exported(path):
            found |= {known_as(one.reviewer) for one in read_typed([path])}
            continue
        rows = read_own_rows(path)
        if REVIEWER not in rows.columns:
            raise UserError(
                f"{path}: column '{REVIEWER}' is missing. Found: {', '.join(rows.columns)}. It names people "
                "whose answers do not count."
            )
        found |= {known_as(str(one)) for one in rows[REVIEWER].drop_nulls()}
    return found - {""}
