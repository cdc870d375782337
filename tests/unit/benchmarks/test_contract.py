"""Test what the folder of each benchmark must define, and the helpers for flaws and accuracies."""

import polars as pl
import pytest
from reprise.benchmarks import registry
from reprise.benchmarks.annotations import (
    ALL_ITEMS,
    AnnotatedClip,
    Annotations,
    Flaws,
    Item,
    build_flaw_metric_rows,
    is_in_group,
    list_flaws,
)
from reprise.benchmarks.scoring import RunAnswers, build_accuracy_scoring
from reprise.core.schemas import ITEMS as ITEM_SCHEMA
from reprise.core.schemas import VERDICTS

from tests.unit.rows import item_row, verdict_row

ITEMS = [
    Item("1", "a.whole", "a", "t", {"caption": "One."}, "Yes", ["true"]),
    Item("2", "a.whole", "a", "t", {"caption": "Two."}, "No", ["false"]),
    Item("3", "b.whole", "b", "t", {"caption": ""}, "Yes", ["true"]),
]
_, ITEM_TABLE = Annotations([AnnotatedClip("a.whole", "a", "whole", "a")], ITEMS).to_tables()


@pytest.mark.parametrize("benchmark", registry.benchmark_names())
def test_every_form_has_questions_and_scores(benchmark: str) -> None:
    forms = set(registry.load_questions(benchmark).FORMS)
    assert forms == set(registry.load_scores(benchmark).SCORES)
    assert set(registry.load_answers(benchmark)) <= forms
    scores, analyses = registry.load_scores(benchmark), registry.load_analyses(benchmark)
    assert set(scores.CHANCE) <= {metric for scoring in scores.SCORES.values() for metric in scoring.metrics}
    assert analyses is None or analyses.groups <= set(scores.GROUPS), "GROUPS lacks a group of the analyses"


def test_a_flawed_entry_is_counted_once_and_the_first_entries_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """An entry has two items here, as the four items of a Vinoground pair share one entry."""
    flaws = Flaws()
    for number in range(1, 8):
        flaws.add(f"pair {number}", f"rows.csv: row {number + 1}", "no caption")
    flaws.add("pair 1", "rows.csv: row 2", "no category")
    assert (len(caplog.messages), caplog.messages[-1]) == (8, "rows.csv: row 2: no category")
    rows = [item_row(f"{pair}/{part}", flaws=flaws.get(f"pair {pair}")) for pair in range(8) for part in "ab"]
    table = pl.DataFrame(rows, schema=ITEM_SCHEMA)
    assert list_flaws(table)[:2] == ["pair 1: no caption; no category", "pair 2: no caption"]
    (metric_row,) = build_flaw_metric_rows(table)
    assert (metric_row["value"], metric_row["requested"]) == (7, 0), "a flaw is not a sample"
    assert metric_row["note"].endswith("; pair 5: no caption; and 2 more, all in the log of `annotations`")
    assert build_flaw_metric_rows(table.head(2)) == [] == build_flaw_metric_rows(table.clear())


def test_accuracy_is_the_share_of_items_with_a_correct_answer() -> None:
    scores = build_accuracy_scoring("accuracy", {"all": ALL_ITEMS, "true": is_in_group("true")})
    rows = [verdict_row(f"{item}#event", "Yes", right=item == "1", unparsed=item == "2") for item in ("1", "2", "3")]
    verdicts = pl.DataFrame(rows, schema=VERDICTS)
    for convention in ("fixed", "authors"):
        measures = scores.compute_measures(RunAnswers(ITEM_TABLE, verdicts, convention), 0.95)
        measure_by_group = {measure.group: measure for measure in measures}
        assert measure_by_group["all"].value == pytest.approx(100 / 3) and measure_by_group["true"].value == 50
        assert (
            measure_by_group["all"].requested,
            measure_by_group["all"].scored,
            measure_by_group["all"].unparsed,
        ) == (3, 2, 1)
    assert scores.metrics == {"accuracy"}
    assert scores.compute_outcomes(RunAnswers(ITEM_TABLE, verdicts))["accuracy"]["right"].to_list() == [
        True,
        False,
        False,
    ]
