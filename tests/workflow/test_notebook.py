"""Results in Python: the notebook of the documents runs, and the frames have the columns that their page lists."""

import re
import shutil
import sys

import nbformat
import polars as pl
import pytest
import reprise
from reprise.commands.answers import ANSWER_COLUMNS
from reprise.core.errors import UserError
from reprise.tables.build import TIDY

from tests.workflow.conftest import ROOT, Project

PAGE = ROOT / "docs/howto/notebook.md"
NOTEBOOK = "docs/howto/results.ipynb"
RUN = "velociti/entail/fps1/toy-llava-ov"


def test_the_notebook_runs(toy: Project) -> None:
    notebook = nbformat.read(ROOT / NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    place = toy.root / "docs/howto"
    place.mkdir(parents=True)
    (place / "cells.py").write_text("\n\n".join(["import os", f"os.chdir({str(place)!r})", *cells]))
    done = toy.run([sys.executable, str(place / "cells.py")], {"MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    assert "Oracle" in done.stdout and "control" in done.stdout and (place / "results.png").stat().st_size


def test_the_page_lists_the_columns_of_answers() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE))
    assert listed == ANSWER_COLUMNS


def test_answers_and_numbers_are_all_there_and_what_was_not_made_is_said(toy: Project) -> None:
    found = reprise.answers(RUN, folder=toy.root)
    assert list(found.columns) == list(ANSWER_COLUMNS) and found.height == 64
    assert found.filter(pl.col("right")).select((pl.col("value") == pl.col("expected")).all()).item()
    assert found.select(pl.col("unit", "task", "prompt", "right", "failed").is_null().any()).row(0) == (False,) * 5
    assert reprise.answers("entail/toy", folder=toy.root).equals(found)
    table = reprise.results("velociti/table2", toy.root)
    assert table.schema == TIDY
    (row,) = table.filter(row="Oracle", convention="fixed", reader="robust").iter_rows(named=True)
    assert (row["value"], row["asked"], row["run"]) == (100.0, 28, "velociti/entail/fps1/oracle")
    with pytest.raises(UserError, match=r"results/tables/velociti/table99.csv not found. Make it first: snakemake"):
        reprise.results("velociti/table99", toy.root)
    shutil.rmtree(toy.root / "results/small/responses")
    with pytest.raises(UserError, match=r"responses/velociti/entail/fps1/toy-llava-ov.parquet not found"):
        reprise.answers(RUN, folder=toy.root)
