"""Test the counts of failed answers, the health of runs, and items with too long texts."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.annotations import has_only_short_texts
from reprise.benchmarks.keys import RequestsKey
from reprise.core.schemas import ITEMS, METRICS, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.settings import Key
from reprise.external.answers import NO_ANSWER
from reprise.stages import health, requests
from reprise.stages.metrics import count_failed_answers

from tests.unit.rows import item_row, response_row
from tests.unit.tables.world import metric_row


def count_failures(folder: Path, *errors: str) -> list[tuple[float, int, int, str]]:
    rows = [response_row(f"i{n}#pos", error=error, message=f"message {n}") for n, error in enumerate(errors)]
    path = folder / "responses.parquet"
    write_table(pl.DataFrame(rows, schema=RESPONSES), path, RESPONSES)
    return [
        (row["value"], row["requested"], row["scored"], row["note"]) for row in count_failed_answers([path], "answers")
    ]


def test_failures_are_counted_by_reason_with_an_example(tmp_path: Path) -> None:
    counts = count_failures(tmp_path, "", "timeout", "failed", "timeout", "")
    assert counts == [(3.0, 5, 2, "2 timeout, 1 failed, such as: message 1")]
    assert count_failures(tmp_path, "", NO_ANSWER) == [], "no model failed"


def write_metrics(path: Path, run: str, shares: dict[str, float]) -> Path:
    rows = [metric_row(run, "health_read_by", f"answers: {rule}", share) for rule, share in shares.items()]
    rows.append(metric_row(run, "strict", "average", 50.0))
    write_table(pl.DataFrame(rows, schema=METRICS), path, METRICS)
    return path


def test_each_health_check_of_each_run_has_a_row(tmp_path: Path) -> None:
    first = write_metrics(tmp_path / "one.parquet", "v/entail/fps1/one", {"leading word": 75.0, "unparsed": 25.0})
    second = write_metrics(tmp_path / "two.parquet", "v/entail/fps1/two", {"=stated": 100.0})
    out = tmp_path / "health.csv"
    health.main(Key(), [], out)
    assert out.read_text() == "run,judge,metric,group,value,requested,note\n", "a suite without runs has a header"
    health.main(Key(), [first, second], out)
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["run"][-3:], row["metric"], row["group"], row["value"]) for row in rows] == [
        ("one", "health_read_by", "answers: leading word", "75.0"),
        ("one", "health_read_by", "answers: unparsed", "25.0"),
        ("two", "health_read_by", "answers: =stated", "100.0"),
    ]


def make_captions(positive: str) -> list[dict[str, str]]:
    return [{"name": "positive", "text": positive}, {"name": "negative", "text": "n"}]


def list_requested_items(folder: Path, items: pl.DataFrame, **settings: Any) -> list[str]:
    write_table(items, folder / "items.parquet", ITEMS)
    key = {"benchmark": "velociti", "form": "entail", "request_type": "score", "max_tokens": 1}
    key |= {"prompt": {"system": "", "user": "{caption}"}}
    requests.main(RequestsKey.model_validate(key | settings), folder / "items.parquet", folder / "r.parquet")
    return read_table(folder / "r.parquet", REQUESTS)["item_id"].unique(maintain_order=True).to_list()


def test_items_with_too_long_texts_have_no_requests(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The limit is a setting, and counts characters."""
    rows = [item_row("long", texts=make_captions("x" * 10**6)), item_row("short", texts=make_captions("é" * 5))]
    items = pl.DataFrame(rows, schema=ITEMS)
    caplog.set_level("INFO")
    assert list_requested_items(tmp_path, items) == ["short"]
    assert "1 items without requests: a text has more than 200000 characters" in caplog.text
    assert (
        list_requested_items(tmp_path, items, text_chars_max=5) == ["short"]
        and list_requested_items(tmp_path, items, text_chars_max=4) == []
    )
    assert pl.DataFrame([item_row("none")], schema=ITEMS).filter(has_only_short_texts(4)).height == 1
