"""Names to choose from, the end of a job's log, files that a key names, and tables of rows."""

from pathlib import Path

import polars as pl
import pytest
from reprise.core.errors import UserError, choices
from reprise.core.log import TAIL_BYTES, Progress, last_progress, last_words
from reprise.core.schemas import REQUESTS, read_table, table_of, write_table


def test_names_with_commas_are_told_apart() -> None:
    assert choices("tow", ["one", "two"]) == " Did you mean 'two'? Allowed: one, two."
    assert choices("A", ["Qwen2, blind", "A, 8 frames"]) == " Allowed: 'A, 8 frames', 'Qwen2, blind'."


@pytest.mark.parametrize(("log", "words"), [
    ("", ""),
    ("10 of 40 requests, 2.0 a second, about 15 s left\n", ""),
    ("10 of 40 requests\nError: a/b: no such file\n", "Error: a/b: no such file"),
    ("Error: two\nof it\nand more\n", "Error: two\nof it\nand more"),
    ('Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n', "KeyError: 1"),
    ("x\n" * TAIL_BYTES + "Error: at the end\n", "Error: at the end"),
    ("\xff not text\nError: odd bytes\n", "Error: odd bytes"),
])  # fmt: skip
def test_the_error_that_a_log_ends_with(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(log.encode("latin-1"))
    assert last_words(path) == words and last_words(tmp_path / "none.log") == ""


def test_what_a_job_says_of_its_progress_is_read_again(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(f"{Progress(10, 40, 2.0, 15.0)}\nLoading.\n{Progress(20, 40, 2.5, 8.0)}\nanother line\n")
    assert last_progress(log) == Progress(20, 40, 2.5, 8.0)
    assert last_progress(tmp_path / "none.log") is None


def test_columns_that_nobody_needs_stay_unread_but_their_types_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    write_table(table_of([{"request_id": "1", "options": [], "option_texts": []}], REQUESTS), path, REQUESTS)
    assert read_table(path, REQUESTS, without=("prompt",)).columns == [name for name in REQUESTS if name != "prompt"]
    other = pl.Schema(REQUESTS | {"prompt": pl.Int32})
    write_table(pl.read_parquet(path).with_columns(prompt=pl.lit(1)), path, other)
    with pytest.raises(UserError, match="column 'prompt' is Int32, expected String"):
        read_table(path, REQUESTS, without=("prompt",))
