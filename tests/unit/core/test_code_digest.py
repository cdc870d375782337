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


@pytest.mark.parametrize(("file", "text", "is_changed"), [
    *[("a", text, False) for text in (A, f"# note\n{A}", f'"""Doc."""\n{A}', f'{A}"""what the limit is"""\n')],
    ("a", A.replace("    return", '    """Doc."""\n    return'), False),
    ("a", f"if TYPE_CHECKING:\n    from reprise.apart import x\n{A}", False),
    *[("a", text, True) for text in (f"from typing import T\n{A}", A.replace("+", "-"), A.replace("3", "4"))],
    ("b", B.replace("2", "2.0"), True),
    ("lazy", "def four():\n    return 5\n", True),
    ("apart", "x = 2\n", False),
])  # fmt: skip
def test_what_a_change_reaches(folder: Path, file: str, text: str, is_changed: bool) -> None:
    before = CodeDigests(folder).closure(["reprise.a"])
    (folder / f"reprise/{file}.py").write_text(text)
    assert (CodeDigests(folder).closure(["reprise.a"]) != before) == is_changed


def test_what_is_recorded_is_of_the_content(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, module = folder / "keys/code.jsonl", folder / "reprise/lazy.py"

    def found() -> str:
        code = CodeDigests(folder, record)
        digest = code.closure(["reprise.a"])
        code.keep()
        return digest

    before = CodeDigests(folder).closure(["reprise.a"])
    assert found() == before
    with monkeypatch.context() as patch:
        patch.setattr("ast.parse", None)
        assert found() == before, "nothing is read again"
    module.write_text("def four():\n    return 5\n")
    assert found() == CodeDigests(folder).closure(["reprise.a"]) != before
    monkeypatch.setattr("sys.version", "another Python")
    assert CodeDigests(folder, record)._recorded == {}, "another Python reads code otherwise"
