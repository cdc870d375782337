"""The papers' numbers, as transcribed in `resources/published/<paper>.csv`."""

import re
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.paths import located
from reprise.core.tabular import csv_rows

COLUMNS = ("paper", "table", "row", "frames", "group", "metric", "value")


def published_file(benchmark: str) -> Path:
    return located(f"resources/published/{benchmark}.csv")


class Printed(NamedTuple):
    """A number as a paper prints it: 1.60 has two decimals."""

    value: float
    decimals: int

    @classmethod
    def of(cls, text: str) -> "Printed":
        return cls(float(text), len(text.partition(".")[2]))


class Published:
    """A table's published values by row, frames, group and metric; empty if the suite does not show them."""

    def __init__(self, path: Path | None, table: str | None) -> None:
        self._values: dict[tuple[str, str, str, str], Printed] = {}
        if path is not None and not path.is_file():
            raise UserError(f"{path}: no such file; it holds the paper's published numbers.")
        for number, row in enumerate(csv_rows(path, COLUMNS) if path else (), start=2):
            if not re.fullmatch(r"-?\d+(\.\d+)?", row["value"]):
                raise UserError(
                    f"{path}: line {number}: value '{row['value']}' is not a number. Write a plain one such as "
                    "43.1, or leave the line out if the paper prints none."
                )
            identity = (row["row"], row["frames"], row["group"], row["metric"])
            if row["table"] == table and identity in self._values:
                raise UserError(
                    f"{path}: line {number}: {table} has {identity} (row, frames, group, metric) already. "
                    "Tell the rows apart, or remove one."
                )
            if row["table"] == table:
                self._values[identity] = Printed.of(row["value"])

    def get(self, row: str, frames: str | None, group: str, metric: str) -> Printed | None:
        """Return a value; a row that names no frames takes the only value there is."""
        if frames is not None:
            return self._values.get((row, frames, group, metric))
        matches = [
            value for identity, value in self._values.items() if (identity[0], *identity[2:]) == (row, group, metric)
        ]
        return matches[0] if len(matches) == 1 else None

    def of_metric(self, metric: str) -> list[tuple[str, float]]:
        return [(identity[0], printed.value) for identity, printed in self._values.items() if identity[3] == metric]
