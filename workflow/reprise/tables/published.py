"""Read the numbers of the papers, which are transcribed in `resources/published/<paper>.csv`."""

import re
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.paths import locate
from reprise.core.tabular import read_csv_rows

COLUMNS = ("paper", "table", "row", "frames", "group", "metric", "value")


def published_path(benchmark: str) -> Path:
    """Return the csv file with the numbers that a benchmark's paper prints."""
    return locate(f"resources/published/{benchmark}.csv")


class PublishedNumber(NamedTuple):
    """A number as a paper prints it: 1.60 has two decimals."""

    value: float
    decimals: int

    @classmethod
    def parse(cls, text: str) -> "PublishedNumber":
        """Return the number of a text such as `1.60`."""
        return cls(float(text), len(text.partition(".")[2]))


class PublishedTable:
    """Published values of a table by row, frames, group and metric; empty if the suite does not show them."""

    def __init__(self, path: Path | None, table: str | None) -> None:
        # Numbers by row, frames, group and metric.
        self._values: dict[tuple[str, str, str, str], PublishedNumber] = {}
        if path is not None and not path.is_file():
            raise UserError(f"{path}: no such file. The paper's published numbers belong there.")
        for line_number, row in enumerate(read_csv_rows(path, COLUMNS) if path else (), start=2):
            if not re.fullmatch(r"-?\d+(\.\d+)?", row["value"]):
                raise UserError(
                    f"{path}: line {line_number}: value '{row['value']}' is not a number. Write a plain number such as "
                    "43.1, or remove the line if the paper prints none."
                )
            identity = (row["row"], row["frames"], row["group"], row["metric"])
            if row["table"] == table and identity in self._values:
                raise UserError(
                    f"{path}: line {line_number}: {table} has {identity} (row, frames, group, metric) twice. "
                    "Change one of the lines or remove it."
                )
            if row["table"] == table:
                self._values[identity] = PublishedNumber.parse(row["value"])

    def get(self, row: str, frames: str | None, group: str, metric: str) -> PublishedNumber | None:
        """Return a published value, or None.

        Without `frames`, the value must be the only one of its row, group and metric.
        """
        if frames is not None:
            return self._values.get((row, frames, group, metric))
        matches = [
            number
            for (number_row, _, number_group, number_metric), number in self._values.items()
            if (number_row, number_group, number_metric) == (row, group, metric)
        ]
        return matches[0] if len(matches) == 1 else None

    def metric_values(self, metric: str) -> list[tuple[str, float]]:
        """Return the row's label and the published value of each number of a metric."""
        return [
            (row, number.value)
            for (row, _, _, number_metric), number in self._values.items()
            if number_metric == metric
        ]
