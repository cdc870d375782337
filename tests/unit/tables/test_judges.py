"""Test the table of judges: counts and numbers of a pair by hand, and unparsed and failed replies."""

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


def make_verdicts(replies: Ratings, *, video_count: int = 2) -> pl.DataFrame:
    """Return a judge's verdicts: each reply is a rating, an option, unparsed ("") or a failed answer (None)."""
    rows = []
    for index, reply in enumerate(replies):
        score = float(reply) if isinstance(reply, int) else None
        fields = {"item_id": str(index), "failed": reply is FAILED, "unparsed": reply == "", "right": reply in (3, "A")}
        rows.append(verdict_row(f"{index}#robust", str("" if reply is None else reply), score=score, **fields))
    clusters = [f"v{index % video_count}" for index in range(len(rows))]
    return pl.DataFrame(rows, schema=VERDICTS).with_columns(cluster=pl.Series(clusters, dtype=pl.String))


def compare(first: list[Ratings], second: list[Ratings]) -> Any:
    verdicts = {
        (run, judge): make_verdicts(replies)
        for judge, replies_by_run in (("first", first), ("second", second))
        for run, replies in zip(RUNS, replies_by_run, strict=False)
    }
    pair = JudgePairKey(benchmark="b", title="Bench, p", judges=("first", "second"), runs=RUNS[: len(first)])
    return compare_judges(pair, verdicts, 0.95)


def test_agreement_of_ratings_and_options_by_hand() -> None:
    """Five pairs of ratings are parsed for both judges: 0 1 2 3 3 and 0 2 2 3 1; three are equal, the means are 9/5 and 8/5.

    Of the options A A B B and A B B B, three are equal; half would be by chance. A half and a quarter are correct.
    """
    agreement = compare([[0, 1, 2, 3, 3, "", 2, "", FAILED]], [[0, 2, 2, 3, 1, 1, "", "", FAILED]])
    assert agreement.counts == (5, 1, 1, 1) and agreement.failed_count == 1
    assert {name: number.value for name, number in agreement.numbers.items()} == {
        "agreement": pytest.approx(60), "kappa": pytest.approx(1 - 25 / 61), "difference": pytest.approx(0.2),
        "rank_correlation": None,
    }  # fmt: skip
    low, high = agreement.numbers["difference"].interval or (0, 0)
    assert -3 <= low < 0.2 < high <= 3
    agreement = compare([["A", "A", "B", "B"]], [["A", "B", "B", "B"]])
    assert {name: number.value for name, number in agreement.numbers.items()} == {
        "agreement": pytest.approx(75), "kappa": pytest.approx(0.5), "difference": pytest.approx(25),
        "rank_correlation": None,
    }  # fmt: skip


def test_unparsed_replies_do_not_count_and_small_samples_are_undefined() -> None:
    means: list[Ratings] = [[0, 1], [1, 2], [3, 3]]
    assert compare(means, [[1, 1], [0, 0], [3, 2]]).numbers["rank_correlation"].value == pytest.approx(0.5)
    assert compare(means[:2], [[1, 1], [0, 0]]).numbers["rank_correlation"].value is None, (
        "a rank correlation needs three runs"
    )
    all_parsed, one_unparsed = compare([[0, 1, 3]], [[0, 2, 3]]), compare([[0, 1, 3, 3]], [[0, 2, 3, ""]])
    assert all_parsed.numbers == one_unparsed.numbers, (
        "a reply that is parsed for one judge only changes the counts, not the numbers"
    )
    assert (all_parsed.counts, one_unparsed.counts) == ((3, 0, 0, 0), (3, 1, 0, 0))
    no_pairs = compare([[0, ""]], [["", 1]])
    assert no_pairs.counts == (0, 1, 1, 0) and {number.value for number in no_pairs.numbers.values()} == {None}


def test_the_table_counts_unjudged_answers() -> None:
    agreement = compare([[0, 1, 2, 3, 3, "", FAILED]], [[0, 2, 2, 3, 1, 1, FAILED]])
    fields = {"suite": "s", "suite_title": "S", "notice": "Toy.", "confidence": 0.95}
    key = AgreementKey.model_validate(
        fields | {"pairs": [agreement.pair], "judges": {"first": "GPT", "second": "Qwen"}}
    )
    text = render(build_agreement_table(key, [agreement]), "md")
    assert "GPT / Qwen" in text and "60.0" in text and "0.59" in text
    assert "1 failed answers were not judged." in text and "**Toy.**" in text
    rows = pl.DataFrame(list(tidy_rows(key, [agreement])), schema=TIDY_SCHEMA)
    assert rows.filter(metric="kappa").select("requested", "scored", "failed", "unparsed").row(0) == (7, 5, 1, 1)
    assert rows.filter(metric="second_only")["value"].to_list() == [1] and set(rows["row"]) == {"first, second"}
