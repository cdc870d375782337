"""Test VELOCITI: release, requests, and metrics by hand."""

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_analyses
from reprise.benchmarks.scoring import add_analysis_groups
from reprise.benchmarks.velociti.analyses import TESTS_BY_FACET, find_verb_groups
from reprise.benchmarks.velociti.subsets import LIST_COLUMNS, captions_digest
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError
from reprise.core.schemas import VERDICTS

from tests.unit.benchmarks.releases import velociti_release
from tests.unit.benchmarks.whole import BenchmarkPipeline, write_rows
from tests.unit.rows import verdict_row

velociti = BenchmarkPipeline("velociti")


def make_video_id(number: int) -> str:
    return f"v_abcdefghi{number:02d}_seg_{10 * number}_{10 * number + 10}"


def make_rows(test: str, count: int) -> list[list[str]]:
    return [[test, make_video_id(i % 7), "Ev1", f"{test} true {i}", f"{test} false {i}"] for i in range(count)]


def read_items(folder: Path, counts: dict[str, int]) -> pl.DataFrame:
    rows = [row for test, count in counts.items() for row in make_rows(test, count)]
    return velociti.annotations(velociti_release(folder, rows), "ids")[1]


def test_ids_become_trims_of_their_source_video_and_released_files_whole_clips(tmp_path: Path) -> None:
    files = velociti_release(tmp_path, [["coref", "v_bt6-F11LZsQ_seg_25_35.mp4", '["Ev1","Ev3"]', "p", "n"]])
    clips, items = velociti.annotations(files, "ids")
    assert clips.row(0) == ("bt6-F11LZsQ.25-35", "bt6-F11LZsQ", "trim", "bt6-F11LZsQ", 25.0, 35.0, [])
    assert items["item_id"].to_list() == ["coref/v_bt6-F11LZsQ_seg_25_35/Ev1-Ev3/1"]
    clips, _ = velociti.annotations(files, "release")
    assert clips.select("kind", "source_id", "start_s").row(0) == ("whole", "v_bt6-F11LZsQ_seg_25_35", None)


def read_subset_captions(files: list[Path], **subset: object) -> list[str]:
    """Return the correct captions of the items in a subset."""
    _, items = velociti.annotations(files, "ids", {"subset": subset})
    return [texts[0]["text"] for texts, groups in items.select("texts", "groups").iter_rows() if "subset" in groups]


@pytest.mark.parametrize(("number", "digest"), [(2, captions_digest("control false 2", "control  true 2")), (3, "0" * 16)])  # fmt: skip
def test_listed_rows_are_found_by_captions_or_by_a_unique_event(tmp_path: Path, number: int, digest: str) -> None:
    path = write_rows(tmp_path / "list.csv", LIST_COLUMNS, ["control", make_video_id(number), "Ev1", digest])
    files = velociti_release(tmp_path, make_rows("control", 5))
    assert read_subset_captions(files, file=str(path)) == [f"control true {number}"]
    with pytest.raises(UserError, match=r"gone\.csv: no such file. The suite's `subset` names it"):
        read_subset_captions(files, file="gone.csv")


def test_a_random_subset_does_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    rows = make_rows("control", 30)
    captions, captions_of_reversed_rows = (
        sorted(read_subset_captions(velociti_release(tmp_path, order), per_test=10, seed=3))
        for order in (rows, rows[::-1])
    )
    assert captions == captions_of_reversed_rows and len(captions) == 10


def test_the_published_subset_has_the_counts_of_its_source() -> None:
    with Path("resources/subsets/velociti-150.csv").open() as stream:
        tests = [row["test_name"] for row in csv.DictReader(stream)]
    assert [tests.count(test) for test in TESTS] == [150, 150, 150, 150, 150, 151, 142]


def test_each_form_has_requests_with_its_prompt(tmp_path: Path) -> None:
    items = read_items(tmp_path, {"control": 1})
    positive, negative = velociti.requests(items, "entail", "entail.authors")
    assert positive["prompt"] == (
        "Carefully watch the video and pay attention to the sequence of events, the details and actions of persons.\n"
        "Here is a caption that describes the video: control true 0\n"
        "Based on your observation, does the given video entail the caption? Just answer with either Yes or No. "
    )
    assert "control false 0" in negative["prompt"] and "control true 0" not in negative["prompt"]
    assert (positive["expected"], negative["expected"]) == ("Yes", "No")
    first, second = velociti.requests(items, "mc", "mc")
    assert "A) control true 0\nB) control false 0" in first["prompt"] and first["expected"] == "A"
    assert "A) control false 0\nB) control true 0" in second["prompt"] and second["expected"] == "B"
    requests = velociti.requests(items, "similarity", "caption")
    request_fields = [(row["role"], row["prompt"], row["options"], row["expected"]) for row in requests]
    assert request_fields == [("pos", "control true 0", ["match"], "match"), ("neg", "control false 0", ["match"], "")]


ScorePairs = Sequence[tuple[float | None, float | None]]


def make_verdicts(items: pl.DataFrame, scores: ScorePairs, form: str = "entail") -> pl.DataFrame:
    """Return verdicts for the scores of both captions: None is failed, and 0.5 is unparsed except for similarities."""
    rows = []
    for item, pair in zip(items["item_id"], scores, strict=True):
        for role, expected, score in zip(("pos", "neg"), ("Yes", "No"), pair, strict=True):
            is_parsed = score is not None and (score != 0.5 or form == "similarity")
            is_correct = is_parsed and expected == ("Yes" if (score or 0.0) > 0.5 else "No")
            fields = {"unparsed": score is not None and not is_parsed, "failed": score is None}
            rows.append(verdict_row(f"{item}#{role}", score=score, right=is_correct, **fields))
    return pl.DataFrame(rows, schema=VERDICTS)


def test_entailment_by_hand(tmp_path: Path) -> None:
    """The five samples are correct, Yes to both, No to both but in order, a tie at 0.5, and a failed negative."""
    items = read_items(tmp_path, {"control": 5})
    verdicts = make_verdicts(items, [(0.9, 0.1), (0.8, 0.7), (0.4, 0.2), (0.5, 0.1), (0.6, None)])
    measures = velociti.numbers("entail", items, verdicts)
    values = [measures[metric, "control"].value for metric in ("strict", "classic", "positive", "negative")]
    assert values == pytest.approx([100 / 5, 100 * 4 / 5, 100 * 3 / 5, 100 / 3])
    counts = measures["strict", "control"]
    assert (counts.requested, counts.scored, counts.failed, counts.unparsed) == (5, 3, 1, 1)
    assert measures["strict", "average"].value is None, "without samples of the seven tests, there is no average"
    text_measures = velociti.numbers("entail", items, verdicts.with_columns(score=pl.lit(None, pl.Float64)))
    assert {metric for metric, _ in text_measures} == {"strict", "positive", "negative"}, "texts have no order"


def test_average_and_facets_count_each_test_once_and_control_never(tmp_path: Path) -> None:
    """In the facet of agents, coref is all correct and the others are all wrong; one test of video negation is absent."""
    counts = {"control": 10} | {test: 10 * (position + 1) for position, test in enumerate(TESTS)}
    items = read_items(tmp_path, counts)
    scores = [(0.9, 0.1) if item.split("/")[0] == "coref" else (0.9, 0.9) for item in items["item_id"]]
    measures = velociti.numbers("entail", items, make_verdicts(items, scores))
    assert (measures["strict", "coref"].value, measures["strict", "average"].value) == (100, pytest.approx(100 / 7))
    agent, size = measures["strict", "agent"], sum(counts[test] for test in TESTS_BY_FACET["agent"])
    assert (agent.value, agent.requested) == (pytest.approx(100 / 3), size), "tests count equally whatever their sizes"
    without_action_bind = items.filter(pl.col("task") != "action_bind")
    measures = velociti.numbers(
        "entail", without_action_bind, make_verdicts(without_action_bind, [(0.9, 0.1)] * without_action_bind.height)
    )
    assert (measures["strict", "text_negation"].value, measures["strict", "video_negation"].value) == (100, None)


@pytest.mark.parametrize(("caption", "groups"), [
    ("In a warehouse, a man in a suit is walking slowly into the room.", ["verbs_movement"]),
    ("First, a woman lies down. Then, she is crying.", ["verbs_physiological", "verbs_states"]),
    ("The red star stops; a boy carries a box.", ["verbs_manipulation", "verbs_states"]),
    ("A man in a walk-in closet.", []),
    ("", []),
])  # fmt: skip
def test_a_caption_is_in_the_groups_of_its_verbs(caption: str, groups: list[str]) -> None:
    assert find_verb_groups(caption) == groups


def test_verb_groups_are_scored_over_the_samples_of_the_seven_tests(tmp_path: Path) -> None:
    samples = [("chrono", "He runs.", 1.0), ("coref", "He runs.", 0.0), ("coref", "It glows.", 0.0), (CONTROL, "He runs.", 1.0)]  # fmt: skip
    rows = [[test, make_video_id(i), "Ev1", caption, "x"] for i, (test, caption, _) in enumerate(samples)]
    clips, items = velociti.annotations(velociti_release(tmp_path, rows), "ids")
    counts = velociti.statistics(items, clips)
    assert (counts["videos", "coref"], counts["samples", "coref"], counts["subset", "coref"]) == (2, 2, 0)
    verdicts, analyses = (
        make_verdicts(items, [(score, 1 - score) for _, _, score in samples]),
        load_analyses("velociti"),
    )
    assert analyses is not None
    measures = velociti.numbers("entail", add_analysis_groups(items, None, analyses), verdicts)
    movement = measures["strict", "verbs_movement"]
    assert (movement.value, movement.requested, measures["strict", "verbs_states"].value) == (50, 2, 0)
    assert ("strict", "verbs_perception") not in measures, "no sample is in this group"


def test_multiple_choice_by_hand(tmp_path: Path) -> None:
    """The four samples are correct in both orders, always A, always B, and wrong in both orders."""
    items = read_items(tmp_path, {"chrono": 4})
    rows = [
        verdict_row(f"{item}#{role}", value, right=value == expected)
        for item, pair in zip(items["item_id"], ("AB", "AA", "BB", "BA"), strict=True)
        for role, expected, value in zip("ab", "AB", pair, strict=True)
    ]
    measures = velociti.numbers("mc", items, rows)
    values = {metric: measure.value for (metric, group), measure in measures.items() if group == "chrono"}
    assert values == {"mc_a": 50, "mc_b": 50, "mc_bias": 0, "mc_both": 25}


def test_similarity_by_hand(tmp_path: Path) -> None:
    """The correct caption is closer, further, equally close, and failed; only the first is correct. Cosines may be negative."""
    items = read_items(tmp_path, {"chrono": 4})
    verdicts = make_verdicts(items, [(-0.1, -0.3), (0.2, 0.4), (0.5, 0.5), (0.9, None)], "similarity")
    measures = velociti.numbers("similarity", items, verdicts)
    measure = measures["classic", "chrono"]
    assert (measure.value, measure.requested, measure.scored, measure.failed, measure.unparsed) == (25, 4, 3, 1, 0)
    assert {metric for metric, _ in measures} == {"classic"}
    authors = velociti.numbers("similarity", items, verdicts, "authors")
    assert authors["classic", "chrono"].value == pytest.approx(100 / 3)
    outcomes = velociti.outcomes("similarity", items, verdicts)
    assert outcomes["classic"]["right"].to_list() == [True, False, False, False]
