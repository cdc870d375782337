"""The table of judges: counts and numbers of a pair, worked by hand, and what becomes of replies that could not be parsed."""

from typing import Any

import polars as pl
import pytest
from reprise.core.schemas import VERDICTS
from reprise.tables.builder import TIDY_SCHEMA
from reprise.tables.judges import build_agreement_table, compare_judges, tidy_rows
from reprise.tables.keys import AgreementKey, JudgePairKey
from reprise.tables.render import render

from tests.unit.rows import verdict_row

Ratings = list[int | str | None]
FAILED = None
RUNS = ("b/p/s/m0", "b/p/s/m1", "b/p/s/m2")


def judged(replies: Ratings, *, videos: int = 2) -> pl.DataFrame:
    """A judge's verdicts on as many answers: a rating, an option, nothing that could be read, or a failed answer."""
    rows = []
    for number, reply in enumerate(replies):
        score = float(reply) if isinstance(reply, int) else None
        known = {"item_id": str(number), "failed": reply is FAILED, "unparsed": reply == "", "right": reply in (3, "A")}
        rows.append(verdict_row(f"{number}#robust", str("" if reply is None else reply), score=score, **known))
    units = [f"v{number % videos}" for number in range(len(rows))]
    return pl.DataFrame(rows, schema=VERDICTS).with_columns(cluster=pl.Series(units, dtype=pl.String))


def of(first: list[Ratings], second: list[Ratings]) -> Any:
    verdicts = {
        (run, judge): judged(replies)
        for judge, given in (("first", first), ("second", second))
        for run, replies in zip(RUNS, given, strict=False)
    }
    pair = JudgePairKey(benchmark="b", title="Bench, p", judges=("first", "second"), runs=RUNS[: len(first)])
    return compare_judges(pair, verdicts, 0.95)


def test_ratings_and_options_by_hand() -> None:
    """Ratings extracted by both: 0 1 2 3 3 and 0 2 2 3 1, of which three are equal; the means are 9/5 and 8/5.

    Options A A B B and A B B B: three equal, by chance half would be; half and a quarter are right.
    """
    found = of([[0, 1, 2, 3, 3, "", 2, "", FAILED]], [[0, 2, 2, 3, 1, 1, "", "", FAILED]])
    assert found.counts == (5, 1, 1, 1) and found.failed == 1
    assert {name: number.value for name, number in found.numbers.items()} == {
        "agreement": pytest.approx(60), "kappa": pytest.approx(1 - 25 / 61), "difference": pytest.approx(0.2),
        "rank_correlation": None,
    }  # fmt: skip
    low, high = found.numbers["difference"].interval or (0, 0)
    assert -3 <= low < 0.2 < high <= 3
    found = of([["A", "A", "B", "B"]], [["A", "B", "B", "B"]])
    assert {name: number.value for name, number in found.numbers.items()} == {
        "agreement": pytest.approx(75), "kappa": pytest.approx(0.5), "difference": pytest.approx(25),
        "rank_correlation": None,
    }  # fmt: skip


def test_what_counts_and_what_is_undefined() -> None:
    means: list[Ratings] = [[0, 1], [1, 2], [3, 3]]
    assert of(means, [[1, 1], [0, 0], [3, 2]]).numbers["rank_correlation"].value == pytest.approx(0.5)
    assert of(means[:2], [[1, 1], [0, 0]]).numbers["rank_correlation"].value is None, "an order needs three"
    whole, less = of([[0, 1, 3]], [[0, 2, 3]]), of([[0, 1, 3, 3]], [[0, 2, 3, ""]])
    assert whole.numbers == less.numbers, "a reply that only one could be read of changes counts alone"
    assert (whole.counts, less.counts) == ((3, 0, 0, 0), (3, 1, 0, 0))
    nothing = of([[0, ""]], [["", 1]])
    assert nothing.counts == (0, 1, 1, 0) and {number.value for number in nothing.numbers.values()} == {None}


def test_the_table_counts_what_could_not_be_judged() -> None:
    found = of([[0, 1, 2, 3, 3, "", FAILED]], [[0, 2, 2, 3, 1, 1, FAILED]])
    known = {"suite": "s", "suite_title": "S", "notice": "Toy.", "confidence": 0.95}
    key = AgreementKey.model_validate(known | {"pairs": [found.pair], "judges": {"first": "GPT", "second": "Qwen"}})
    text = render(build_agreement_table(key, [found]), "md")
    assert "GPT / Qwen" in text and "60.0" in text and "0.59" in text
    assert "1 failed answers were not judged." in text and "**Toy.**" in text
    rows = pl.DataFrame(list(tidy_rows(key, [found])), schema=TIDY_SCHEMA)
    assert rows.filter(metric="kappa").select("requested", "scored", "failed", "unparsed").row(0) == (7, 5, 1, 1)
    assert rows.filter(metric="second_only")["value"].to_list() == [1] and set(rows["row"]) == {"first, second"}
