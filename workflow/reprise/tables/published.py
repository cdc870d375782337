"""The papers' own numbers, as they were transcribed: `resources/published/<paper>.csv`."""

import math
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.paths import located
from reprise.core.tabular import csv_rows

COLUMNS = ("paper", "table", "row", "frames", "group", "metric", "value")


def published_file(benchmark: str) -> Path:
    """The file of a paper's numbers."""
    return located(f"resources/published/{benchmark}.csv")


class Printed(NamedTuple):
    """A number as a paper prints it: 1.60 has two decimals."""

    value: float
    decimals: int

    @classmethod
    def of(cls, number: float) -> "Printed":
        """A number with the decimals that it is written with."""
        return cls(number, max(0, -int(Decimal(str(number)).as_tuple().exponent)))


class Published:
    """A table's published values by row, frames, group and metric; none where the suite does not show them."""

    def __init__(self, path: Path | None, table: str | None) -> None:
        self._values: dict[tuple[str, str, str, str], Printed] = {}
        if path is not None and not path.is_file():
            raise UserError(f"{path}: no such file; it holds the paper's published numbers.")
        for number, row in enumerate(csv_rows(path, COLUMNS) if path else (), start=2):
            value, where = row["value"], f"{path}: line {number}"
            try:
                exponent = Decimal(value).as_tuple().exponent
            except (ArithmeticError, TypeError):
                raise UserError(
                    f"{where}: value '{value}' is not a number. Write a plain number such as 43.1."
                ) from None
            if not isinstance(exponent, int) or math.isinf(float(value)):
                raise UserError(
                    f"{where}: value '{value}' is not finite. Leave the line out if the paper prints no number."
                )
            if row["table"] == table:
                identity = (row["row"], row["frames"], row["group"], row["metric"])
                if identity in self._values:
                    raise UserError(
                        f"{where}: {table} has {identity} (row, frames, group, metric) already. "
                        "Tell the rows apart, or remove one."
                    )
                self._values[identity] = Printed(float(value), max(0, -exponent))

    def get(self, row: str, frames: str | None, group: str, metric: str) -> Printed | None:
        """A number; a row that names no frames takes the only one there is."""
        if frames is not None:
            return self._values.get((row, frames, group, metric))
        found = [value for place, value in self._values.items() if (place[0], *place[2:]) == (row, group, metric)]
        return found[0] if len(found) == 1 else None

    def of_metric(self, metric: str) -> list[tuple[str, float]]:
        """Row and value of each number of a metric."""
        return [(place[0], printed.value) for place, printed in self._values.items() if place[3] == metric]
