"""Typical mistakes: each is met by one message that names file and key, suggests, and says what to do.

Most are played where they are met, before Snakemake plans jobs; those that Snakemake would wrap go through Snakemake.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.plan.suite import load_suite

from tests.workflow.conftest import Project, own_copy

SCREEN_LINES, SCREEN_SIGNS = 24, 1500
SUITE, TABLES, ORACLE = "config/suites/small.yaml", "config/tables/small.yaml", "config/models/oracle.yaml"
MAIN = "config/config.yaml"
# File, what it says, what is typed instead, and what the message must say.
IN_FILES = {
    "suite": (MAIN, "suite: small", "suite: smal", ["config/config.yaml: suite", "'smal'", "Did you mean 'small'?"]),
    "key of the main file": (MAIN, "samplings:", "sampling:", ["config/config.yaml: line", "Did you mean 'samplings'?"]),
    "key of a suite": (SUITE, "shards:", "shard:", [f"{SUITE}: line 4: shard", "Did you mean 'shards'?"]),
    "key of tables": (TABLES, "columns:", "colums:", [f"{TABLES}: line 7: tables.table2.colums", "'columns'?"]),
    "model to skip": (SUITE, "shards:", "skip: [oracel]\nshards:", [f"{SUITE}: skip", "Did you mean 'oracle'?"]),
    "slug": (TABLES, "model: oracle", "model: oracel", [f"{TABLES}: tables.table2: row 'Oracle'", "'oracle'?"]),
    "column": (TABLES, "[strict]", "[strct]", [f"{TABLES}: tables.table2: column 'Ctrl'", "Did you mean 'strict'?"]),
    "checkpoint": (
        TABLES, "model: oracle", "model: toy-llava-ov",
        ["config/models/toy-llava-ov.yaml: checkpoint: no folder", "llava-ov-early'?", "Put the weights there"],
    ),
    "YAML": (TABLES, "    caption: Strict.", "   caption: Strict.", [f"{TABLES}: line 5: not valid YAML", "indentation"]),
    "table of another suite": (
        "results", "", "results/demo/metrics/velociti/entail/fps1/oracle.parquet",
        ["is of suite 'demo', but the suite is 'small'. Add `--config suite=demo` after the targets."],
    ),
    "target": ("results", "", "results/tabels/table2.html", ["'results/tabels'", "Did you mean 'tables'?"]),
    "target outside": ("results", "", "tables/table2.html", ["what is made lies in results/", "'results/tables/table2.html'?"]),
    "table without its folder": ("results", "", "velociti/table2", ["Did you mean 'results/tables/velociti/table2.html'?"]),
    "number of a table": ("results", "", "results/tables/table99.html", ["has a 'table99'", "table2 (velociti)"]),
    "run": (
        "results", "", "results/small/metrics/velociti/entail/fps1/oracel.parquet",
        ["unknown model 'oracel'. Did you mean 'oracle'?"],
    ),
    "profile": ("results", "", "--workflow-profile=profiles/slrum", ["no profile 'profiles/slrum'", "'profiles/slurm'?"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = own_copy(prepared_small, tmp_path_factory.mktemp("mistakes"))
    made.write("resources/demo/checkpoints/llava-ov-early/config.json", "{}")
    return made


@pytest.fixture
def inside(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The project as working directory; what is edited is put back."""
    before = {path: path.read_text() for path in (project.root / "config").rglob("*.yaml")}
    monkeypatch.chdir(project.root)
    monkeypatch.setattr("reprise.core.paths.WORKFLOW", project.root)
    yield project
    for path, text in before.items():
        path.write_text(text)


def assert_helps(message: str, said: list[str]) -> None:
    assert all(words in message for words in said), message
    assert len(message.splitlines()) <= SCREEN_LINES and len(message) <= SCREEN_SIGNS, message
    assert not re.search(r"Traceback|^  File |Exception", message, re.MULTILINE), message


@pytest.mark.parametrize(("file", "old", "new", "said"), IN_FILES.values(), ids=IN_FILES)
def test_a_mistake_is_met_in_words(inside: Project, file: str, old: str, new: str, said: list[str]) -> None:
    arguments = ["snakemake", "-n", *([new] if file == "results" else [])]
    if file != "results":
        inside.edit(file, old, new)
    with pytest.raises(UserError) as error:
        load_suite({}, arguments)
    assert_helps(str(error.value), said)


def test_a_library_without_its_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reprise.core.paths.WORKFLOW", tmp_path / "site-packages")
    with pytest.raises(UserError) as error:
        load_suite({}, ["snakemake"])
    assert_helps(
        str(error.value), [f"config/config.yaml: no such file in {tmp_path}", "Set the environment up in a clone"]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "suite=small", "results/tables/table2.html"],
         ["'results/tables/table2.html' is no setting", "snakemake results/tables/table2.html --config suite=small"]),
        (["--config", "suite=smal"], ["Error: --config: suite: unknown suite 'smal'. Did you mean 'small'?"]),
        (["results/small/nothing.txt"], ["Error: results/small/nothing.txt: no rule makes it."]),
    ],
    ids=["swallowed target", "suite", "no rule"],
)  # fmt: skip
def test_snakemake_adds_nothing_to_a_mistake(project: Project, arguments: list[str], said: list[str]) -> None:
    done = project.snakemake("-n", *arguments)
    profile, *_ = done.stderr.splitlines()
    assert done.returncode == 1 and profile.startswith("Using workflow specific profile")
    assert_helps(done.stdout, said)
    assert "WorkflowError" not in done.stdout and "\nError: " not in done.stdout


def test_a_wrong_key_of_a_profile(project: Project) -> None:
    """Snakemake would print all of its options."""
    file = "profiles/default/config.yaml"
    before = (project.root / file).read_text()
    project.edit(file, "keep-going:", "keep-goign:")
    done = project.snakemake("-n")
    (project.root / file).write_text(before)
    assert done.returncode == 1 and done.stdout == ""
    assert_helps(done.stderr, [f"{file}: unknown key 'keep-goign'. Did you mean 'keep-going'?"])


def test_a_snakemake_of_another_environment(project: Project) -> None:
    """The library is nowhere on its path, nor is what shows a run: the workflow itself says so."""
    code = (
        "import sys; from pathlib import Path; "
        "sys.path[:] = [p for p in sys.path if not (Path(p) / 'reprise').is_dir()]; "
        "from snakemake.cli import main; main(['-n', '--cores', '1'])"
    )
    done = project.run([sys.executable, "-P", "-c", code])
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "This Snakemake is not of the project's environment" in said and "run .venv/bin/snakemake" in said
    assert len(said.splitlines()) <= 5


def test_without_slurm_a_run_stops_and_a_dry_run_passes(inside: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    call = ["snakemake", "--workflow-profile", "profiles/slurm"]
    load_suite({}, [*call, "-n"])
    with pytest.raises(UserError) as error:
        load_suite({}, call)
    assert_helps(
        str(error.value), ["no Slurm here: there is no command 'sinfo'", "without `--workflow-profile profiles/slurm`"]
    )
