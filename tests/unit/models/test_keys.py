"""The key of a model's answers: the code that asks and reads is in it, what only lists or carries questions is not; and
which code gives the answers of earlier code."""

import shutil
from pathlib import Path

import pytest
from reprise.core.code_digest import WORKFLOW, CodeDigests
from reprise.models.adapters import ADAPTERS
from reprise.models.same_answers import SAME_ANSWERS, known_code
from reprise.plan.run_keys import LEFT_OUT_OF_ANSWERS

from tests.unit.models.adapters import tiny

MODULES = {name: [info.target.partition(":")[0]] for name, info in ADAPTERS.items() if not info.is_import}
# A program of one's own is asked by `openai` through a server of ours.
MODULES["program"] = [*MODULES["openai"], "reprise.models.remote.serving.program_server"]


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A copy of the library."""
    return Path(shutil.copytree(WORKFLOW, tmp_path / "workflow", ignore=shutil.ignore_patterns("__pycache__")))


def digests(code: Path) -> dict[str, str]:
    found = CodeDigests(code)
    return {name: found.closure(modules, LEFT_OUT_OF_ANSWERS) for name, modules in MODULES.items()}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("adapters", set()),  # a new adapter is listed there
        ("remote/sending", set()),  # in what order questions go
        ("remote/openai", {"openai", "program"}),
        ("remote/gemini", {"gemini"}),
        ("local/stand_ins/wordmatch", {"wordmatch"}),
        ("base", set(MODULES)),
    ],
)
def test_which_keys_a_change_reaches(code: Path, file: str, changed: set[str]) -> None:
    before = digests(code)
    with (code / f"reprise/models/{file}.py").open("a") as stream:
        stream.write("\nADDED = 1\n")
    after = digests(code)
    assert {name for name in MODULES if before[name] != after[name]} == changed


FIRST = {
    "transformers": "82781fc914b6f695", "contrastive": "4814caa4eef60319", "text": "63131dabd8741aa1",
    "openai": "0a8f55a7caf0bebf", "anthropic": "3a4183d14d462ae8", "gemini": "43953da9dc12a4dc",
    "wordmatch": "6cd8f50bb226f01f", "templates": "01e0617d286b2593", "lastletter": "089622a3a9b01afc",
    "program": "3326b9d48962bd72", "oracle": "7c93e55a92b0aeb0", "constant": "7c93e55a92b0aeb0", "random": "7c93e55a92b0aeb0",
}  # fmt: skip
"""Adapter -> the code under which its answers have been known; raised to today's where a change alters them. Digests are
those of Python 3.11: another version reads the same code in other words, and has had other keys from the start."""


def test_a_change_of_code_is_decided_about() -> None:
    """Does it alter an answer? If not, the lines go into `same_answers.py`; if so, the digest goes into FIRST here."""
    now = digests(WORKFLOW)
    new = {name: code for name, code in now.items() if name not in FIRST}
    assert not new, f"new adapters, whose digests go into FIRST: {new}"
    undecided = {code: FIRST[name] for name, code in now.items() if known_code(code, None) != FIRST[name]}
    lines = "".join(f'    "{code}": "{first}",\n' for code, first in undecided.items())
    assert not undecided, f"these lines are not in SAME_ANSWERS:\n{lines}"
    assert SAME_ANSWERS.keys() <= set(now.values()), "a line of code that is gone"


def test_a_checkpoint_that_wrote_otherwise_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SAME_ANSWERS, "new", "old")
    folder = tiny.llama(tmp_path / "m")
    assert known_code("new", str(folder)) == known_code("new", None) == "old" and known_code("else", None) == "else"
    tiny.change(folder / "generation_config.json", repetition_penalty=1.1, do_sample=True)
    assert known_code("new", str(folder)) == "old", "what stays, and what was overruled already"
    tiny.change(folder / "generation_config.json", use_cache=False)
    assert known_code("new", str(folder)) == "new"
    (folder / "generation_config.json").unlink()
    assert known_code("new", str(folder)) == "old"
    tiny.change(folder / "config.json", num_beams=4)
    assert known_code("new", str(folder)) == "new"
