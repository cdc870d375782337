"""What is wrong with imported answers, counted by run."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reprise.core.checksums import sealed_text
from reprise.core.paths import Results


def read_problems(paths: Sequence[Path], results: Results) -> dict[str, Counter[str]]:
    """Run, or run and judge -> problem -> how often; questions without an answer are counted as failed elsewhere."""
    found = {}
    for path in paths:
        with sealed_text(path).open(encoding="utf-8", newline="") as stream:
            found[results.name_of_problems(path)] = Counter(
                row["problem"] for row in csv.DictReader(stream) if row["file"]
            )
    return found
