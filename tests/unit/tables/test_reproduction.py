"""Verdicts on whole tables, from the csvs that tables write."""

import csv
import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.config.load import load
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.stages.reproduction import read_tidy
from reprise.stages.table import write_formats
from reprise.tables.build import TIDY
from reprise.tables.keys import ReproductionKey, TableKey, Title
from reprise.tables.render import render
from reprise.tables.reproduction import Reproduction

from tests.unit.tables.full_tables import filled_builder

PLACE = ("table", "section", "row", "column", "metric", "group")
KEY = ReproductionKey(
    suite="s",
    suite_title="S",
    confidence=0.95,
    titles=(
        Title(table="b/table2", paper="B", number="Table 2", title="More"),
        Title(table="b/table10", paper="B", number="Table 10", title="Most"),
        Title(table="b/table1", paper="B", number="Table 1", title="Scores"),
    ),
)


def tidy(**changes: Any) -> dict[str, Any]:
    row = {"suite": "s", "table": "b/table1", "section": "", "row": "A", "column": "c", "metric": "m", "group": "all"}
    numbers = {"value": 60.0, "low": 55.0, "high": 65.0, "published": 62.0, "published_decimals": 1}
    counts = {"asked": 100, "scored": 100, "failed": 0, "unparsed": 0, "missing": 0}
    return row | numbers | counts | {"convention": "fixed", "reader": "robust", "source": "reproduced"} | changes


def reproduction(*rows: dict[str, Any], **changes: Any) -> Reproduction:
    return Reproduction(KEY.model_copy(update=changes), pl.DataFrame(list(rows), schema=TIDY))


def test_the_authors_reading_is_held_against_the_paper() -> None:
    authors = tidy(value=80.0, low=75.0, high=85.0, convention="authors", reader="authors")
    (cell,) = reproduction(tidy(), authors).cells
    assert (cell.found["value"], cell.verdict.name) == (80.0, "differs")


def test_two_rows_of_one_label_are_two_numbers() -> None:
    rows = [tidy(run=f"b/p/linspace{frames}/m") for frames in (8, 32)]
    assert len(reproduction(*rows).cells) == 2


def test_published_values_alone_and_numbers_that_no_paper_prints_have_no_verdict() -> None:
    assert not reproduction(tidy(source="published"), tidy(published=None)).cells


def test_another_judge_than_the_papers_is_no_comparison() -> None:
    judges = {
        "judges_of_paper": {"b/table1": "GPT-4-Turbo (1106)"},
        "judges": {"q": "Qwen2-72B", "g": "GPT-4 turbo (1106)"},
    }
    other, same = reproduction(tidy(judge="q"), tidy(judge="g", row="B"), **judges).cells
    assert other.verdict[:2] == ("not comparable", "judged by Qwen2-72B, in the paper by GPT-4-Turbo (1106)")
    assert same.verdict.name == "agrees"


def test_a_rating_is_held_against_the_digits_that_the_paper_prints() -> None:
    rating = tidy(value=1.62, low=1.62, high=1.62, published=1.6, published_decimals=2)
    found = reproduction(rating, tidy(**{**rating, "row": "B", "published_decimals": 1}))
    assert [cell.verdict.name for cell in found.cells] == ["differs", "agrees"]
    page = "".join(render(table, "md") for table in found.tables())
    assert "| 1.62 | 1.62 to 1.62 |  1.60 |      +0.02 | differs |" in page


def test_conditions_stand_beside_the_verdict() -> None:
    row = tidy(run="b/p/linspace4/m", missing=5, failed=2, unparsed=1, source="imported")
    (cell,) = reproduction(row, conditions={"b/p/linspace4/m": ("revision abc",)}).cells
    counts = ("5 of 105 without a clip", "2 of 105 failed", "1 of 105 unread")
    reader = "read by robust, not as the authors read"
    assert cell.conditions == (*counts, reader, "answers made elsewhere", "revision abc")


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"missing": 3}, "3 of 103 without a clip"),
        ({"reader": "robust"}, "read by robust, not as the authors read"),
        ({"run": "r"}, "protocol p"),
        ({"run": "r"}, "frames linspace4"),
        ({"run": "r"}, "revision abc"),
        ({"run": "r"}, "weights in bfloat16"),
    ],
)
def test_each_condition_stands_in_the_csv_and_on_the_page(changes: dict[str, Any], condition: str) -> None:
    conditions = {"r": ("protocol p", "frames linspace4", "revision abc", "weights in bfloat16")}
    plain = reproduction(tidy(reader="authors"), conditions=conditions)
    assert plain.cells[0].conditions == (), "nothing is said that does not hold"
    found = reproduction(tidy(**{"reader": "authors", **changes}), conditions=conditions)
    assert condition in found.rows()["conditions"][0]
    assert condition in "".join(render(table, "md") for table in found.tables())


@pytest.mark.parametrize("form", ["md", "html"])
def test_texts_of_labels_are_shown_and_not_obeyed(form: str) -> None:
    pages = [render(table, form) for table in reproduction(tidy(row="<script>x</script>|")).tables()]
    assert "<script>" not in "".join(pages)


@cache
def rehearsed(folder: Path) -> Reproduction:
    """The verdicts on every table of the rehearsal, with random numbers, by way of the csvs that the tables write."""
    keys = list(collect_keys(Plan(load(Path(), {"suite": "rehearsal"}))).values())
    files = []
    for key in keys:
        if isinstance(key, TableKey) and key.table != "overview":
            builder = filled_builder(key)
            files.append(folder / f"{key.benchmark}-{key.table}.tex")
            write_formats(builder.table(), builder.tidy, files[-1])
    (own,) = (key for key in keys if isinstance(key, ReproductionKey))
    return Reproduction(own, read_tidy([path.with_suffix(".csv") for path in files]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def test_every_number_that_has_two_sources_has_one_verdict(folder: Path) -> None:
    found = rehearsed(folder)
    compared = set()
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if row["published"] and row["source"] != "published"]
        compared |= {tuple(row[name] for name in (*PLACE, "run", "judge")) for row in rows}
    assert len(found.cells) == len(compared) > 1000
    assert found.rows().height == len(found.cells)


def test_the_summary_counts_all(folder: Path) -> None:
    found = rehearsed(folder)
    summary, *listed = found.tables()
    totals = Counter[str]()
    for row in summary.rows():
        if row.label == "All tables":
            for column, cell in zip(summary.columns, row.cells, strict=True):
                totals[column.header] += int(cell.numbers[0].value)  # type: ignore[union-attr, arg-type]
    assert totals == {"numbers": len(found.cells), **Counter(cell.verdict.name for cell in found.cells)}
    assert sum(len(list(table.rows())) for table in listed) == len(found.cells)
    assert all(table.notice for table in (summary, *listed))


def test_the_stage_writes_what_people_and_programs_read(tmp_path: Path) -> None:
    table = pl.DataFrame([tidy(row="=1+1")], schema=TIDY).with_columns(row=pl.lit("'=1+1"))
    table.write_csv(tmp_path / "table1.csv")
    (tmp_path / "key.json").write_text(KEY.model_dump_json())
    files = ["--key", tmp_path / "key.json", "--tables", tmp_path / "table1.csv", "--md", tmp_path / "reproduction.md"]
    subprocess.run([sys.executable, "-m", "reprise.stages", "reproduction", *map(str, files)], check=True)
    with (tmp_path / "reproduction.csv").open(encoding="utf-8", newline="") as stream:
        (line,) = csv.DictReader(stream)
    assert (line["row"], line["verdict"], float(line["difference"])) == ("'=1+1", "agrees", -2.0)
    for form in ("md", "html"):
        assert "agrees" in (tmp_path / f"reproduction.{form}").read_text(encoding="utf-8")


def test_tables_keep_the_order_of_the_suite_through_the_key_file(tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text(json.dumps(KEY.model_dump(mode="json"), sort_keys=True))
    found = ReproductionKey.model_validate_json((tmp_path / "key.json").read_text())
    summary = Reproduction(found, pl.DataFrame([tidy()], schema=TIDY)).tables()[0]
    (section,) = summary.sections
    assert [row.label for row in section.rows] == ["Table 2", "Table 10", "Table 1", "All tables"]
