"""Adding an item to a list of a user's file: nothing else in the file changes, or nothing at all."""

from pathlib import Path
from typing import Any

import pytest
from reprise.config.edit import put_item
from reprise.core.errors import UserError
from reprise.core.yaml_files import load_yaml

LINE = {"model": "new", "benchmarks": ["vinoground"]}
WRITTEN = "{model: new, benchmarks: [vinoground]}"


def is_new(item: Any) -> bool:
    return item in ("new", "on") or (isinstance(item, dict) and item["model"] == "new")


@pytest.mark.parametrize(
    ("before", "item", "after"),
    [
        ("run: [none]\nshards: 1\n", "new", "run: [none, new]\nshards: 1\n"),
        ("run: [a,\n  b]  # two\n", "new", "run: [a,\n  b, new]  # two\n"),
        ("# top\nrun:\n  - a  # first\n\n# next\nshards: 1\n", LINE, f"# top\nrun:\n  - a  # first\n  - {WRITTEN}\n\n# next\nshards: 1\n"),
        ("run:\n  - new\n  - b\n", LINE, f"run:\n  - {WRITTEN}\n  - b\n"),
        ("run: [{model: new, benchmarks: [a]}, b]\n", LINE, f"run: [{WRITTEN}, b]\n"),
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
    assert file.read_text() == after, "the second time nothing changes"


@pytest.mark.parametrize(
    "before",
    [
        "run: none\n",  # it is no list
        "run: &all [a]\nother: *all\n",  # a change of one is a change of both
        "run:\n  - model: new\n    benchmarks:\n    - a\n  - b\n",  # the item that is replaced takes several lines
    ],
)
def test_a_change_of_several_lines_is_left_to_the_user(before: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(before)
    with pytest.raises(UserError) as error:
        put_item(file, "run", LINE, is_new)
    assert str(error.value) == f"{file}: `run` cannot be changed here. Write this into it by hand: {WRITTEN}"
    assert file.read_text() == before
