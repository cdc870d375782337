"""The command lines that TRAINING.md shows reach the functions that train and measure."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from training import dual, measure, ranks, text_only
from training.__main__ import View, app

SHOWN = re.findall(
    r"^ {4}PYTHONPATH=resources/demo python -m training ([^#\n]+)",
    (Path(__file__).parents[4] / "resources/demo/TRAINING.md").read_text(),
    re.MULTILINE,
)


def test_what_the_document_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands; a function is noted with what it was given, in place of the hours that it takes."""
    called: list[tuple[str, tuple[Any, ...]]] = []
    for module, name in ((ranks, "train"), (dual, "train_siglip"), (text_only, "train_text"), (measure, "measure")):
        monkeypatch.setattr(module, name, lambda *given, name=name: called.append((name, given)))
    for words in map(shlex.split, SHOWN):
        app(words, standalone_mode=False)
        name, given = called.pop()
        assert name == words[0].replace("-", "_")
        assert {value for value in given if isinstance(value, Path)} == {Path(w) for w in words[1:] if w[:2] != "--"}
        assert name != "train" or given[2] == ("--resume" in words)
        assert name != "measure" or given[2] == [view.value for view in View]
    assert {command.split()[0] for command in SHOWN} == {"train", "train-siglip", "train-text", "measure"}
