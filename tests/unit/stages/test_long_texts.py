"""A text of a release that is too long: its item is not asked, counts as missing, and the others are asked."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.flaws import flaw_numbers
from reprise.benchmarks.keys import RequestsKey
from reprise.benchmarks.rows import Item, are_short, with_long_texts_flawed
from reprise.core.schemas import ITEMS, REQUESTS, read_table, write_table
from reprise.stages.requests import main

from tests.unit.rows import item_row


def captions(positive: str) -> list[dict[str, str]]:
    return [{"name": "positive", "text": positive}, {"name": "negative", "text": "n"}]


def asked(folder: Path, items: pl.DataFrame, **more: Any) -> list[str]:
    """The items that the stage asks about."""
    write_table(items, folder / "items.parquet", ITEMS)
    key = {"benchmark": "velociti", "form": "entail", "ask": "score", "max_tokens": 1}
    key |= {"prompt": {"system": "", "user": "{caption}"}}
    main(RequestsKey.model_validate(key | more), folder / "items.parquet", folder / "r.parquet", {})
    return read_table(folder / "r.parquet", REQUESTS)["item_id"].unique(maintain_order=True).to_list()


def test_a_caption_of_a_megabyte_is_not_asked_and_the_others_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [item_row("long", texts=captions("x" * 10**6)), item_row("short", texts=captions("p"))]
    caplog.set_level("INFO")
    assert asked(tmp_path, pl.DataFrame(rows, schema=ITEMS)) == ["short"]
    assert "1 items not asked: a text of more than 200000 characters" in caplog.text


def test_the_limit_is_a_setting_and_counts_characters(tmp_path: Path) -> None:
    items = pl.DataFrame([item_row("five", texts=captions("é" * 5)), item_row("none")], schema=ITEMS)
    assert items.filter(are_short(5))["item_id"].to_list() == ["five", "none"]
    assert items.filter(are_short(4))["item_id"].to_list() == ["none"]
    assert asked(tmp_path, items.head(1), text_chars_max=5) == ["five"]
    assert asked(tmp_path, items.head(1), text_chars_max=4) == []


def test_the_reason_is_one_of_the_items_flaws() -> None:
    items = [Item("a", "c", "u", "t", {"caption": "x" * 9, "other": "y"}), Item("b", "c", "u", "t", {"caption": "x"})]
    long, short = with_long_texts_flawed(items, 8)
    assert list(long.flaws) == [
        "a: 'caption' has 9 characters, more than text_chars_max (8), so it is not asked and counts as missing"
    ]
    assert short == items[1]
    frame = pl.DataFrame([item_row("a", flaws=list(long.flaws))], schema=ITEMS)
    assert flaw_numbers(frame)[0]["value"] == 1
