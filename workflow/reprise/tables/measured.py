"""What tables are made from beside their key: measured numbers, and what is wrong with imported answers."""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from reprise.core.files import sealed_text
from reprise.core.paths import Results
from reprise.core.schemas import METRICS, read_table


def read_metrics(paths: Iterable[Path]) -> pl.DataFrame:
    """The numbers of several runs."""
    return pl.concat([pl.DataFrame(schema=METRICS), *(read_table(path, METRICS) for path in paths)])


def read_problems(paths: Iterable[Path], results: Results) -> dict[str, Counter[str]]:
    """Run, or run and judge -> problem -> how often; questions without an answer are counted as failed elsewhere."""
    found = {}
    for path in paths:
        with sealed_text(path).open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            found[results.name_of(path)] = Counter(row["problem"] for row in rows if row["file"])
    return found
