"""VELOCITI's release, in the authors' layout."""

from collections.abc import Mapping

import polars as pl

from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.construction.filters import kept
from reprise.construction.review import as_csv
from reprise.construction.settings import VelocitiSettings

FILE = "velociti.csv"
COLUMNS = ("test_name", "video_id", "event", "pos", "neg")


def release(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> dict[str, str]:
    """File -> content. The rows are in the order of the tests, then of their ids, so that a file stays the same."""
    order = {test: place for place, test in enumerate((CONTROL, *TESTS))}
    rows = sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: (order[row["test"]], row["sample_id"]))
    released = [
        dict(zip(COLUMNS, (row[name] for name in ("test", "video", "event", "positive", "negative")), strict=True))
        for row in rows
    ]
    return {FILE: as_csv(released, COLUMNS)}
