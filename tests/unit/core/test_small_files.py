"""Names to choose from, names of runs, manifests of all suites, the end of a job's log, and tables of rows."""

from pathlib import Path

import polars as pl
import pytest
from reprise.core.errors import UserError, describe_choices
from reprise.core.log import TAIL_BYTES, Progress, find_last_error, read_last_progress
from reprise.core.paths import Results, Run
from reprise.core.schemas import REQUESTS, read_table, write_table


def test_names_with_commas_are_quoted() -> None:
    assert describe_choices("tow", ["one", "two"]) == " Did you mean 'two'? Allowed: one, two."
    assert describe_choices("A", ["Qwen2, blind", "A, 8 frames"]) == " Allowed: 'A, 8 frames', 'Qwen2, blind'."


@pytest.mark.parametrize(("log", "words"), [
    ("", ""),
    ("10 of 40 requests, 2.0 a second, about 15 s left\n", ""),
    ("10 of 40 requests\nError: a/b: no such file\n", "Error: a/b: no such file"),
    ("Error: two\nof it\nand more\n", "Error: two\nof it\nand more"),
    ('Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n', "KeyError: 1"),
    ("x\n" * TAIL_BYTES + "Error: at the end\n", "Error: at the end"),
    ("\xff not text\nError: odd bytes\n", "Error: odd bytes"),
])  # fmt: skip
def test_find_last_error(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(log.encode("latin-1"))
    assert find_last_error(path) == words and find_last_error(tmp_path / "none.log") == ""


def test_progress_lines_are_parsed(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(f"{Progress(10, 40, 2.0, 15.0)}\nLoading.\n{Progress(20, 40, 2.5, 8.0)}\nanother line\n")
    assert read_last_progress(log) == Progress(20, 40, 2.5, 8.0)
    assert read_last_progress(tmp_path / "none.log") is None


@pytest.mark.parametrize("name", ["", "b", "b/p/s", "b/p/s/m/j", "b//s/m"])
def test_an_invalid_name_of_a_run_is_refused(name: str) -> None:
    assert Run.parse("b/p.judged/s/m") == Run("b", "p.judged", "s", "m")
    with pytest.raises(UserError, match=f"'{name}' is not the name of a run. Runs are named <benchmark>/<protocol>/"):
        Run.parse(name)


def test_manifests_of_all_suites_are_listed(tmp_path: Path) -> None:
    for suite in ("one", "two"):
        path = Results(suite, tmp_path).manifest("sources", "b", 3)
        path.parent.mkdir(parents=True)
        path.touch()
        path.with_name(".3.4242.tmp.parquet").touch()  # a job was killed while it wrote
    (tmp_path / "tables").mkdir()
    assert [results.suite for results in Results.list_all(tmp_path)] == ["one", "two"]
    (found,) = Results("two", tmp_path).existing_manifests("sources")
    assert found == ("b", 3, tmp_path / "two/sources/b/3.parquet")
    of_making = Results("two", tmp_path).construction("b", "clips") / "1.parquet"
    of_making.parent.mkdir(parents=True)
    of_making.touch()
    assert list(Results("two", tmp_path).existing_manifests("clips")) == [("b", 1, of_making)]


def test_a_column_of_another_type_is_named_even_if_unused(tmp_path: Path) -> None:
    path, other = tmp_path / "r.parquet", pl.Schema(REQUESTS | {"prompt": pl.Int32})
    write_table(pl.DataFrame(schema=other), path, other)
    with pytest.raises(UserError, match=r"r\.parquet: column 'prompt' is Int32, expected String\. Delete the file"):
        read_table(path, REQUESTS, without=("prompt",))
