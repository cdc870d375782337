"""Every command line that the README and the pages of reference and of recovery show, run in a finished copy with a toy checkpoint.

The pages that are followed step by step have tests of their own (`test_howto.py`, `test_judged_suite.py`). Snakemake makes
a dry run and `make` lists its steps; the hub that `pin` asks is a server on this machine.
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

from tests.workflow.conftest import ROOT, Project, own_copy
from tests.workflow.test_howto import Page

NAME = "llava-ov-late"
RUN, TOY = f"velociti/entail/fps1/{NAME}", "velociti/entail/fps1/toy-llava-ov"
PLAYED = {
    "tutorial", "add-benchmark", "add-model", "build-your-own", "cluster", "evaluate-my-model", "import-answers",
    "import-harness", "judges", "why-wrong",
}  # fmt: skip
OTHERS = {"architecture", "commands"}
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.stem not in PLAYED | OTHERS)
BLOCKS = [block for path in (ROOT / "README.md", *PAGES) for block in Page(path).blocks]
COMMANDS = [command for block in BLOCKS for command in block.commands]


def typed(program: str, *, but: str = "-") -> list[list[str]]:
    """What is typed after the name of a program, but for a command that has a test of its own."""
    return [words for name, *words in COMMANDS if name == program and words[0] != but]


def test_make_has_the_targets() -> None:
    done = Project(ROOT).run(["make", "-n", *(name for names in typed("make") for name in names)])
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def shared(finished_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One copy for all commands that only make what is not there."""
    return own_copy(finished_toy, tmp_path_factory.mktemp("documents"))


def test_snakemake_knows_what_the_documents_name(shared: Project) -> None:
    """Targets with the same `--config` are asked for at once; `test_small_suite.py` makes a report, `test_howto.py` a preview."""
    targets, options = defaultdict(list), defaultdict(list)
    for words in typed("snakemake"):
        place = words.index("--config") if "--config" in words else len(words)
        config = " ".join(words[place:])
        begin = next(at for at, word in enumerate(words) if word.startswith("--"))
        targets[config] += words[:begin]
        options[config] += words[begin:place]
    for config, names in targets.items():
        ours = [
            name.replace("results/demo/", "results/small/").replace("toyt0KmlFOX.4-14", "aaaaaaaaaaa.0-10")
            for name in names
        ]
        shared.planned(*ours, *options[config], *config.split())


@pytest.mark.usefixtures("hub")
def test_reprise_does_what_the_documents_say(shared: Project) -> None:
    for words in typed("reprise", but="eval"):
        if "--used-by" in words:  # the folders of the documents are others'
            with pytest.raises(UserError, match="--used-by .*: there is no folder"):
                shared.called(*words)
        elif words[0] == "pin":  # the hub of these tests knows commits and holds no files to look at
            shared.said(*words, "--unchecked")
        else:
            shared.called(*words)


def test_python_runs(shared: Project) -> None:
    program = "\n".join(block.text for block in BLOCKS if block.language == "python").replace(
        "results/demo/", "results/small/"
    )
    done = shared.run([sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr


def test_the_notebook_runs(shared: Project) -> None:
    notebook = nbformat.read(ROOT / "docs/howto/results.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    place = shared.root / "docs/howto"
    place.mkdir(parents=True)
    (place / "cells.py").write_text("\n\n".join(["import os", f"os.chdir({str(place)!r})", *cells]))
    done = shared.run([sys.executable, str(place / "cells.py")], MPLBACKEND="agg")
    assert done.returncode == 0, done.stderr
    assert "Oracle" in done.stdout and "control" in done.stdout and (place / "results.png").stat().st_size


def test_the_page_lists_the_columns_of_answers() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "docs/howto/notebook.md").read_text(), re.MULTILINE))
    assert listed == ANSWER_COLUMNS


def test_answers_and_numbers_are_all_there_and_what_was_not_made_is_said(toy: Project) -> None:
    found = reprise.answers(TOY, folder=toy.root)
    assert list(found.columns) == list(ANSWER_COLUMNS) and found.height == 64
    assert found.filter(pl.col("right")).select((pl.col("value") == pl.col("expected")).all()).item()
    assert found.select(pl.col("cluster", "task", "prompt", "right", "failed").is_null().any()).row(0) == (False,) * 5
    assert reprise.answers("entail/toy", folder=toy.root).equals(found)
    table = reprise.results("velociti/table2", toy.root)
    assert table.schema == TIDY_SCHEMA
    (row,) = table.filter(row="Oracle", convention="fixed", extractor="robust").iter_rows(named=True)
    assert (row["value"], row["requested"], row["run"]) == (100.0, 28, "velociti/entail/fps1/oracle")
    with pytest.raises(UserError, match=r"table99\.csv: suite 'small' has no such file. Did you mean 'table3\.csv'"):
        reprise.results("velociti/table99", toy.root)
    shutil.rmtree(toy.root / "results/small/responses")
    with pytest.raises(UserError, match=r"responses/velociti/entail/fps1/toy-llava-ov.parquet not found"):
        reprise.answers(TOY, folder=toy.root)


def test_from_a_folder_to_a_row(toy: Project) -> None:
    (command,) = [words for words in typed("reprise") if words[0] == "eval"]
    toy.edit("config/suites/small.yaml", "run: [local]", "run: [oracle]")
    said = toy.said(*command, "--json", "late/numbers.json")
    assert load_yaml(toy.root / f"config/models/{NAME}.yaml")["checkpoint"] == f"resources/demo/checkpoints/{NAME}"
    suite = load_yaml(toy.root / "config/suites/small.yaml")
    assert suite["run"] == ["oracle", NAME] and suite["overview"] == [{"model": NAME, "benchmarks": ["velociti"]}]
    assert f"{NAME} uses its clips." in said and "reprise show velociti/table2" in said
    rows = {row["metric"]: row for row in toy.cells("overview").values()}
    assert rows["strict"]["run"] == RUN and rows["strict"]["row"] == NAME and float(rows["strict"]["requested"]) > 0
    assert rows["strict"]["low"] and float(rows["seconds_a_question"]["value"]) > 0
    (shown,) = [text for text in said.splitlines() if text.startswith(f"{NAME} ") and "uses" not in text]
    assert f"{float(rows['strict']['value']):.1f}" in shown
    numbers = json.loads(toy.text("late/numbers.json"))["numbers"]
    assert {one["run"] for one in numbers} == {RUN}
    (strict,) = [one for one in numbers if one["metric"] == "strict" and one["convention"] != "authors"]
    for name in ("value", "low", "high", "requested", "failed", "unparsed", "missing"):
        assert float(strict[name]) == float(rows["strict"][name])
    assert strict["key"] == rows["strict"]["key"] and len(strict["key"]) == 64


def test_the_overview_of_published_values_needs_no_model(shared: Project) -> None:
    assert shared.made("results/tables/overview.md", "--config", "suite=paper") == ["overview"]
    text = shared.text("results/tables/overview.md")
    assert "LLaVA-OneVision-7B" in text and "*32.1*" in text and "Published value in italics" in text
