"""The key of a model's answers: the code that asks and reads is in it, what only lists or carries questions is not."""

import shutil
from pathlib import Path

import pytest
from reprise.core.code_digest import WORKFLOW, CodeDigests
from reprise.models.adapters import ADAPTERS
from reprise.plan.run_keys import LEFT_OUT_OF_ANSWERS

MODULES = {name: info.target.partition(":")[0] for name, info in ADAPTERS.items() if not info.is_import}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A copy of the library."""
    return Path(shutil.copytree(WORKFLOW, tmp_path / "workflow", ignore=shutil.ignore_patterns("__pycache__")))


def digests(code: Path) -> dict[str, str]:
    found = CodeDigests(code)
    return {name: found.closure([module], LEFT_OUT_OF_ANSWERS) for name, module in MODULES.items()}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("__init__", set()),  # a new adapter is listed there
        ("sending", set()),  # in what order questions go
        ("openai", {"openai"}),
        ("gemini_replies", {"gemini"}),
        ("wordmatch", {"wordmatch"}),
        ("base", set(MODULES)),
    ],
)
def test_which_keys_a_change_reaches(code: Path, file: str, changed: set[str]) -> None:
    before = digests(code)
    with (code / f"reprise/models/adapters/{file}.py").open("a") as stream:
        stream.write("\nADDED = 1\n")
    after = digests(code)
    assert {name for name in MODULES if before[name] != after[name]} == changed
