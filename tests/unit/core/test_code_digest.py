"""Digests of code: blind to comments, docstrings and imports for type checkers, awake to statements."""

from pathlib import Path

import pytest
from reprise.core.code_digest import CodeDigests

A = "from reprise.b import two\n\n\ndef one():\n    return two() + LIMIT\n\n\nLIMIT = 3\n"
B = "def two():\n    from reprise.lazy import four\n\n    return four() / 2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "reprise"
    package.mkdir()
    for name, text in {"a": A, "b": B, "lazy": "def four():\n    return 4\n", "apart": "x = 1\n"}.items():
        (package / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text", "is_changed"),
    [
        ("a", A, False),
        ("a", f"# note\n{A}", False),
        ("a", f'"""Doc."""\n{A}', False),
        ("a", A.replace("    return", '    """Doc."""\n    return'), False),
        ("a", f'{A}"""what the limit is"""\n', False),
        ("a", f"from typing import TYPE_CHECKING\n{A}", True),
        ("a", f"if TYPE_CHECKING:\n    from reprise.apart import x\n{A}", False),
        ("a", A.replace("+", "-"), True),
        ("a", A.replace("3", "4"), True),
        ("b", B.replace("2", "2.0"), True),
        ("lazy", "def four():\n    return 5\n", True),
        ("apart", "x = 2\n", False),
    ],
)
def test_what_a_change_reaches(folder: Path, file: str, text: str, is_changed: bool) -> None:
    before = CodeDigests(folder).closure(["reprise.a"])
    (folder / f"reprise/{file}.py").write_text(text)
    assert (CodeDigests(folder).closure(["reprise.a"]) != before) == is_changed


def test_several_modules_and_what_is_left_out(folder: Path) -> None:
    code = CodeDigests(folder)
    assert code.closure(["reprise.a", "reprise.apart"]) == code.closure(["reprise.apart", "reprise.b", "reprise.a"])
    assert code.closure(["reprise.a"], without=("reprise.l*",)) != code.closure(["reprise.a"])
    before = CodeDigests(folder).closure(["reprise.a"], without=("reprise.l*",))
    (folder / "reprise/lazy.py").write_text("")
    assert CodeDigests(folder).closure(["reprise.a"], without=("reprise.l*",)) == before
