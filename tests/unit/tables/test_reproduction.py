"""Test the comparison with published numbers: examples by hand, and whole tables from the csvs of tables."""

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
INTERVAL = (55.0, 66.0)


def compare(
    value: float | None, interval: tuple[float, float] | None, published: float, **options: Any
) -> ReproductionVerdict:
    return compare_with_published(value, interval, PublishedNumber(published, options.pop("decimals", 1)), **options)


def test_the_tolerance_allows_for_the_sampling_error_of_both_numbers() -> None:
    # The published number is above: the upper half of the interval is 6, so sqrt(6² + 6²) = 8.485, plus 0.05 for rounding.
    verdict = compare(60.0, INTERVAL, 67.9)
    assert verdict.tolerance == pytest.approx(math.sqrt(72) + 0.05)
    assert (verdict.difference, verdict.name) == (pytest.approx(-7.9), "agrees")
    # The published number is below: the lower half is 5, so 7.071 + 0.05.
    assert [compare(60.0, INTERVAL, published).name for published in (52.9, 52.8)] == ["agrees", "differs"]
    assert [compare(100.0, (100.0, 100.0), published).name for published in (100.0, 99.9)] == ["agrees", "differs"]
    for published, decimals, rounding_error in ((1.6, 1, 0.05), (1.6, 2, 0.005), (864, 0, 0.5), (0.32, 3, 0.0005)):
        tolerance = compare(published, (published, published), published, decimals=decimals).tolerance
        assert tolerance == pytest.approx(rounding_error), "half of the last printed digit"


def test_a_number_without_an_interval_is_compared_only_if_it_is_exact_or_prints_alike() -> None:
    assert compare(12.34, None, 12.3)[:2] == ("agrees", ""), "both print alike"
    assert compare(12.36, None, 12.3)[:2] == ("not comparable", "no interval")
    assert [compare(value, None, 356.0, is_exact=True).name for value in (356.0, 355.0)] == ["agrees", "differs"]
    assert compare(None, None, 99.0)[:2] == ("not comparable", "no answer could be scored")
    assert compare(60.0, None, 99.0, obstacle="judged by another")[:2] == ("not comparable", "judged by another")


def make_tidy_row(**changes: Any) -> dict[str, Any]:
    row = {"suite": "s", "table": "b/table1", "section": "", "row": "A", "column": "c", "metric": "m", "group": "all"}
    numbers = {"value": 60.0, "low": 55.0, "high": 65.0, "published": 62.0, "published_decimals": 1}
    counts = {"requested": 100, "scored": 100, "failed": 0, "unparsed": 0, "missing": 0}
    return row | numbers | counts | {"convention": "fixed", "extractor": "robust", "source": "reproduced"} | changes


def make_reproduction(*rows: dict[str, Any], **changes: Any) -> Reproduction:
    return Reproduction(KEY.model_copy(update=changes), pl.DataFrame(list(rows), schema=TIDY_SCHEMA))


def render_tables(reproduction: Reproduction, form: str = "md") -> str:
    return "".join(render(table, form) for table in reproduction.build_tables())


def test_reproduced_numbers_with_the_authors_extraction_are_compared_with_the_paper() -> None:
    rows = [make_tidy_row(run=f"b/p/linspace{frames}/m") for frames in (8, 32)]
    assert len(make_reproduction(*rows).comparisons) == 2, "two rows with the same label"
    assert not make_reproduction(make_tidy_row(source="published"), make_tidy_row(published=None)).comparisons
    authors = make_tidy_row(value=80.0, low=75.0, high=85.0, convention="authors", extractor="authors")
    (cell,) = make_reproduction(make_tidy_row(), authors).comparisons
    assert (cell.row["value"], cell.verdict.name) == (80.0, "differs")


def test_a_number_by_another_judge_is_not_comparable() -> None:
    judges = {"q": "Qwen2-72B", "g": "GPT-4 turbo (1106)"}
    options = {"paper_judges": {"b/table1": "GPT-4-Turbo (1106)"}, "judges": judges}
    other_judge, same_judge = make_reproduction(
        make_tidy_row(judge="q"), make_tidy_row(judge="g", row="B"), **options
    ).comparisons
    assert other_judge.verdict[:2] == ("not comparable", "judged by Qwen2-72B, in the paper by GPT-4-Turbo (1106)")
    assert same_judge.verdict.name == "agrees"


def test_a_rating_is_compared_at_the_printed_precision() -> None:
    rating = make_tidy_row(value=1.62, low=1.62, high=1.62, published=1.6, published_decimals=2)
    reproduction = make_reproduction(rating, rating | {"row": "B", "published_decimals": 1})
    assert [cell.verdict.name for cell in reproduction.comparisons] == ["differs", "agrees"]
    assert "| 1.62 | 1.62 to 1.62 |  1.60 |      +0.02 | differs |" in render_tables(reproduction)


def test_conditions_stand_next_to_the_verdict_in_the_csv_and_on_the_page() -> None:
    row = make_tidy_row(
        run="b/p/linspace4/m", row="<script>x</script>|", missing=5, failed=2, unparsed=1, source="imported"
    )
    reproduction = make_reproduction(row, conditions={"b/p/linspace4/m": ("revision abc", "weights in bfloat16")})
    counts = ("5 of 105 without a clip", "2 of 105 failed", "1 of 105 unparsed")
    extractor = "extracted by robust, not by authors"
    conditions = (*counts, extractor, "imported predictions", "revision abc", "weights in bfloat16")
    assert reproduction.comparisons[0].conditions == conditions
    for text in (reproduction.to_frame()["conditions"][0], render_tables(reproduction)):
        assert all(condition in text for condition in conditions)
    assert "<script>" not in render_tables(reproduction) + render_tables(reproduction, "html"), "labels are escaped"
    plain = make_reproduction(make_tidy_row(extractor="authors"), conditions={"r": ("revision abc",)})
    assert plain.comparisons[0].conditions == (), "only conditions that apply are listed"
