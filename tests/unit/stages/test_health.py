"""The health of all runs as one csv file."""

import csv
from pathlib import Path

import polars as pl
from reprise.core.keyfile import Key
from reprise.core.schemas import METRICS, write_table
from reprise.stages.health import main


def metrics(path: Path, run: str, shares: dict[str, float]) -> Path:
    rows = [
        {"run": run, "judge": None, "metric": "health_read_by", "group": f"answers: {by}", "value": share, "asked": 8}
        for by, share in shares.items()
    ]
    rows.append({"run": run, "metric": "strict", "group": "average", "value": 50.0, "asked": 8})
    whole = [dict.fromkeys(METRICS) | row for row in rows]
    write_table(pl.DataFrame(whole, schema=METRICS), path, METRICS)
    return path


def test_a_row_for_each_number_of_health_of_each_run(tmp_path: Path) -> None:
    one = metrics(tmp_path / "one.parquet", "v/entail/fps1/one", {"leading word": 75.0, "unread": 25.0})
    two = metrics(tmp_path / "two.parquet", "v/entail/fps1/two", {"=stated": 100.0})
    out = tmp_path / "health.csv"
    main(Key(), [one, two], out)
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["run"][-3:], row["metric"], row["group"], row["value"]) for row in rows] == [
        ("one", "health_read_by", "answers: leading word", "75.0"),
        ("one", "health_read_by", "answers: unread", "25.0"),
        ("two", "health_read_by", "answers: =stated", "100.0"),
    ]


def test_a_suite_without_runs_has_a_header(tmp_path: Path) -> None:
    main(Key(), [], tmp_path / "health.csv")
    assert (tmp_path / "health.csv").read_text() == "run,judge,metric,group,value,asked,note\n"
