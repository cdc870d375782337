"""Verdicts on numbers: worked examples by hand, and whole tables from the csvs that tables write."""

import math
from typing import Any

import polars as pl
import pytest
from reprise.tables.builder import TIDY_SCHEMA
from reprise.tables.keys import ReproductionKey, TableTitle
from reprise.tables.published import PublishedNumber
from reprise.tables.render import render
from reprise.tables.reproduction import Reproduction, ReproductionVerdict, compare_with_published

TITLES = ((2, "More"), (10, "Most"), (1, "Scores"))
KEY = ReproductionKey(
    suite="s",
    suite_title="S",
    confidence=0.95,
    titles=tuple(TableTitle(table=f"b/table{n}", paper="B", number=f"Table {n}", title=title) for n, title in TITLES),
)
ENDS = (55.0, 66.0)


def of(
    value: float | None, interval: tuple[float, float] | None, published: float, **known: Any
) -> ReproductionVerdict:
    return compare_with_published(value, interval, PublishedNumber(published, known.pop("decimals", 1)), **known)


def test_the_tolerance_is_that_of_two_numbers_measured_on_the_same_number_of_questions() -> None:
    # Published above ours: the half of the interval that lies on its side is 6, so sqrt(6² + 6²) = 8.485, and 0.05 of print.
    found = of(60.0, ENDS, 67.9)
    assert found.tolerance == pytest.approx(math.sqrt(72) + 0.05)
    assert (found.difference, found.name) == (pytest.approx(-7.9), "agrees")
    # Published below: that half is 5, so 7.071 and 0.05.
    assert [of(60.0, ENDS, published).name for published in (52.9, 52.8)] == ["agrees", "differs"]
    assert [of(100.0, (100.0, 100.0), published).name for published in (100.0, 99.9)] == ["agrees", "differs"]
    for published, decimals, slack in ((1.6, 1, 0.05), (1.6, 2, 0.005), (864, 0, 0.5), (0.32, 3, 0.0005)):
        print_alone = of(published, (published, published), published, decimals=decimals).tolerance
        assert print_alone == pytest.approx(slack), "half of its last digit"


def test_a_number_without_an_interval() -> None:
    assert of(12.34, None, 12.3)[:2] == ("agrees", ""), "it prints like the paper's"
    assert of(12.36, None, 12.3)[:2] == ("not comparable", "no interval")
    assert [of(ours, None, 356.0, is_exact=True).name for ours in (356.0, 355.0)] == ["agrees", "differs"]
    assert of(None, None, 99.0)[:2] == ("not comparable", "no answer could be scored")
    assert of(60.0, None, 99.0, obstacle="judged by another")[:2] == ("not comparable", "judged by another")


def tidy(**changes: Any) -> dict[str, Any]:
    row = {"suite": "s", "table": "b/table1", "section": "", "row": "A", "column": "c", "metric": "m", "group": "all"}
    numbers = {"value": 60.0, "low": 55.0, "high": 65.0, "published": 62.0, "published_decimals": 1}
    counts = {"requested": 100, "scored": 100, "failed": 0, "unparsed": 0, "missing": 0}
    return row | numbers | counts | {"convention": "fixed", "extractor": "robust", "source": "reproduced"} | changes


def reproduction(*rows: dict[str, Any], **changes: Any) -> Reproduction:
    return Reproduction(KEY.model_copy(update=changes), pl.DataFrame(list(rows), schema=TIDY_SCHEMA))


def pages(found: Reproduction, form: str = "md") -> str:
    return "".join(render(table, form) for table in found.build_tables())


def test_which_numbers_and_extractions_are_compared_with_the_paper() -> None:
    rows = [tidy(run=f"b/p/linspace{frames}/m") for frames in (8, 32)]
    assert len(reproduction(*rows).comparisons) == 2, "two rows of one label"
    assert not reproduction(tidy(source="published"), tidy(published=None)).comparisons
    authors = tidy(value=80.0, low=75.0, high=85.0, convention="authors", extractor="authors")
    (cell,) = reproduction(tidy(), authors).comparisons
    assert (cell.row["value"], cell.verdict.name) == (80.0, "differs")


def test_a_number_by_another_judge_is_not_comparable() -> None:
    judges = {"q": "Qwen2-72B", "g": "GPT-4 turbo (1106)"}
    known = {"paper_judges": {"b/table1": "GPT-4-Turbo (1106)"}, "judges": judges}
    other, same = reproduction(tidy(judge="q"), tidy(judge="g", row="B"), **known).comparisons
    assert other.verdict[:2] == ("not comparable", "judged by Qwen2-72B, in the paper by GPT-4-Turbo (1106)")
    assert same.verdict.name == "agrees"


def test_a_rating_is_compared_at_the_printed_precision() -> None:
    rating = tidy(value=1.62, low=1.62, high=1.62, published=1.6, published_decimals=2)
    found = reproduction(rating, rating | {"row": "B", "published_decimals": 1})
    assert [cell.verdict.name for cell in found.comparisons] == ["differs", "agrees"]
    assert "| 1.62 | 1.62 to 1.62 |  1.60 |      +0.02 | differs |" in pages(found)


def test_conditions_are_beside_the_verdict_in_the_csv_and_on_the_page() -> None:
    row = tidy(run="b/p/linspace4/m", row="<script>x</script>|", missing=5, failed=2, unparsed=1, source="imported")
    found = reproduction(row, conditions={"b/p/linspace4/m": ("revision abc", "weights in bfloat16")})
    counts = ("5 of 105 without a clip", "2 of 105 failed", "1 of 105 unparsed")
    extractor = "extracted by robust, not by authors"
    conditions = (*counts, extractor, "imported predictions", "revision abc", "weights in bfloat16")
    assert found.comparisons[0].conditions == conditions
    for text in (found.to_frame()["conditions"][0], pages(found)):
        assert all(one in text for one in conditions)
    assert "<script>" not in pages(found) + pages(found, "html"), "labels are shown and not obeyed"
    plain = reproduction(tidy(extractor="authors"), conditions={"r": ("revision abc",)})
    assert plain.comparisons[0].conditions == (), "nothing is said that does not hold"
