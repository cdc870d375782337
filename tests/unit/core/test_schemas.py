"""Tables in and out: rows become them, and only the columns that somebody needs are read."""

import random
from pathlib import Path

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import REQUESTS, read_table, table_of, write_table


@pytest.mark.parametrize("seed", range(5))
def test_rows_become_the_table_that_polars_makes_of_them(seed: int) -> None:
    draw = random.Random(seed)
    kinds = ([], ["A", "B"], ["0", "1", "2", "3"], ["a text", ""])
    rows = [
        {"request_id": f"{number}", "prompt": draw.choice(("", "é")), "options": draw.choice(kinds),
         "option_texts": draw.choice(kinds), "max_tokens": number}
        for number in range(draw.randrange(30))
    ]  # fmt: skip
    found = table_of(rows, REQUESTS)
    assert found.equals(pl.DataFrame(rows, schema=REQUESTS))
    assert found.schema == REQUESTS


def test_columns_that_nobody_needs_stay_unread_but_their_types_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    write_table(table_of([{"request_id": "1", "options": [], "option_texts": []}], REQUESTS), path, REQUESTS)
    assert read_table(path, REQUESTS, without=("prompt",)).columns == [name for name in REQUESTS if name != "prompt"]
    other = pl.Schema(REQUESTS | {"prompt": pl.Int32})
    write_table(pl.read_parquet(path).with_columns(prompt=pl.lit(1)), path, other)
    with pytest.raises(UserError, match="column 'prompt' is Int32, expected String"):
        read_table(path, REQUESTS, without=("prompt",))
