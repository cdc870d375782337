"""Run each command line of the README and of most documentation pages in a finished copy with a toy checkpoint.

Pages with step-by-step instructions have their own tests (`test_howto.py`, `test_judged_suite.py`). `snakemake` and
`make` commands are dry runs. The hub of `pin` is a local server.
"""

import json
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
import polars as pl
import pytest
import reprise
from reprise.commands.answers import ANSWER_COLUMNS
from reprise.core.errors import UserError
from reprise.core.yaml_files import load_yaml
from reprise.tables.builder import TIDY_SCHEMA

from tests.workflow.conftest import ROOT, Project, copy_of
from tests.workflow.test_howto import Page

CHECKPOINT_NAME = "llava-ov-late"
RUN, TOY = f"velociti/entail/fps1/{CHECKPOINT_NAME}", "velociti/entail/fps1/toy-llava-ov"
TESTED_ELSEWHERE = {
    "tutorial", "add-benchmark", "add-model", "build-your-own", "cluster", "evaluate-my-model", "import-answers",
    "import-harness", "judges", "publish", "training", "why-wrong",
}  # fmt: skip
WITHOUT_COMMANDS = {"architecture", "commands"}
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.stem not in TESTED_ELSEWHERE | WITHOUT_COMMANDS)
BLOCKS = [block for path in (ROOT / "README.md", *PAGES) for block in Page(path).blocks]
COMMANDS = [command for block in BLOCKS for command in block.commands]


def documented_arguments(program: str, *, excluded: str = "-") -> list[list[str]]:
    """Return the arguments of each documented call of a program, except for a command that has its own test."""
    return [arguments for name, *arguments in COMMANDS if name == program and arguments[0] != excluded]


def test_make_has_the_documented_targets() -> None:
    process = Project(ROOT).run(["make", "-n", *(name for names in documented_arguments("make") for name in names)])
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def shared_project(finished_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return one copy for all commands that only add results."""
    return copy_of(finished_toy, tmp_path_factory.mktemp("documents"))


def test_snakemake_plans_the_documented_targets(shared_project: Project) -> None:
    """One dry run plans all targets with the same `--config`. Reports and previews are tested elsewhere."""
    targets, options = defaultdict(list), defaultdict(list)
    for arguments in documented_arguments("snakemake"):
        config_index = arguments.index("--config") if "--config" in arguments else len(arguments)
        config = " ".join(arguments[config_index:])
        options_index = next(index for index, word in enumerate(arguments) if word.startswith("--"))
        targets[config] += arguments[:options_index]
        options[config] += arguments[options_index:config_index]
    for config, names in targets.items():
        local_targets = [
            name.replace("results/demo/", "results/small/").replace("toyt0KmlFOX.4-14", "aaaaaaaaaaa.0-10")
            for name in names
        ]
        shared_project.plan_rules(*local_targets, *options[config], *config.split())


@pytest.mark.usefixtures("hub")
def test_documented_reprise_commands_succeed(shared_project: Project) -> None:
    for words in documented_arguments("reprise", excluded="eval"):
        if "--used-by" in words:  # The folder of the documentation does not exist here.
            with pytest.raises(UserError, match="--used-by .*: there is no folder"):
                shared_project.call_reprise(*words)
        elif words[0] == "pin":  # The hub of the tests has commits but no files to check.
            shared_project.reprise_output(*words, "--unchecked")
        else:
            shared_project.call_reprise(*words)


def test_documented_python_code_runs(shared_project: Project) -> None:
    program = "\n".join(block.text for block in BLOCKS if block.language == "python").replace(
        "results/demo/", "results/small/"
    )
    process = shared_project.run([sys.executable, "-c", program])
    assert process.returncode == 0, process.stderr


def test_the_notebook_runs(shared_project: Project) -> None:
    notebook = nbformat.read(ROOT / "docs/howto/results.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    folder = shared_project.root / "docs/howto"
    folder.mkdir(parents=True)
    (folder / "cells.py").write_text("\n\n".join(["import os", f"os.chdir({str(folder)!r})", *cells]))
    process = shared_project.run([sys.executable, str(folder / "cells.py")], MPLBACKEND="agg")
    assert process.returncode == 0, process.stderr
    assert "Oracle" in process.stdout and "control" in process.stdout and (folder / "results.png").stat().st_size


def test_the_page_lists_the_columns_of_answers() -> None:
    documented = dict(
        re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "docs/howto/notebook.md").read_text(), re.MULTILINE)
    )
    assert documented == ANSWER_COLUMNS


def test_answers_and_results_are_complete_and_missing_files_are_named(toy: Project) -> None:
    answers = reprise.answers(TOY, folder=toy.root)
    assert list(answers.columns) == list(ANSWER_COLUMNS) and answers.height == 64
    assert answers.filter(pl.col("right")).select((pl.col("value") == pl.col("expected")).all()).item()
    assert answers.select(pl.col("cluster", "task", "prompt", "right", "failed").is_null().any()).row(0) == (False,) * 5
    assert reprise.answers("entail/toy", folder=toy.root).equals(answers)
    table = reprise.results("velociti/table2", toy.root)
    assert table.schema == TIDY_SCHEMA
    (row,) = table.filter(row="Oracle", convention="fixed", extractor="robust").iter_rows(named=True)
    assert (row["value"], row["requested"], row["run"]) == (100.0, 28, "velociti/entail/fps1/oracle")
    with pytest.raises(UserError, match=r"table99\.csv: suite 'small' has no such file. Did you mean 'table3\.csv'"):
        reprise.results("velociti/table99", toy.root)
    shutil.rmtree(toy.root / "results/small/responses")
    with pytest.raises(UserError, match=r"responses/velociti/entail/fps1/toy-llava-ov.parquet not found"):
        reprise.answers(TOY, folder=toy.root)


def test_eval_adds_a_checkpoint_folder_to_the_overview(toy: Project) -> None:
    (command,) = [words for words in documented_arguments("reprise") if words[0] == "eval"]
    toy.edit("config/suites/small.yaml", "run: [local]", "run: [oracle]")
    output = toy.reprise_output(*command, "--json", "late/numbers.json")
    assert (
        load_yaml(toy.root / f"config/models/{CHECKPOINT_NAME}.yaml")["checkpoint"]
        == f"resources/demo/checkpoints/{CHECKPOINT_NAME}"
    )
    suite = load_yaml(toy.root / "config/suites/small.yaml")
    assert suite["run"] == ["oracle", CHECKPOINT_NAME] and suite["overview"] == [
        {"model": CHECKPOINT_NAME, "benchmarks": ["velociti"]}
    ]
    assert (
        f"The answers of {CHECKPOINT_NAME} change with its clips in velociti" in output
        and "reprise show velociti/table2" in output
    )
    rows = {row["metric"]: row for row in toy.cells("overview").values()}
    assert (
        rows["strict"]["run"] == RUN
        and rows["strict"]["row"] == CHECKPOINT_NAME
        and float(rows["strict"]["requested"]) > 0
    )
    assert rows["strict"]["low"] and float(rows["seconds_a_question"]["value"]) > 0
    (overview_line,) = [
        text for text in output.splitlines() if text.startswith(f"{CHECKPOINT_NAME} ") and "uses" not in text
    ]
    assert f"{float(rows['strict']['value']):.1f}" in overview_line
    numbers = json.loads(toy.text("late/numbers.json"))["numbers"]
    assert {number["run"] for number in numbers} == {RUN}
    (strict,) = [number for number in numbers if number["metric"] == "strict" and number["convention"] != "authors"]
    for name in ("value", "low", "high", "requested", "failed", "unparsed", "missing"):
        assert float(strict[name]) == float(rows["strict"][name])
    assert strict["key"] == rows["strict"]["key"] and len(strict["key"]) == 64


def test_the_overview_of_published_values_needs_no_model(shared_project: Project) -> None:
    assert shared_project.run_rules("results/tables/overview.md", "--config", "suite=paper") == ["overview"]
    text = shared_project.text("results/tables/overview.md")
    assert "LLaVA-OneVision-7B" in text and "*32.1*" in text and "Published value in italics" in text
