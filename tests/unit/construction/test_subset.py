"""The search for a subset (appendix B.3): as hard as the whole by a model's strict score, seeded, usable as a list."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.rows import Item
from reprise.benchmarks.velociti.subsets import LIST_COLUMNS, rows_in_subset
from reprise.construction.review import as_csv
from reprise.construction.settings import SubsetSearch
from reprise.construction.velociti.subset import Sample, listed, samples_of, scores, search
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, VERDICTS

# Eight samples of which every second one is right: 50 percent.
SAMPLES = [Sample(f"chrono/v{number}/Ev1-Ev3/1", number % 2 == 0) for number in range(8)]
HOW = SubsetSearch(per_test=4, tolerance=0, seed=3)


def test_half_of_the_samples_are_right_in_the_subset_as_in_the_whole() -> None:
    found = search("chrono", SAMPLES, HOW)
    right = [one for one in SAMPLES if one.item_id in found.chosen and one.is_right]
    assert (found.samples, found.strict, found.subset_strict, len(found.chosen), len(right)) == (8, 50, 50, 4, 2)
    assert 1 <= found.tries <= HOW.tries
    assert scores([found]) == [
        {"test_name": "chrono", "samples": 8, "strict": "50.00", "subset": 4, "subset_strict": "50.00", "tries": found.tries}
    ]  # fmt: skip


def test_the_draw_is_seeded_and_does_not_go_by_the_order_of_the_samples() -> None:
    assert search("chrono", SAMPLES[::-1], HOW) == search("chrono", SAMPLES, HOW)
    drawn = {tuple(search("chrono", SAMPLES, HOW.model_copy(update={"seed": seed})).chosen) for seed in range(5)}
    assert len(drawn) > 1


def test_a_test_with_few_samples_is_taken_whole() -> None:
    found = search("chrono", SAMPLES[:3], HOW)
    assert (found.chosen, found.tries) == (sorted(one.item_id for one in SAMPLES[:3]), 0)


def test_a_tolerance_that_no_draw_meets_is_an_error_with_the_nearest() -> None:
    # One of three is right: of two samples none is, or one, and 50 is nearer to 33.33 than 0.
    few = [Sample("a", True), Sample("b", False), Sample("c", False)]
    with pytest.raises(UserError, match=r"none of 30 tries is within 5 points of 33.33.*nearest has 50.00.*tolerance:"):
        search("chrono", few, SubsetSearch(per_test=2, tolerance=5, tries=30))
    assert search("chrono", few, SubsetSearch(per_test=2, tolerance=17, tries=30)).subset_strict == 50


def item(test: str, video: str, event: str) -> Item:
    texts = {"positive": f"{test} {video} runs.", "negative": f"{test} {video} sits."}
    return Item(f"{test}/{video}/{event}/1", f"{video}.whole", video, test, texts)


def test_the_list_names_the_same_rows_to_the_reader_of_a_suite_s_subset(tmp_path: Path) -> None:
    rows = [item("chrono", f"v{n}", "Ev1-Ev3") for n in range(6)] + [item("control", f"v{n}", "Ev2") for n in range(6)]
    named = [
        one._asdict() | {"texts": [{"name": k, "text": v} for k, v in one.texts.items()], "tags": []} for one in rows
    ]
    items = pl.DataFrame(named, schema=ITEMS)
    answers = [
        {name: None for name in VERDICTS} | {"item_id": one.item_id, "role": role, "right": role == "pos" or n % 2 == 0}
        for n, one in enumerate(rows)
        for role in (("pos", "neg") if n else ("pos",))
    ]
    samples = samples_of(items, pl.DataFrame(answers, schema=VERDICTS))
    assert [(test, len(found), sum(one.is_right for one in found)) for test, found in samples.items()] == [
        ("control", 6, 3), ("chrono", 5, 2),  # the first chronology was asked about one caption only
    ]  # fmt: skip
    found = [search(test, of_test, SubsetSearch(per_test=2, tolerance=15)) for test, of_test in samples.items()]
    path = tmp_path / "subset.csv"
    path.write_text(as_csv(listed(items, found), LIST_COLUMNS))
    assert '"[""Ev1"",""Ev3""]"' in path.read_text()
    columns = ("test_name", "video_id", "event", "pos", "neg")
    events = {"chrono": '["Ev1","Ev3"]', "control": "Ev2"}
    released = [(one.task, one.unit, events[one.task], one.texts["positive"], one.texts["negative"]) for one in rows]
    table = pl.DataFrame(released, schema=columns, orient="row")
    chosen = {one for test in found for one in test.chosen}
    is_in = rows_in_subset(table, columns, {"file": str(path)})
    assert {one.item_id for one, is_listed in zip(rows, is_in, strict=True) if is_listed} == chosen and len(chosen) == 4
