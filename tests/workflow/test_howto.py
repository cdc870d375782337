"""The pages of docs/howto, followed to the letter in a copy of the project: what they write, change and run.

A line that is a path in backticks and a fenced block under it are a file; a `diff` block is a change of one; a block
without a language is what is typed. All else is for the reader.
"""

import csv
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from synthetic.toyworld.captions import caption
from synthetic.toyworld.sources import load_source_script

from tests.unit.models.adapters import tiny
from tests.workflow.conftest import JOB, ROOT, Project, copy_project

BLOCK = re.compile(r"(?:^`(?P<path>[^`\n]+)`\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
HUNK = re.compile(r"^@@.*\n", re.MULTILINE)
MOST_FILES, MOST_LINES = 6, 150


class Block(NamedTuple):
    """A fenced block, and the path above it, if that is what stands there."""

    path: str
    language: str
    text: str


class Page:
    """A page as what it tells its reader to do."""

    def __init__(self, name: str) -> None:
        text = (ROOT / "docs/howto" / name).read_text()
        self._blocks = [Block(found["path"] or "", *found.group("language", "text")) for found in BLOCK.finditer(text)]

    @property
    def files(self) -> dict[str, str]:
        """The new files and what is in them."""
        return {block.path: block.text for block in self._blocks if block.path}

    @property
    def changes(self) -> list[str]:
        """The changes of files that are there."""
        return [block.text for block in self._blocks if block.language == "diff"]

    @property
    def commands(self) -> list[list[str]]:
        """What is typed."""
        lines = "".join(block.text for block in self._blocks if not block.path and not block.language)
        return [shlex.split(line) for line in lines.splitlines()]

    @property
    def shown_table(self) -> list[list[str]]:
        """The cells of the table that it says one gets."""
        return [cells(line) for block in self._blocks if block.language == "text" for line in block.text.splitlines()]

    def follow(self, project: Project) -> None:
        """Write its files and make its changes."""
        for path, text in self.files.items():
            assert not (project.root / path).exists(), f"{path} is not new"
            project.write(path, text)
        for change in self.changes:
            apply(change, project.root)


def apply(change: str, root: Path) -> None:
    """Make a change; every line of it that is not new must be there, once."""
    header, *hunks = HUNK.split(change)
    old, new = re.findall(r"^(?:---|\+\+\+) (\S+)$", header, re.MULTILINE)
    assert old == new
    text = (root / new).read_text()
    for hunk in hunks:
        before, after = ("".join(side(hunk, mark)) for mark in "-+")
        assert text.count(before) == 1, f"{new} has {text.count(before)} times:\n{before}"
        text = text.replace(before, after)
    (root / new).write_text(text)


def side(hunk: str, mark: str) -> Iterator[str]:
    """The lines of one side of a hunk."""
    return (line[1:] for line in hunk.splitlines(keepends=True) if line[0] in (" ", mark))


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|\n").split("|")]


def typed(project: Project, command: list[str]) -> str:
    """Run a command of a page; what it printed."""
    assert command[0] == "snakemake"
    done = project.run([sys.executable, "-m", *command])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def numbers(project: Project, table: str) -> dict[tuple[str, str], float]:
    """The values of a table by row and column."""
    with (project.root / f"results/tables/{table}.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["convention"] != "authors" and row["value"]]
    return {(row["row"], row["column"]): float(row["value"]) for row in rows}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The project with the demo's checkpoints."""
    copy = copy_project(tmp_path / "project")
    (copy.root / "resources/demo").symlink_to(ROOT / "resources/demo")
    return copy


@pytest.mark.parametrize("name", ["add-benchmark.md", "add-model.md"])
def test_editors_find_the_schemas_that_a_page_names(name: str) -> None:
    for path, text in Page(name).files.items():
        named = re.findall(r"\$schema=(\S+)", text)
        assert bool(named) == path.startswith("config/")
        assert all((ROOT / path).parent.joinpath(one).resolve().is_file() for one in named)


# --- add-benchmark.md ----------------------------------------------------------------------------------------------


BENCHMARK = Page("add-benchmark.md")


def test_a_benchmark_takes_few_files_and_lines() -> None:
    added = sum(line.startswith("+") for change in BENCHMARK.changes for line in change.splitlines()[2:])
    lines = sum(len(text.splitlines()) for text in BENCHMARK.files.values()) + added
    assert len(BENCHMARK.files) <= MOST_FILES and lines <= MOST_LINES, lines
    assert len(BENCHMARK.changes) == 1


def test_its_answers_are_true_of_the_toy_world() -> None:
    rows = list(csv.DictReader(BENCHMARK.files["resources/toyqa/toyqa.csv"].splitlines()))
    assert len(rows) == 24
    for row in rows:
        script = load_source_script(row["video"]).parts[0].script
        assert (row["answer"] == "Yes") == (row["statement"] in {caption(*deed) for deed in script.deeds}), row


def test_its_code_is_as_clean_as_the_project(tmp_path: Path) -> None:
    for path, text in BENCHMARK.files.items():
        if path.endswith(".py"):
            (tmp_path / Path(path).name).write_text(text)
    for check in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *check, "--no-cache", f"--config={ROOT}/pyproject.toml", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_adding_a_benchmark(project: Project) -> None:
    BENCHMARK.follow(project)
    for command in BENCHMARK.commands:
        typed(project, command)
    found = numbers(project, "toyqa/table1")
    (_, *columns), *rows = BENCHMARK.shown_table
    shown = {(row[0], column): float(value) for row in rows for column, value in zip(columns, row[1:], strict=True)}
    assert shown.keys() == found.keys()
    for place, value in shown.items():
        # A processor may tip one of the model's answers; the rest is arithmetic.
        assert found[place] == pytest.approx(value, abs=13 if "Toy" in place[0] else 0.05), place
    assert shown["Oracle", "All"] == 100 and shown["Chance", "All"] == 50
    assert (project.root / BENCHMARK.commands[-1][1]).is_file()


# --- add-model.md --------------------------------------------------------------------------------------------------


MODEL = Page("add-model.md")


def test_adding_a_model(project: Project) -> None:
    """In a smaller toy world, where one other model is asked: the page's steps are the same."""
    tiny.qwen2_vl(project.root / "checkpoints/my-qwen2-vl")
    project.edit("workflow/synthetic/toyworld/generate.py", "EVALUATION_SOURCES = 24", "EVALUATION_SOURCES = 2")
    project.edit("config/suites/demo.yaml", "shards: 4", "shards: 1")
    project.edit("config/suites/demo.yaml", "run: [local]", "run: [oracle]")
    look, make = MODEL.commands
    typed(project, make)
    before = numbers(project, "velociti/table2")
    assert len(MODEL.files) == 1 and len(MODEL.changes) == 1
    MODEL.follow(project)
    project.edit("config/suites/demo.yaml", "run: [oracle]", "run: [oracle, my-qwen2-vl]")
    assert sorted(JOB.findall(typed(project, look))) == ["infer", "score", "table"], "nothing else is asked again"
    typed(project, make)
    found = numbers(project, "velociti/table2")
    added = found.keys() - before.keys()
    assert added == {("My Qwen2-VL", column) for row, column in before if row == "Oracle"}
    assert {place: found[place] for place in before} == before
    answers = pl.read_parquet(project.root / "results/demo/responses/velociti/entail/fps1/my-qwen2-vl.parquet")
    assert set(answers["error"]) == {""} and set(answers["frames_shown"]) == {10}
