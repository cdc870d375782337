"""Temporal profiles: the worked example of docs/reference/temporal.md, and models with a known use of time."""

import re
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import RunAnswers
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError
from reprise.core.files import verify_sealed_text
from reprise.core.schemas import ITEMS, METRICS, VERDICTS, write_table
from reprise.stages import temporal_profile
from reprise.temporal.measure import build_profile
from reprise.temporal.profile import CONDITIONS, TemporalProfile, read_profile
from reprise.temporal.tables import sort_profiles

from tests.unit.rows import item_row, verdict_row
from tests.unit.temporal.profile_inputs import key_of, key_of_rule, write_items, write_verdicts

# The worked example: ten videos with one question each; 1 is a right answer.
EXAMPLE = {
    "planned": "1111111100",
    "shuffled": "1111100010",
    "reversed": "1111000010",
    "middle": "1110100000",
    "none": "1010100001",
}


def example(folder: Path, conditions: dict[str, str], **known: object) -> TemporalProfile:
    items = write_items(folder, 10)
    right = {
        condition: [None if digit == "-" else digit == "1" for digit in digits]
        for condition, digits in conditions.items()
    }
    paths = {condition: write_verdicts(folder, condition, digits) for condition, digits in right.items()}
    return build_profile(key_of(items, paths, **known))[0]


def test_the_worked_example(tmp_path: Path) -> None:
    (benchmark,) = example(tmp_path, EXAMPLE).benchmarks
    assert [round(result.score.value) for result in benchmark.conditions] == [80, 60, 50, 40, 40]
    parts = {part.name: round(part.number.value) for part in benchmark.parts}
    assert parts == {"words": 40, "one_frame": 0, "set": 20, "order": 20}
    changes = {result.condition: result.change for result in benchmark.conditions if result.change}
    assert {condition: (round(change.value), change.regressions, change.improvements) for condition, change in changes.items()} == {
        "shuffled": (-20, 3, 1), "reversed": (-30, 4, 1), "middle": (-40, 4, 0), "none": (-40, 5, 1),
    }  # fmt: skip
    # Exact: 10 of 2^4 patterns of signs are as extreme as 3 against 1; 2 of 2^4 are as extreme as 4 against 0.
    assert (changes["shuffled"].p, changes["middle"].p) == (10 / 16, 2 / 16)
    assert benchmark.missing == dict.fromkeys(("first", "mismatched"), "left out by the suite's `temporal_ablations`")
    assert (benchmark.samples, benchmark.excluded, benchmark.clusters, benchmark.only_as_planned) == (10, 0, 10, 3)
    (benchmark,) = example(tmp_path, EXAMPLE | {"none": "1010100-0-"}).benchmarks
    assert (benchmark.samples, benchmark.excluded) == (8, 2), (
        "all numbers use the samples that were run under every condition"
    )


def test_documentation_has_the_answers_of_the_example() -> None:
    page = Path("docs/reference/temporal.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\w+) \| `([01 ]+)` \|", page, flags=re.MULTILINE))
    assert {condition: digits.replace(" ", "") for condition, digits in rows.items()} == EXAMPLE


BELOW_ZERO = {"planned": "1100000000", "shuffled": "1111000000", "middle": "1000000000", "none": "1110000000"}


@pytest.mark.parametrize(
    ("conditions", "run", "expected"),
    [
        (EXAMPLE, ("planned", "shuffled", "middle"), {"words+one_frame": 40, "set": 20, "order": 20}),
        (EXAMPLE, ("planned", "none"), {"words": 40, "one_frame+set+order": 40}),
        (EXAMPLE, ("shuffled", "none"), {}),
        (EXAMPLE, (), {}),
        (BELOW_ZERO, tuple(BELOW_ZERO), {"words": 30, "one_frame": -20, "set": 30, "order": -20}),
    ],
)
def test_steps_that_were_not_run_are_merged_into_the_next(
    conditions: dict[str, str], run: tuple[str, ...], expected: dict[str, int], tmp_path: Path
) -> None:
    (benchmark,) = example(
        tmp_path, {condition: conditions[condition] for condition in run}, missing={"first": "too expensive"}
    ).benchmarks
    assert {part.name: round(part.number.value) for part in benchmark.parts} == expected
    assert benchmark.missing.keys() == set(CONDITIONS) - set(run) and benchmark.missing["first"] == "too expensive"
    if not run:
        assert (benchmark.verdict, benchmark.samples) == ("open", 0)
        assert benchmark.sentence == "Nothing is known on TemporalBench: it was not run."


def test_an_unknown_score_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown score 'strict'. Allowed: ba, mba"):
        example(tmp_path, EXAMPLE, score="strict")


def test_chance_is_read_from_the_statistics(tmp_path: Path) -> None:
    number = {"metric": "chance.short.mba", "group": "overall", "value": 12.5}
    counts = dict.fromkeys(("requested", "scored", "failed", "unparsed", "missing"), 0)
    path = tmp_path / "statistics.parquet"
    write_table(pl.DataFrame([number | counts], schema=METRICS), path, METRICS)
    assert example(tmp_path, EXAMPLE, score="mba", statistics=path).benchmarks[0].chance == 12.5
    assert example(tmp_path, EXAMPLE, score="mba").benchmarks[0].chance is None


def test_a_profile_of_another_version_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"model": "toy"}')
    with pytest.raises(UserError, match="not a temporal profile of this version"):
        read_profile(path)


def test_the_stage_writes_all_files_and_the_page_loads_nothing(tmp_path: Path) -> None:
    key = key_of_rule(tmp_path, lambda condition, at: at % 2 == 0 or condition == "planned")
    page = tmp_path / "results" / "toy.html"
    temporal_profile.main(key, [], page)
    (benchmark,) = read_profile(page.with_suffix(".json")).benchmarks
    for kind in (".html", ".md"):
        assert benchmark.sentence.split(":")[0] in verify_sealed_text(page.with_suffix(kind)).read_text()
    assert "http" not in page.read_text().replace("http-equiv", "") and "<script" not in page.read_text()
    samples, rows = (pl.read_csv(page.with_suffix(kind)) for kind in (".items.csv", ".csv"))
    assert samples.height == 60 == benchmark.only_as_planned and samples["sample"][0] == "q001"
    assert set(samples.columns) == {"benchmark", "sample", "cluster", "task", *CONDITIONS}
    assert rows.filter(kind="part")["value"].sum() == pytest.approx(rows.filter(kind="score")["value"][0])
    assert rows.filter(kind="score")["name"].to_list() == list(CONDITIONS)
    assert rows.filter(kind="change").select("regressions", "improvements").null_count().sum_horizontal().item() == 0
    without_order, with_order = (
        build_profile(key_of_rule(tmp_path, lambda condition, at: at % 2 == 0))[0],
        read_profile(page.with_suffix(".json")),
    )
    assert sort_profiles([without_order, with_order]) == [with_order, without_order], "by the part due to order"


def test_the_score_equals_the_benchmark_s_metric(tmp_path: Path) -> None:
    """The tests differ in size; the control counts in no mean."""
    tasks = [*[CONTROL] * 9, *(task for at, task in enumerate(TESTS) for _ in range(4 + at))]
    rows = [item_row(f"i{at}", cluster=f"v{at % 7}", task=task) for at, task in enumerate(tasks)]
    requests = [(at, role, step) for at in range(len(rows)) for role, step in (("pos", 3), ("neg", 2))]
    verdict_rows = [verdict_row(f"i{at}#{role}", right=at * step % 5 > 1, score=0.5) for at, role, step in requests]
    items, verdicts = pl.DataFrame(rows, schema=ITEMS), pl.DataFrame(verdict_rows, schema=VERDICTS)
    paths = tmp_path / "items.parquet", tmp_path / "verdicts.parquet"
    write_table(items, paths[0], ITEMS)
    write_table(verdicts, paths[1], VERDICTS)
    settings = {"name": "velociti", "form": "entail", "score": "strict", "group": "average"}
    (benchmark,) = build_profile(key_of(paths[0], {"planned": paths[1], "shuffled": paths[1]}, **settings))[
        0
    ].benchmarks
    measures = load_scores("velociti").SCORES["entail"].compute_measures(RunAnswers(items, verdicts), 0.95)
    (expected,) = (measure for measure in measures if (measure.metric, measure.group) == ("strict", "average"))
    planned, shuffled = benchmark.conditions
    assert planned.score.model_dump() == pytest.approx(
        {name: getattr(expected, name) for name in ("value", "low", "high")}
    )
    assert shuffled.change is not None
    assert (benchmark.best, benchmark.chance, shuffled.change.value) == (100, 25, 0)


# --- models with a known use of time -----------------------------------------------------------

EVERY = ("planned", "shuffled", "reversed", "first", "middle", "none", "mismatched")


@pytest.mark.parametrize(
    ("conditions", "verdict", "phrases", "order_part"),
    [
        ((), "words", ["No use of the video is shown on TemporalBench: showing no video changes the score by 0.0 points"], 0),
        (EVERY[:5], "frame", ["The video matters on TemporalBench, no use of more than one frame is shown"], 0),  # visible in any frame
        (("planned", "first"), "frame",  # visible at the start of the clip, in the first frame
         ["no use of more than one frame is shown", "the first frame repeated changes the score by 0.0", "yet shuffling the frames loses 30.0 points"], 30),
        (EVERY[:3], "frames", ["Several frames matter on TemporalBench, no use of their order is shown"], 0),
        (EVERY[:1], "order", ["Order matters on TemporalBench: shuffling the frames loses 30.0 points ["], 30),
    ],
)  # fmt: skip
def test_the_verdict_is_the_use_of_time_that_a_model_has(
    conditions: tuple[str, ...], verdict: str, phrases: list[str], order_part: float, tmp_path: Path
) -> None:
    """The model is right on four of five clips under these conditions, and on half of them under the others."""
    key = key_of_rule(tmp_path, lambda condition, at: at % 5 > 0 if condition in conditions else at * 7 % 10 < 5)
    (benchmark,) = build_profile(key)[0].benchmarks
    assert benchmark.verdict == verdict and all(words in benchmark.sentence for words in phrases)
    planned, part = benchmark.condition("planned"), benchmark.part("order")
    assert planned and sum(part.number.value for part in benchmark.parts) == pytest.approx(
        planned.score.value, abs=1e-9
    )
    assert part and part.number.value == pytest.approx(order_part) and part.number.low is not None
    if not order_part:  # then the part due to order is exactly 0
        assert (part.number.value, part.p) == (0.0, 1.0)
        assert part.number.low == pytest.approx(-part.number.high) and part.number.low < 0  # type: ignore[operator]
