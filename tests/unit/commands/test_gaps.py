"""What is missing: cells without a number, and failures by their reasons, in words that do nothing to a terminal."""

import csv
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from reprise.commands.runs import incomplete_cells
from reprise.commands.shared import failure_lines
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.tables.build import TIDY

ROOT = Path(__file__).parents[3]
TABLE = "vinoground/table4"
HUMAN = {"row": "Prolific Human", "source": "published"}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(load(ROOT, {"suite": "rehearsal"}))


def write(folder: Path, *rows: dict[str, str], suite: str = "rehearsal") -> Path:
    path = folder / f"{TABLE}.csv"
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(TIDY), restval="")
        writer.writeheader()
        writer.writerows({"suite": suite, "table": TABLE, "group": "all", **row} for row in rows)
    return folder


def cell(metric: str, value: str, **known: str) -> dict[str, str]:
    columns = {"text": "s_t", "video": "s_v", "group": "s_g"}
    return {"column": columns[metric], "metric": metric, "value": value, **known}


def test_each_row_wants_a_number_of_its_own(plan: Plan, tmp_path: Path) -> None:
    """Two rows are called Prolific Human; the authors' convention stands beside a cell and an empty value is none."""
    people = (("text", "1"), ("text", "2"), ("video", "3"), ("group", ""))
    model = (("4", "authors"), ("5", "fixed"))
    named = [cell("video", value, row="LLaVA-OneVision-72B", convention=convention) for value, convention in model]
    gaps = incomplete_cells(plan, write(tmp_path, *(cell(*one, **HUMAN) for one in people), *named), [TABLE])
    human = [gap.column for gap in gaps if gap.row == "Prolific Human"]
    assert human == ["s_v", "s_g", "s_g"]
    assert sum(gap.row == "LLaVA-OneVision-72B" and gap.metric == "video" for gap in gaps) == 5, "six rows, one number"
    assert len(gaps) == 12 * 3 - 4


@pytest.mark.parametrize(
    ("names", "suite", "message"),
    [
        (["vinoground/table44"], "rehearsal", "unknown table 'vinoground/table44'. Did you mean 'vinoground/table4'"),
        ([TABLE], "demo", "table4.csv: of suite 'demo', not of 'rehearsal'. Run snakemake with `--config suite=reh"),
        (["vinoground/table3"], "rehearsal", "table3.csv: no such table yet. Run snakemake with `--config suite=reh"),
    ],
)
def test_what_cannot_be_looked_at_is_named(
    plan: Plan, tmp_path: Path, names: list[str], suite: str, message: str
) -> None:
    folder = write(tmp_path, cell("text", "1", **HUMAN), suite=suite)
    with pytest.raises(UserError) as error:
        incomplete_cells(plan, folder, names)
    assert message in str(error.value)


def test_an_id_speaks_to_no_terminal() -> None:
    failed = pl.DataFrame({"reason": ["private"], "name": ["a\x1b[2J\nb\u202e"], "message": ["gone\x07"]})
    shown = list(failure_lines(failed, Counter()))
    assert shown == ["1 private (private)", "  a b[U+202E]: gone[U+0007]"]


def test_a_few_of_each_reason_are_named_unless_all_are_wanted() -> None:
    failed = pl.DataFrame({"reason": ["network"] * 5, "name": list("abcde"), "message": ["no"] * 5})
    few, every = (list(failure_lines(failed, Counter(network=2), shown)) for shown in (3, None))
    assert few[0].endswith("; the next run tries 2 again") and few[-1] == "  and 2 more" and len(few) == 5
    assert every[1:] == [f"  {name}: no" for name in "abcde"]
