"""Every command line that the README and the pages of reference and of recovery show, run in a finished copy with a toy checkpoint.

The pages that are followed step by step have tests of their own (`test_howto.py`, `test_judged_suite.py`).

What needs real data or a cluster (`suite=paper`, another profile) is run as far as a dry run goes; `make` lists its steps; the
hub that `pin` asks is a server on this machine.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, Project, own_copy

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLAYED = {
    "tutorial", "add-benchmark", "add-model", "build-your-own", "cluster", "evaluate-my-model", "import-answers",
    "import-harness", "judges", "why-wrong",
}  # fmt: skip
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.stem not in PLAYED)
DOCS = [ROOT / "README.md", *(path for path in PAGES if path.stem not in ("architecture", "commands"))]


def shown(language: str) -> list[str]:
    """The lines, or whole python programs, that the documents show."""
    blocks = [block for doc in DOCS for block in BLOCK.findall(doc.read_text())]
    if language == "python":
        return [text for kind, text in blocks if kind == "python"]
    lines = [line for kind, text in blocks if kind == "" for line in text.splitlines()]
    return list(dict.fromkeys(line.split(" #")[0].strip() for line in lines if line.strip()))


COMMANDS = shown("shell")


def test_the_documents_show_commands() -> None:
    kinds = {command.split()[0] for command in COMMANDS}
    assert kinds == {"make", "snakemake", "reprise"}


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
def test_make(command: str) -> None:
    done = subprocess.run(
        ["make", "-n", *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def shared(finished_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One copy for all commands that only make what is not there."""
    return own_copy(finished_toy, tmp_path_factory.mktemp("documents"))


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("snakemake")])
def test_snakemake(command: str, shared: Project) -> None:
    ours = command.replace("results/demo/", "results/small/").replace("toyt0KmlFOX.4-14", "aaaaaaaaaaa.0-10")
    arguments = shlex.split(ours)[1:]
    if "suite=paper" in arguments or "--workflow-profile" in arguments:
        arguments.insert(0, "--dry-run")
    done = shared.snakemake(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


# `eval` has a test of its own (`test_eval.py`), which runs the line of the README.
@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c.startswith("reprise") and not c.startswith("reprise eval")]
)
def test_reprise(command: str, shared: Project, hub: str) -> None:
    # The hub of these tests knows commits and holds no files to look at.
    unchecked = ["--unchecked"] if command.startswith("reprise pin") else []
    done = shared.reprise(*shlex.split(command), *unchecked)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", shown("python"))
def test_python(program: str, shared: Project) -> None:
    done = shared.run([sys.executable, "-c", program.replace("results/demo/", "results/small/")])
    assert done.returncode == 0, done.stderr


def test_an_unpinned_model_refuses_to_run(toy: Project) -> None:
    toy.edit(
        "config/models/oracle.yaml", "adapter: oracle", "adapter: transformers\nrepo: some/model\nrevision: unpinned"
    )
    toy.edit("config/suites/small.yaml", "run: [local]", "run: [all]")
    done = toy.snakemake("results/tables/velociti/table6.md")
    assert done.returncode != 0
    assert "config/models/oracle.yaml: revision: is 'unpinned'" in done.stdout + done.stderr
    assert "python -m reprise pin oracle" in done.stdout + done.stderr
