"""YAML files that are bombs, broken, or no files: one message with the file and, where there is one, the line."""

import os
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.yaml_files import load_yaml

LEVELS = "\n".join(
    [f"a0: &a0 [{', '.join(['x'] * 9)}]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
)
MERGES = "\n".join(
    ["a0: &a0 {k: 1}"] + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 30)]
)
BAD = {
    "aliases": (LEVELS, "line 6: not valid YAML: aliases"),
    "merges": (MERGES, "not valid YAML: aliases"),
    "itself": ("a: &a [1, *a]", "line 1: not valid YAML: an alias that contains itself"),
    "itself-merged": ("a: &a {<<: *a}", "not valid YAML"),
    "deep": ("[" * 5000, "not valid YAML"),
    "deep-blocks": ("\n".join(" " * n + "a:" for n in range(3000)), "nested too deeply"),
    "date": ("a: 2001-99-99", "not valid YAML"),
    "object": ("a: !!python/object/apply:os.system ['true']", "line 1: not valid YAML"),
    "control": ("a: b\0c", "not valid YAML"),
    "large": ("a: " + "x" * 8_000_001, "a YAML file may have"),
    "twice": ("a: 1\nb: 2\na: 3\n", "line 3: not valid YAML: duplicate key 'a'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_message(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    content, words = BAD[name]
    path.write_text(content)
    with pytest.raises(UserError, match=words) as caught:
        load_yaml(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 600


def test_what_is_no_file_or_no_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"a: 1\nb: caf\xe9\n")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    for name in ("bad", "pipe", "folder", "loop", "none"):
        with pytest.raises(UserError, match="line 2: not UTF-8|no file|no such file|cannot be read"):
            load_yaml(tmp_path / f"{name}.yaml")


def test_ordinary_aliases_and_merges_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]\n")
    assert load_yaml(tmp_path / "a.yaml") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": [{"x": 1}, {"x": 1}]}
    (tmp_path / "a.yaml").write_text("# nothing\n")
    assert load_yaml(tmp_path / "a.yaml") is None
