"""What a card counts and says: the worked example of docs/reference/time.md, and models that are known by how they are made."""

import re
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError
from reprise.core.files import sealed_text
from reprise.core.schemas import ITEMS, METRICS, VERDICTS, write_table
from reprise.stages import time_card
from reprise.timecard.card import VIEWS, Card, read_card
from reprise.timecard.measure import card_of
from reprise.timecard.tables import in_order

from tests.unit.rows import item_row, verdict_row
from tests.unit.timecard.made_views import key_of, key_of_rule, write_items, write_verdicts

# The worked example: ten videos with a question each, 1 is right.
EXAMPLE = {
    "planned": "1111111100",
    "shuffled": "1111100010",
    "reversed": "1111000010",
    "middle": "1110100000",
    "none": "1010100001",
}


def example(folder: Path, views: dict[str, str], **known: object) -> Card:
    items = write_items(folder, 10)
    right = {view: [None if digit == "-" else digit == "1" for digit in digits] for view, digits in views.items()}
    paths = {view: write_verdicts(folder, view, digits) for view, digits in right.items()}
    return card_of(key_of(items, paths, **known))[0]


def test_the_worked_example(tmp_path: Path) -> None:
    (found,) = example(tmp_path, EXAMPLE).benchmarks
    assert [round(one.score.value) for one in found.views] == [80, 60, 50, 40, 40]
    parts = {part.name: round(part.number.value) for part in found.parts}
    assert parts == {"words": 40, "one_frame": 0, "set": 20, "order": 20}
    changes = {one.view: one.change for one in found.views if one.change}
    assert {view: (round(one.value), one.lost, one.gained) for view, one in changes.items()} == {
        "shuffled": (-20, 3, 1), "reversed": (-30, 4, 1), "middle": (-40, 4, 0), "none": (-40, 5, 1),
    }  # fmt: skip
    # Exact: of 2^4 patterns of signs 10 are as far out as 3 against 1; of 2^4 patterns 2 as far as 4 against 0.
    assert (changes["shuffled"].p, changes["middle"].p) == (10 / 16, 2 / 16)
    assert found.missing == dict.fromkeys(("first", "another"), "left out by the suite's `time_views`")
    assert (found.samples, found.left_out, found.clusters, found.only_with_time) == (10, 0, 10, 3)
    (found,) = example(tmp_path, EXAMPLE | {"none": "1010100-0-"}).benchmarks
    assert (found.samples, found.left_out) == (8, 2), "all numbers are of the samples that every view was asked"


def test_the_page_of_the_documentation_has_the_numbers_of_the_example() -> None:
    page = Path("docs/reference/time.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| `([01 ]+)` \|", page, flags=re.MULTILINE))
    assert {view: digits.replace(" ", "") for view, digits in rows.items()} == EXAMPLE


BELOW_ZERO = {"planned": "1100000000", "shuffled": "1111000000", "middle": "1000000000", "none": "1110000000"}


@pytest.mark.parametrize(
    ("views", "asked", "expected"),
    [
        (EXAMPLE, ("planned", "shuffled", "middle"), {"words+one_frame": 40, "set": 20, "order": 20}),
        (EXAMPLE, ("planned", "none"), {"words": 40, "one_frame+set+order": 40}),
        (EXAMPLE, ("shuffled", "none"), {}),
        (EXAMPLE, (), {}),
        (BELOW_ZERO, tuple(BELOW_ZERO), {"words": 30, "one_frame": -20, "set": 30, "order": -20}),
    ],
)
def test_steps_that_were_not_asked_are_in_the_next(
    views: dict[str, str], asked: tuple[str, ...], expected: dict[str, int], tmp_path: Path
) -> None:
    (found,) = example(tmp_path, {view: views[view] for view in asked}, missing={"first": "too dear"}).benchmarks
    assert {part.name: round(part.number.value) for part in found.parts} == expected
    assert found.missing.keys() == set(VIEWS) - set(asked) and found.missing["first"] == "too dear"
    if not asked:
        assert (found.verdict, found.samples) == ("open", 0)
        assert found.sentence == "Nothing is known on TemporalBench: it was not asked."


def test_a_score_that_the_form_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown score 'strict'. Allowed: ba, mba"):
        example(tmp_path, EXAMPLE, score="strict")


def test_chance_that_is_counted_comes_from_the_data(tmp_path: Path) -> None:
    number = {"metric": "chance.short.mba", "group": "overall", "value": 12.5}
    counts = dict.fromkeys(("asked", "scored", "failed", "unparsed", "missing"), 0)
    path = tmp_path / "statistics.parquet"
    write_table(pl.DataFrame([number | counts], schema=METRICS), path, METRICS)
    assert example(tmp_path, EXAMPLE, score="mba", statistics=path).benchmarks[0].chance == 12.5
    assert example(tmp_path, EXAMPLE, score="mba").benchmarks[0].chance is None


def test_a_card_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"model": "toy"}')
    with pytest.raises(UserError, match="no card of this version"):
        read_card(path)


def test_the_stage_writes_the_card_and_the_list_of_its_samples_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    key = key_of_rule(tmp_path, lambda view, at: at % 2 == 0 or view == "planned")
    page = tmp_path / "results" / "toy.html"
    time_card.main(key, [], page)
    (found,) = read_card(page.with_suffix(".json")).benchmarks
    for kind in (".html", ".md"):
        assert found.sentence.split(":")[0] in sealed_text(page.with_suffix(kind)).read_text()
    assert "http" not in page.read_text().replace("http-equiv", "") and "<script" not in page.read_text()
    samples, rows = (pl.read_csv(page.with_suffix(kind)) for kind in (".items.csv", ".csv"))
    assert samples.height == 60 == found.only_with_time and samples["sample"][0] == "q001"
    assert set(samples.columns) == {"benchmark", "sample", "unit", "task", *VIEWS}
    assert rows.filter(kind="part")["value"].sum() == pytest.approx(rows.filter(kind="score")["value"][0])
    assert rows.filter(kind="score")["name"].to_list() == list(VIEWS)
    flat, timely = card_of(key_of_rule(tmp_path, lambda view, at: at % 2 == 0))[0], read_card(page.with_suffix(".json"))
    assert in_order([flat, timely]) == [timely, flat], "by the part due to order"


def test_a_card_has_the_benchmark_s_own_number(tmp_path: Path) -> None:
    """Tests of unequal size, and the control, which counts in no mean."""
    tasks = [*[CONTROL] * 9, *(task for at, task in enumerate(TESTS) for _ in range(4 + at))]
    rows = [item_row(f"i{at}", unit=f"v{at % 7}", task=task) for at, task in enumerate(tasks)]
    asked = [(at, role, step) for at in range(len(rows)) for role, step in (("pos", 3), ("neg", 2))]
    said = [verdict_row(f"i{at}#{role}", right=at * step % 5 > 1, score=0.5) for at, role, step in asked]
    items, verdicts = pl.DataFrame(rows, schema=ITEMS), pl.DataFrame(said, schema=VERDICTS)
    paths = tmp_path / "items.parquet", tmp_path / "verdicts.parquet"
    write_table(items, paths[0], ITEMS)
    write_table(verdicts, paths[1], VERDICTS)
    known = {"name": "velociti", "form": "entail", "score": "strict", "group": "average"}
    (found,) = card_of(key_of(paths[0], {"planned": paths[1], "shuffled": paths[1]}, **known))[0].benchmarks
    measures = load_scores("velociti").SCORES["entail"].measure(Answered(items, verdicts), 0.95)
    (expected,) = (one for one in measures if (one.metric, one.group) == ("strict", "average"))
    planned, shuffled = found.views
    assert planned.score.model_dump() == pytest.approx(
        {name: getattr(expected, name) for name in ("value", "low", "high")}
    )
    assert shuffled.change is not None
    assert (found.best, found.chance, shuffled.change.value) == (100, 25, 0)


# --- models whose use of time is known by how they are made -----------------------------------------------------------

EVERY = ("planned", "shuffled", "reversed", "first", "middle", "none", "another")


@pytest.mark.parametrize(
    ("sees", "verdict", "said", "order_part"),
    [
        ((), "words", ["No use of the video is shown on TemporalBench: showing no video changes the score by 0.0 points"], 0),
        (EVERY[:5], "frame", ["The video matters on TemporalBench, no use of more than one frame is shown"], 0),  # any frame shows it
        (("planned", "first"), "frame",  # it is seen at the start of the clip, in the first picture
         ["no use of more than one frame is shown", "the first frame repeated changes the score by 0.0", "yet shuffling the frames loses 30.0 points"], 30),
        (EVERY[:3], "frames", ["Several frames matter on TemporalBench, no use of their order is shown"], 0),
        (EVERY[:1], "order", ["Order matters on TemporalBench: shuffling the frames loses 30.0 points ["], 30),
    ],
)  # fmt: skip
def test_a_model_is_called_what_it_is(
    sees: tuple[str, ...], verdict: str, said: list[str], order_part: float, tmp_path: Path
) -> None:
    """Under these views it is right in four of five clips; under others it guesses by the question, half of them right."""
    key = key_of_rule(tmp_path, lambda view, at: at % 5 > 0 if view in sees else at * 7 % 10 < 5)
    (found,) = card_of(key)[0].benchmarks
    assert found.verdict == verdict and all(words in found.sentence for words in said)
    planned, part = found.view("planned"), found.part("order")
    assert planned and sum(part.number.value for part in found.parts) == pytest.approx(planned.score.value, abs=1e-9)
    assert part and part.number.value == pytest.approx(order_part) and part.number.low is not None
    if not order_part:  # of what needs no order exactly none is due to it
        assert (part.number.value, part.p) == (0.0, 1.0)
        assert part.number.low == pytest.approx(-part.number.high) and part.number.low < 0  # type: ignore[operator]
