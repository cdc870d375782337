"""The command lines that TRAINING.md shows reach the functions that train and measure."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from training import dual, measure, ranks, text_only
from training.__main__ import View, app

SHOWN = re.findall(
    r"^ {4}PYTHONPATH=resources/demo python -m training ([^#\n]+)",
    (Path(__file__).parents[4] / "resources/demo/TRAINING.md").read_text(),
    re.MULTILINE,
)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What a command called, in place of the hours that it takes."""
    record = SimpleNamespace(name="", arguments=())
    for module, name in ((ranks, "train"), (dual, "train_siglip"), (text_only, "train_text"), (measure, "measure")):
        monkeypatch.setattr(module, name, lambda *given, name=name: vars(record).update(name=name, arguments=given))
    return record


@pytest.mark.parametrize("command", SHOWN)
def test_what_the_document_shows(command: str, called: SimpleNamespace) -> None:
    words = shlex.split(command)
    app(words, standalone_mode=False)
    assert called.name == words[0].replace("-", "_")
    shown = {Path(word) for word in words[1:] if not word.startswith("--")}
    assert {value for value in called.arguments if isinstance(value, Path)} == shown
    if called.name == "train":
        assert called.arguments[2] == ("--resume" in words)
    if called.name == "measure":
        assert called.arguments[2] == [view.value for view in View]


def test_every_command_is_shown() -> None:
    assert {command.split()[0] for command in SHOWN} == {"train", "train-siglip", "train-text", "measure"}
