"""Test the comparison with published numbers: examples by hand, and whole tables from the csvs of tables."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from reprise.stats.intervals import clustered_estimate
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


def test_equivalence_needs_an_interval_within_the_margin() -> None:
    """The longer half of the interval is 6; times sqrt(2) it is 8.485. The print adds 0.05."""
    verdict = compare(60.0, INTERVAL, 67.9)
    assert verdict.uncertainty == pytest.approx(math.sqrt(72) + 0.05)
    assert (verdict.difference, verdict.text) == (pytest.approx(-7.9), "too few to tell (±8.5)")
    assert [compare(60.0, INTERVAL, published).name for published in (51.5, 51.4)] == ["too few to tell", "differs"]
    narrow = (59.5, 60.5)  # sqrt(2) * 0.5 = 0.707; an equivalence test at 5 % uses 0.707 * 1.645 / 1.96 = 0.593
    assert [compare(60.0, narrow, published).text for published in (60.0, 61.3, 61.5, 59.0)] == [
        "within ±2", "within ±2", "differs", "within ±2",
    ]  # fmt: skip
    assert compare(60.0, narrow, 61.3, margin=1.0).name == "differs"
    assert compare(60.0, INTERVAL, 67.9, level=0.9).uncertainty == pytest.approx(
        1.96 / 1.645 * math.sqrt(72) + 0.05, rel=1e-3
    )


def test_a_number_without_an_interval_is_compared_only_if_it_is_a_count() -> None:
    assert compare(12.34, None, 12.3)[:2] == ("not comparable", "no interval")
    assert [compare(ours, None, 356.0, is_exact=True, decimals=0).name for ours in (356.0, 355.0)] == [
        "within margin",
        "differs",
    ]
    assert compare(None, None, 99.0)[:2] == ("not comparable", "no answer could be scored")
    assert compare(60.0, None, 99.0, obstacle="judged by another")[:2] == ("not comparable", "judged by another")


def test_simulated_verdicts_are_rarely_wrong() -> None:
    """Ours and the paper's are drawn on the same 500 pairs; a true difference of 5 points is no equivalence."""
    generator = np.random.default_rng(0)
    for clips, true_difference in ((500, 0.05), (20_000, 0.05), (500, 0.0), (20_000, 0.0), (40, 0.33)):
        wrong = 0
        for _ in range(400):
            ours, papers = (generator.random(clips) < rate for rate in (0.5, 0.5 - true_difference))
            estimate = clustered_estimate([(ours, np.ones(clips))], np.arange(clips), lambda shares: shares[:, 0])
            assert estimate is not None
            low, high = (100 * end for end in estimate.interval(0.95))
            verdict = compare(100 * float(ours.mean()), (low, high), round(100 * float(papers.mean()), 1))
            wrong += verdict.name == ("differs" if true_difference == 0 else "within margin")
        assert wrong / 400 <= 0.065


def make_tidy_row(**changes: Any) -> dict[str, Any]:
    row = {"suite": "s", "table": "b/table1", "section": "", "row": "A", "column": "c", "metric": "m", "group": "all"}
    numbers = {"value": 60.0, "low": 55.0, "high": 65.0, "published": 62.0, "published_decimals": 1}
    counts = {"requested": 100, "scored": 100, "failed": 0, "unparsed": 0, "missing": 0}
    return row | numbers | counts | {"convention": "authors", "extractor": "authors", "source": "reproduced"} | changes


def make_reproduction(*rows: dict[str, Any], **changes: Any) -> Reproduction:
    return Reproduction(KEY.model_copy(update=changes), pl.DataFrame(list(rows), schema=TIDY_SCHEMA))


def render_tables(reproduction: Reproduction, form: str = "md") -> str:
    return "".join(render(table, form) for table in reproduction.build_tables())


def test_reproduced_numbers_with_the_authors_extraction_are_compared_with_the_paper() -> None:
    rows = [make_tidy_row(run=f"b/p/linspace{frames}/m") for frames in (8, 32)]
    assert len(make_reproduction(*rows).comparisons) == 2, "two rows with the same label"
    assert not make_reproduction(make_tidy_row(source="published"), make_tidy_row(published=None)).comparisons
    robust = make_tidy_row(value=60.0, convention="fixed", extractor="robust")
    authors = make_tidy_row(value=80.0, low=75.0, high=85.0)
    (cell,) = make_reproduction(robust, authors).comparisons
    assert (cell.row["value"], cell.verdict.name) == (80.0, "differs")
    (cell,) = make_reproduction(robust).comparisons
    assert cell.verdict.text == "not comparable: extracted by robust, not by authors"


def test_a_number_by_another_judge_is_not_comparable() -> None:
    judges = {"q": "Qwen2-72B", "g": "GPT-4 turbo (1106)"}
    options: dict[str, Any] = {"paper_judges": {"b/table1": "GPT-4-Turbo (1106)"}, "judges": judges}
    other_judge, same_judge = make_reproduction(
        make_tidy_row(judge="q"), make_tidy_row(judge="g", row="B"), **options
    ).comparisons
    assert other_judge.verdict[:2] == ("not comparable", "judged by Qwen2-72B, in the paper by GPT-4-Turbo (1106)")
    assert same_judge.verdict.name == "too few to tell"
    options["obstacles"] = {"g": ("judge quantised: awq",)}
    (quantised_judge,) = make_reproduction(make_tidy_row(judge="g"), **options).comparisons
    assert quantised_judge.verdict.text == "not comparable: judge quantised: awq"


def test_a_rating_is_compared_at_the_printed_precision() -> None:
    rating = make_tidy_row(metric="mean", value=1.66, low=1.66, high=1.66, published=1.6, published_decimals=2)
    rows = rating, rating | {"row": "B", "value": 1.64, "low": 1.64, "high": 1.64}
    reproduction = make_reproduction(*rows, margins={"b": {"mean": 0.06}})
    assert [cell.verdict.text for cell in reproduction.comparisons] == ["differs", "within ±0.06"]
    assert "| 1.66 | [1.66, 1.66] |  1.60 |      +0.06 | differs" in render_tables(reproduction)


def test_limited_runs_and_missing_clips_are_not_comparable() -> None:
    precise = make_tidy_row(run="b/p/s/o", low=59.9, high=60.1, published=60.0)
    rows = make_tidy_row(run="b/p/s/m"), make_tidy_row(run="b/p/s/n", missing=5), precise
    reproduction = make_reproduction(*rows, obstacles={"b/p/s/m": ("only 40 items per benchmark (--limit)",)})
    assert [cell.verdict.text for cell in reproduction.comparisons] == [
        "not comparable: only 40 items per benchmark (--limit)",
        "not comparable: 5 samples without a clip",
        "within ±2",
    ]
    assert "at most about 0.1 of the 1 comparable scores" in render_tables(reproduction)


def test_a_number_with_lost_answers_is_not_comparable() -> None:
    lost, kept = make_tidy_row(failed=3, unparsed=2), make_tidy_row(row="B", failed=2, unparsed=2)
    first, second = make_reproduction(lost, kept).comparisons
    assert first.verdict.text == "not comparable: 5 of 100 failed or unparsed"
    assert second.verdict.name == "too few to tell"


def test_lost_answers_that_the_authors_leave_out_count() -> None:
    fixed = make_tidy_row(value=36.0, failed=40, convention="fixed", extractor="robust")
    (cell,) = make_reproduction(fixed, make_tidy_row(requested=60)).comparisons
    assert cell.row["value"] == 60.0
    assert cell.verdict.text == "not comparable: 40 of 100 failed or unparsed"
    assert cell.conditions == ("40 of 100 failed",)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        ("different prompt", "not comparable: different prompt"),
        ("partial run (--limit)", "not comparable: partial run (--limit)"),
        ("repeats an answer", ""),
    ],
)
def test_imported_answers_are_comparable_only_under_the_conditions_of_their_run(problem: str, reason: str) -> None:
    row = make_tidy_row(run="b/p/s/m", source="imported")
    key, tidy = KEY.model_copy(), pl.DataFrame([row], schema=TIDY_SCHEMA)
    (cell,) = Reproduction(key, tidy, {"b/p/s/m": {problem}}).comparisons
    assert cell.verdict.text == (reason or "too few to tell (±7.1)")


def test_conditions_stand_next_to_the_verdict_in_the_csv_and_on_the_page() -> None:
    row = make_tidy_row(
        run="b/p/linspace4/m", row="<script>x</script>|", missing=5, failed=2, unparsed=1, source="imported"
    )
    reproduction = make_reproduction(row, conditions={"b/p/linspace4/m": ("revision abc", "weights in bfloat16")})
    counts = ("5 of 105 without a clip", "2 of 105 failed", "1 of 105 unparsed")
    conditions = (*counts, "imported predictions", "revision abc", "weights in bfloat16")
    assert reproduction.comparisons[0].conditions == conditions
    for text in (reproduction.to_frame()["conditions"][0], render_tables(reproduction)):
        assert all(condition in text for condition in conditions)
    assert "<script>" not in render_tables(reproduction) + render_tables(reproduction, "html"), "labels are escaped"
    plain = make_reproduction(make_tidy_row(), conditions={"r": ("revision abc",)})
    assert plain.comparisons[0].conditions == (), "only conditions that apply are listed"
