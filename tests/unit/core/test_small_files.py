"""Test suggested names, run names, manifests of all suites, job logs, and column types."""

from pathlib import Path

import polars as pl
import pytest
from reprise.core.errors import MachineError, UserError, describe_choices
from reprise.core.files import draft_folder
from reprise.core.log import TAIL_BYTES, Progress, find_last_error, read_last_progress
from reprise.core.paths import Results, Run
from reprise.core.schemas import REQUESTS, read_table, write_table


def test_names_with_commas_are_quoted() -> None:
    assert describe_choices("tow", ["one", "two"]) == " Did you mean 'two'? Allowed: one, two."
    assert describe_choices("A", ["Qwen2, blind", "A, 8 frames"]) == " Allowed: 'A, 8 frames', 'Qwen2, blind'."


@pytest.mark.parametrize(("log", "expected"), [
    ("", ""),
    ("10 of 40 requests, 2.0 a second, about 15 s left\n", ""),
    ("10 of 40 requests\nError: a/b: no such file\n", "Error: a/b: no such file"),
    ("Error: two\nof it\nand more\n", "Error: two\nof it\nand more"),
    ('Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n', "KeyError: 1"),
    ("x\n" * TAIL_BYTES + "Error: at the end\n", "Error: at the end"),
    ("\xff not text\nError: odd bytes\n", "Error: odd bytes"),
])  # fmt: skip
def test_the_last_error_of_a_log_is_found(tmp_path: Path, log: str, expected: str) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(log.encode("latin-1"))
    assert find_last_error(path) == expected and find_last_error(tmp_path / "none.log") == ""


def test_progress_lines_are_parsed(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(f"{Progress(10, 40, 2.0, 15.0)}\nLoading.\n{Progress(20, 40, 2.5, 8.0)}\nanother line\n")
    assert read_last_progress(log) == Progress(20, 40, 2.5, 8.0)
    assert read_last_progress(tmp_path / "none.log") is None


@pytest.mark.parametrize("name", ["", "b", "b/p/s", "b/p/s/m/j", "b//s/m"])
def test_an_invalid_name_of_a_run_is_rejected(name: str) -> None:
    assert Run.parse("b/p.judged/s/m") == Run("b", "p.judged", "s", "m")
    with pytest.raises(UserError, match=f"'{name}' is not the name of a run. Runs are named <benchmark>/<protocol>/"):
        Run.parse(name)


def test_manifests_of_all_suites_are_listed(tmp_path: Path) -> None:
    for suite in ("one", "two"):
        path = Results(suite, tmp_path).manifest("sources", "b", 3)
        path.parent.mkdir(parents=True)
        path.touch()
        path.with_name(".3.4242.tmp.parquet").touch()  # left by a job that was killed while it wrote
    (tmp_path / "tables").mkdir()
    assert [results.suite for results in Results.list_all(tmp_path)] == ["one", "two"]
    (manifest,) = Results("two", tmp_path).existing_manifests("sources")
    assert manifest == ("b", 3, tmp_path / "two/sources/b/3.parquet")
    construction_manifest = Results("two", tmp_path).construction("b", "clips") / "1.parquet"
    construction_manifest.parent.mkdir(parents=True)
    construction_manifest.touch()
    assert list(Results("two", tmp_path).existing_manifests("clips")) == [("b", 1, construction_manifest)]


def test_a_column_of_another_type_is_named_even_if_unused(tmp_path: Path) -> None:
    path, wrong_schema = tmp_path / "r.parquet", pl.Schema(REQUESTS | {"prompt": pl.Int32})
    write_table(pl.DataFrame(schema=wrong_schema), path, wrong_schema)
    with pytest.raises(UserError, match=r"r\.parquet: column 'prompt' is Int32, expected String\. Delete the file"):
        read_table(path, REQUESTS, skipped_columns=("prompt",))


def test_a_draft_replaces_files_only_if_it_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "new/folder"
    with pytest.raises(ValueError, match="stop"), draft_folder(folder) as draft:
        (draft / "a.txt").write_text("half")
        raise ValueError("stop")
    assert list(tmp_path.iterdir()) == []
    for number in (1, 2):
        with draft_folder(folder) as draft:
            (draft / "parts").mkdir()
            (draft / "parts/same.txt").write_text(str(number))
            (draft / f"parts/{number}.txt").touch()
    assert sorted(path.name for path in folder.rglob("*")) == ["1.txt", "2.txt", "parts", "same.txt"]
    assert (folder / "parts/same.txt").read_text() == "2"
    message = rf"^{folder} cannot be written \(No space left on device\)"
    with pytest.raises(MachineError, match=message), draft_folder(folder):
        Path("/dev/full").write_text("x")
