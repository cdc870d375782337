"""Digests of code: blind to comments and docstrings, awake to statements."""

from pathlib import Path

import pytest
from reprise.core import code_digest as code


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(code, "WORKFLOW", tmp_path)
    folder = tmp_path / "reprise"
    folder.mkdir()
    (folder / "a.py").write_text("from reprise.b import two\n\n\ndef one():\n    return two() + LIMIT\n\n\nLIMIT = 3\n")
    (folder / "b.py").write_text("def two():\n    return 2\n\n\ndef other():\n    return 5\n")
    (folder / "c.py").write_text("x = 1\n")
    return folder


def digests() -> tuple[str, str]:
    for function in (
        code._closure,
        code._tree,
        code._imports,
        code._statements_digest,
        code.closure_digest,
    ):
        function.cache_clear()
    return (
        code.closure_digest("reprise.a"),
        code.modules_digest(["reprise.a"]),
    )


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("a.py", "# note\nfrom reprise.b import two\n\ndef one():\n    '''Doc.'''\n    return two() + LIMIT\n\nLIMIT = 3\n", (0, 0)),
        ("a.py", "from reprise.b import two\ndef one():\n    return two() - LIMIT\nLIMIT = 3\n", (1, 1)),
        ("a.py", "from reprise.b import two\ndef one():\n    return two() + LIMIT\nLIMIT = 4\n", (1, 1)),
        ("a.py", "from reprise.b import two\ndef one():\n    return two() + LIMIT\nLIMIT = 3\nOTHER = 1\n", (1, 1)),
        ("b.py", "def two():\n    return 2.5\n\n\ndef other():\n    return 5\n", (1, 0)),
        ("c.py", "x = 2\n", (0, 0)),
    ],
)  # fmt: skip
def test_what_a_change_reaches(package: Path, file: str, text: str, changed: tuple[int, int]) -> None:
    before = digests()
    (package / file).write_text(text)
    after = digests()
    assert tuple(int(one != other) for one, other in zip(before, after, strict=True)) == changed
