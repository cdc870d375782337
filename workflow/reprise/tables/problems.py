"""What is wrong with imported answers, counted by run."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path


def read_problems(paths: Sequence[Path], suite: str) -> dict[str, Counter[str]]:
    """Run, or run and judge -> problem -> how often; questions without an answer are counted as failed elsewhere."""
    found = {}
    for path in paths:
        run = path.relative_to(f"results/{suite}").as_posix().partition("/")[2].removesuffix(".problems.csv")
        with path.open(encoding="utf-8", newline="") as stream:
            found[run] = Counter(row["problem"] for row in csv.DictReader(stream) if row["file"])
    return found
