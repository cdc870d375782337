"""What a benchmark's folder must define, and what its modules may reach."""

import polars as pl
import pytest
from reprise.benchmarks import registry
from reprise.benchmarks.rows import ALL_ITEMS, Annotations, Clip, Flaws, Item, flaw_numbers, flaws_of, is_in
from reprise.benchmarks.scoring import Answered, share_right
from reprise.core.schemas import ITEMS as ITEM_SCHEMA
from reprise.core.schemas import VERDICTS

from tests.unit.rows import item_row, verdict_row

ITEMS = [
    Item("1", "a.whole", "a", "t", {"caption": "One."}, "Yes", ["true"]),
    Item("2", "a.whole", "a", "t", {"caption": "Two."}, "No", ["false"]),
    Item("3", "b.whole", "b", "t", {"caption": ""}, "Yes", ["true"]),
]
TABLE = Annotations([Clip("a.whole", "a", "whole", "a")], ITEMS).tables()[1]


@pytest.mark.parametrize("benchmark", registry.benchmark_names())
def test_every_form_is_asked_and_scored_and_only_those_are_judged(benchmark: str) -> None:
    forms = set(registry.load_questions(benchmark).FORMS)
    assert forms == set(registry.load_scores(benchmark).SCORES)
    assert set(registry.load_answers(benchmark)) <= forms
    scores, analyses = registry.load_scores(benchmark), registry.load_analyses(benchmark)
    assert set(scores.CHANCE) <= {metric for one in scores.SCORES.values() for metric in one.metrics}
    assert analyses is not None and analyses.groups <= set(scores.GROUPS), "a table may show each"


def test_a_flawed_entry_is_said_and_counted_once_and_the_first_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """Two items an entry, as the four of a Vinoground pair share one."""
    flaws = Flaws()
    for number in range(1, 8):
        flaws.add(f"pair {number}", f"rows.csv: row {number + 1}", "no caption")
    flaws.add("pair 1", "rows.csv: row 2", "no category")
    assert (len(caplog.messages), caplog.messages[-1]) == (8, "rows.csv: row 2: no category")
    rows = [item_row(f"{at}/{part}", flaws=flaws.of(f"pair {at}")) for at in range(8) for part in "ab"]
    table = pl.DataFrame(rows, schema=ITEM_SCHEMA)
    assert flaws_of(table)[:2] == ["pair 1: no caption; no category", "pair 2: no caption"]
    (number,) = flaw_numbers(table)
    assert (number["value"], number["asked"]) == (7, 0), "it is no sample"
    assert number["note"].endswith("; pair 5: no caption; and 2 more, all in the log of `annotations`")
    assert flaw_numbers(table.head(2)) == [] == flaw_numbers(table.clear())


def test_the_share_of_items_answered_right() -> None:
    scores = share_right("accuracy", {"all": ALL_ITEMS, "true": is_in("true")})
    rows = [verdict_row(f"{item}#event", "Yes", right=item == "1", unparsed=item == "2") for item in ("1", "2", "3")]
    verdicts = pl.DataFrame(rows, schema=VERDICTS)
    for convention in ("fixed", "authors"):
        found = {one.group: one for one in scores.measure(Answered(TABLE, verdicts, convention), 0.95)}
        assert found["all"].value == pytest.approx(100 / 3) and found["true"].value == 50
        assert (found["all"].asked, found["all"].scored, found["all"].unparsed) == (3, 2, 1)
    assert scores.metrics == {"accuracy"}
    assert scores.outcomes(Answered(TABLE, verdicts))["accuracy"]["right"].to_list() == [True, False, False]
