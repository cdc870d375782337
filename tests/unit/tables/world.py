"""Make the numbers, specifications and published values of tables for tests."""

from pathlib import Path
from typing import Any

from reprise.tables.published import COLUMNS, PublishedTable


def metric_row(run: str, name: str, group: str, value: float | None, **changes: Any) -> dict[str, Any]:
    """Return a row of METRICS."""
    row = {
        "run": run, "judge": None, "metric": name, "group": group, "value": value, "low": value, "high": value,
        "p_chance": 0.5, "requested": 10, "scored": 10, "failed": 0, "unparsed": 0, "missing": 0, "convention": "fixed",
        "extractor": "robust", "key": "f" * 64,
    }  # fmt: skip
    return row | changes


def table_key(spec: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the key of a VELOCITI table."""
    return {
        "benchmark": "velociti", "benchmark_title": "VELOCITI", "paper": "P", "table": "table2", "suite": "s",
        "suite_title": "S", "missing_share_max": 0.1, "failed_share_max": 0.1, "show_published": True,
        "spec": {"title": "T", "caption": "C."} | spec, "forms": {}, "runs": [],
    } | changes  # fmt: skip


def published(folder: Path, *lines: str, table: str = "table2") -> PublishedTable:
    path = folder / "velociti.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    return PublishedTable(path, table)
