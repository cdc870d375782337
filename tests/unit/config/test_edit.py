"""Test adding an item to a list in a user's file: only the item changes, or the file stays unchanged."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reprise.config.edit import put_item, restore_unless_kept
from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.yaml_files import load_yaml

from tests.unit.permissions import OBEY_PERMISSIONS

NEW_ITEM = {"model": "new", "benchmarks": ["vinoground"]}
NEW_ITEM_TEXT = "{model: new, benchmarks: [vinoground]}"


def is_new(item: Any) -> bool:
    return item in ("new", "on") or (isinstance(item, dict) and item["model"] == "new")


@pytest.mark.parametrize(
    ("before", "item", "after"),
    [
        ("run: [none]\nshards: 1\n", "new", "run: [none, new]\nshards: 1\n"),
        ("run: [a,\n  b]  # two\n", "new", "run: [a,\n  b, new]  # two\n"),
        ("# top\nrun:\n  - a  # first\n\n# next\nshards: 1\n", NEW_ITEM, f"# top\nrun:\n  - a  # first\n  - {NEW_ITEM_TEXT}\n\n# next\nshards: 1\n"),
        ("run:\n  - new\n  - b\n", NEW_ITEM, f"run:\n  - {NEW_ITEM_TEXT}\n  - b\n"),
        ("run: [{model: new, benchmarks: [a]}, b]\n", NEW_ITEM, f"run: [{NEW_ITEM_TEXT}, b]\n"),
        ("shards: 1\n# the end\n", "on", "shards: 1\n# the end\n\nrun:\n  - 'on'\n"),
        ("run: [a, new]\n", "new", "run: [a, new]\n"),
    ],
)  # fmt: skip
def test_only_the_item_changes(before: str, item: Any, after: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(before)
    put_item(file, "run", item, is_new)
    assert file.read_text() == after
    assert item in load_yaml(file)["run"]
    put_item(file, "run", item, is_new)
    assert file.read_text() == after, "a second call changes nothing"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("run: [none]\nshards: 1\n", "run: [new, none]\nshards: 1\n"),
        ("run: []\n", "run: [new]\n"),
        ("run:\n  # people\n  - a  # first\n  - {model: b}\nshards: 1\n", "run:\n  # people\n  - new\n  - a  # first\n  - {model: b}\nshards: 1\n"),
        ("run:\n- a\n", "run:\n- new\n- a\n"),
        ("shards: 1\n", "shards: 1\n\nrun:\n  - new\n"),
        ("run: [a, new]\n", "run: [a, new]\n"),
    ],
)  # fmt: skip
def test_an_item_becomes_the_first(before: str, after: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(before)
    put_item(file, "run", "new", is_new, is_first=True)
    assert file.read_text() == after


@pytest.mark.parametrize(
    "before",
    [
        "run: none\n",  # the value is not a list
        "run: &all [a]\nother: *all\n",  # a change of the list would change `other` too
        "run:\n  - model: new\n    benchmarks:\n    - a\n  - b\n",  # the old item has several lines
    ],
)
def test_an_unsupported_change_is_rejected(before: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(before)
    with pytest.raises(UserError) as error:
        put_item(file, "run", NEW_ITEM, is_new)
    assert str(error.value) == f"{file}: `run` cannot be changed here. Write this into it by hand: {NEW_ITEM_TEXT}"
    assert file.read_text() == before


@pytest.mark.parametrize("error", [UserError("refused"), KeyboardInterrupt()], ids=["error", "ctrl-c"])
def test_files_are_restored_byte_for_byte(error: BaseException, tmp_path: Path) -> None:
    old, new, text = tmp_path / "suite.yaml", tmp_path / "config/models/new.yaml", b"run: [a]\r\n# \xc3\xa4 \n"
    old.write_bytes(text)
    with pytest.raises(type(error)), restore_unless_kept([old, new]):
        write_text(old, "run: [a, b]\n")
        write_text(new, "label: New\n")
        raise error
    assert old.read_bytes() == text and [*tmp_path.iterdir()] == [old], "new files and folders are gone"


def test_files_are_kept_on_request(tmp_path: Path) -> None:
    file = tmp_path / "config/new.yaml"
    with pytest.raises(KeyboardInterrupt), restore_unless_kept([file]) as keep_files:
        write_text(file, "label: New\n")
        keep_files()
        raise KeyboardInterrupt
    assert file.read_text() == "label: New\n"


def test_a_new_folder_with_files_of_others_stays(tmp_path: Path) -> None:
    file = tmp_path / "config/models/new.yaml"
    with restore_unless_kept([file]):
        write_text(file, "label: New\n")
        write_text(tmp_path / "config/notes.txt", "mine")
    assert [*(tmp_path / "config").iterdir()] == [tmp_path / "config/notes.txt"]


def test_a_file_is_restored_where_no_second_file_fits(tmp_path: Path) -> None:
    """The folder has no write permission, as a full disk has no room."""
    file = tmp_path / "suite.yaml"
    file.write_text("run: [a, b]\n")
    tmp_path.chmod(0o555)
    program = (
        "import sys; from pathlib import Path; from reprise.config.edit import restore_file; "
        "restore_file(Path(sys.argv[1]), b'run: [a]\\n')"
    )
    subprocess.run([*OBEY_PERMISSIONS, sys.executable, "-c", program, str(file)], check=True)
    tmp_path.chmod(0o755)
    assert file.read_text() == "run: [a]\n" and list(tmp_path.iterdir()) == [file]
