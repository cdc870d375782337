"""Test TemporalBench: release, requests, and metrics by hand."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.temporalbench import option_sets
from reprise.benchmarks.temporalbench.scores import CAPTION_METRICS
from reprise.core.store import Store
from reprise.stages.verdicts import add_similarity

from tests.unit.benchmarks.releases import QUESTION, Entry, caption, clip_name, question, temporalbench_release
from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import Row, request_table, verdict_row

temporalbench = BenchmarkPipeline("temporalbench")


def read_items(folder: Path, task: str, **entries: Sequence[Entry]) -> pl.DataFrame:
    items = temporalbench.annotations(temporalbench_release(folder, **entries))[1]
    return items.filter(pl.col("task") == task)


# --- release -----------------------------------------------------------------------------------------------------


def test_released_files_are_whole_clips_in_the_cluster_of_their_source(tmp_path: Path) -> None:
    short = [question(clip_name(number), 0) for number in (0, 1, 3)]
    clips, items = temporalbench.annotations(temporalbench_release(tmp_path, short))
    file = "short_video/Charades/EEVD0_start_1.4_end_10.0.mp4"
    assert clips.row(1) == ("Charades/EEVD0.short-1.4-10.0", "Charades/EEVD0", "whole", file, None, None, [])
    assert clips["cluster"].to_list() == ["Charades/EEVD0", "Charades/EEVD0", "Charades/EEVD1", "COIN/EEVD0"]
    assert items.filter(task="caption")["clip_id"][0] == clips["clip_id"][0], "one video, one clip"
    clips, _ = temporalbench.annotations(temporalbench_release(tmp_path, [question("short_video/Oops/fall.mp4", 0)]))
    assert clips.row(0)[:4] == ("Oops/fall.short", "Oops/fall", "whole", "short_video/Oops/fall.mp4"), "without a span"
    clips, _ = temporalbench.annotations(temporalbench_release(tmp_path), "ids")
    spans = clips.select("kind", "source_id", "start_s", "end_s").rows()
    assert spans == [("trim", "EEVD0", 0.4, 9.0), ("segment", "EEVD0", 0.4, 9.0)], "or clips are cut from source videos"


def test_the_data_is_counted(tmp_path: Path) -> None:
    short = [
        question(clip_name(0), 0),
        question(clip_name(0), 1),
        question(clip_name(1), 0),
        question(clip_name(0, "COIN"), 0, "B"),
    ]
    clips, items = temporalbench.annotations(temporalbench_release(tmp_path, short))
    numbers = temporalbench.statistics(items, clips)
    assert [numbers["samples", group] for group in ("charades", "coin", "overall")] == [2, 1, 3]
    assert [numbers["words", group] for group in ("charades", "coin", "overall")] == [3, 4, 3.5]
    assert numbers["chance.short.mba", "charades"] == 100 * (1 / 4 + 1 / 2) / 2
    assert numbers["chance.long.mba", "overall"] == 50


# --- requests ----------------------------------------------------------------------------------------------------


def test_the_released_question_is_sent_unchanged_and_a_caption_has_no_options(tmp_path: Path) -> None:
    """In the README of the release, the key of the data set is `source_dataset`."""
    entry = question(clip_name(0), 0, "b", "Motion Direction/Orientation")
    entry["question"] = "{caption}\nA. x {frame_count}\nB. y\nAnswer with the option's letter."
    entry["source_dataset"] = entry.pop("dataset")
    _, items = temporalbench.annotations(temporalbench_release(tmp_path, [entry]))
    assert items["groups"][0].to_list() == ["short", "charades", "motion_direction"]
    (request,) = temporalbench.requests(items.filter(task="short"), "short", "released")
    assert request["prompt"] == entry["question"]
    assert (request["options"], request["option_texts"], request["expected"]) == (
        ["A", "B"],
        ["x {frame_count}", "y"],
        "B",
    )
    (request,) = temporalbench.requests(items.filter(task="caption"), "caption", "released")
    assert (request["options"], request["expected"]) == ([], "A person walks.")


def test_similarity_has_a_request_for_each_caption_of_a_question(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A question without captions in its text has no request and is missing."""
    items = read_items(tmp_path, "short", short=[question(V0, 0, "B"), question(V1, 1) | {"question": "Which one?"}])
    requests = temporalbench.requests(items, "short_similarity", "caption")
    request_fields = [(row["request_id"], row["prompt"], row["expected"]) for row in requests]
    assert request_fields == [(f"short/{V0}_0#A", "It does 0.", ""), (f"short/{V0}_0#B", "It does not 0.", "match")]
    assert f"short/{V1}_1: no captions A and B in its text" in caplog.text
    measures = temporalbench.numbers("short_similarity", items, extract_similarities(items, {f"{V0}_0": (0.0, 1.0)}))
    assert (measures["ba", "overall"].missing, measures["mba", "overall"].missing) == (1, 1)


# --- centralized options -----------------------------------------------------------------------------------------

CORRECT = "He cuts the ginger three times with his left hand"
NEGATIVE_1, NEGATIVE_2 = CORRECT.replace("three", "two"), CORRECT.replace("left", "right")
NEGATIVE_3 = CORRECT.replace("cuts", "grates")


@pytest.mark.parametrize(("negatives", "combined"), [
    ([NEGATIVE_1, NEGATIVE_2], None),  # two negatives are too few
    ([NEGATIVE_1, CORRECT.replace("three", "four"), NEGATIVE_2], NEGATIVE_2),  # two negatives change the same word, so only the last one can be combined with others
    ([NEGATIVE_1, CORRECT.replace("three times", "once"), CORRECT.replace("three", "no")], None),
])  # fmt: skip
def test_negatives_that_change_the_same_words_are_not_combined(negatives: list[str], combined: str | None) -> None:
    assert (option_sets.build_set_captions(CORRECT, negatives) or {}).get("n1_c") == combined


@pytest.mark.parametrize(
    ("form", "other_options"),
    [("centralized", {NEGATIVE_2, NEGATIVE_3}), ("decentralized", {NEGATIVE_1.replace("left", "right")})],
)
def test_centralized_requests_and_shares(tmp_path: Path, form: str, other_options: set[str]) -> None:
    texts = [QUESTION.format(CORRECT, negative) for negative in (NEGATIVE_1, NEGATIVE_2, NEGATIVE_3)]
    short = [question(clip_name(0), place) | {"question": text} for place, text in enumerate(texts)]
    items = read_items(tmp_path, "central", short=short)
    (request,) = temporalbench.requests(items, form, "four")
    letters = dict(zip(request["option_texts"], request["options"], strict=True))
    assert request["expected"] == letters[CORRECT] and {CORRECT, NEGATIVE_1} | other_options <= set(letters)
    assert all(f"\n{letter}. {text}\n" in request["prompt"] for text, letter in letters.items())
    for chosen_text, expected in ((CORRECT, (100, 0)), (NEGATIVE_1, (0, 100)), ("", (0, 0))):
        answer = make_verdict(items["item_id"][0], letters.get(chosen_text, ""), request["expected"])
        assert tuple(measure.value for measure in temporalbench.numbers(form, items, [answer]).values()) == expected


# --- metrics -----------------------------------------------------------------------------------------------------


def make_verdict(item: str, value: str, expected: str) -> dict[str, object]:
    return verdict_row(f"{item}#short", value, right=bool(value) and value == expected, unparsed=not value)


def extract(items: pl.DataFrame, form: str, answers: dict[str, str | None]) -> pl.DataFrame:
    """Return verdicts by `robust` on responses by idx; None is a failed response, and an absent idx has no request."""

    def respond(row: Row) -> Row | None:
        idx = row["item_id"].partition("/")[2]
        text = answers.get(idx)
        response = {"text": text} if text is not None else {"error": "out_of_memory"}
        return response if idx in answers else None

    return temporalbench.read(items, form, "released", "write" if form == "caption" else "choose", respond)


def extract_similarities(items: pl.DataFrame, scores: dict[str, tuple[float, float] | None]) -> pl.DataFrame:
    """Return verdicts on the similarities of captions A and B by idx; None is a failed clip."""

    def respond(row: Row) -> Row:
        pair = scores[row["item_id"].partition("/")[2]]
        return {"scores": [pair["AB".index(row["role"])]]} if pair else {"error": "not_finite"}

    return temporalbench.read(items, "short_similarity", "caption", "similarity", respond)


V0, V1, V2 = clip_name(0), clip_name(1), clip_name(0, "COIN")


def test_accuracies_by_hand(tmp_path: Path) -> None:
    """Charades videos: no letter, correct; correct, correct, failed. COIN video: correct, unparsed.

    `Answer: B`, `(B)` and `**A**` are parsed; a question without a request is missing.
    """
    text_by_question: dict[tuple[str, int, str], str | None] = {
        (V0, 0, "A"): "A person does 0.", (V0, 1, "B"): "b", (V1, 0, "B"): "Answer: B", (V1, 1, "B"): "(B)",
        (V1, 2, "A"): None, (V2, 0, "A"): "**A**", (V2, 1, "A"): "", (V2, 2, "A"): "absent",
    }  # fmt: skip
    items = read_items(tmp_path, "short", short=[question(*arguments) for arguments in text_by_question])
    answers = extract(
        items,
        "short",
        {f"{name}_{number}": text for (name, number, _), text in text_by_question.items() if text != "absent"},
    )
    measures = temporalbench.numbers("short", items, answers)
    ba, mba = measures["ba", "overall"], measures["mba", "overall"]
    assert (ba.value, ba.requested, ba.failed, ba.unparsed, ba.missing) == (pytest.approx(400 / 7), 7, 1, 2, 1)
    assert (mba.value, mba.requested, mba.missing) == (0, 3, 1)
    assert [measures["ba", group].value for group in ("charades", "coin", "oops")] == [pytest.approx(60), 50, None]
    names = [
        clip_name(0, "COIN", "long"),
        clip_name(0, "EgoExo4D", "long"),
    ]  # only COIN's name is in none of the paper's four sets of long videos
    items = read_items(tmp_path, "long", long=[question(name, 0) for name in names])
    measures = temporalbench.numbers(
        "long", items, extract(items, "long", {f"{names[0]}_0": "A", f"{names[1]}_0": "B"})
    )
    assert (measures["mba", "overall"].value, measures["mba", "long_four"].value) == (50, 100)


def test_captions_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are the reference, empty, and failed; the similarity is 1 for the same text and 1/2 otherwise."""

    def compute_similarity(left: Sequence[str], right: Sequence[str], *_: object) -> list[float]:
        return [1.0 if text == reference else 0.5 for text, reference in zip(left, right, strict=True)]

    monkeypatch.setattr("reprise.stages.verdicts.compute_similarities", compute_similarity)
    texts = ["A person opens the door slowly.", "A dog jumps over it twice.", "The cup falls down."]
    items = read_items(tmp_path, "caption", captions=[caption(clip_name(i), text) for i, text in enumerate(texts)])
    answers = {clip_name(0): texts[0], clip_name(1): "", clip_name(2): None}
    table = request_table(temporalbench.requests(items, "caption", "released"), "write")
    verdicts = add_similarity(extract(items, "caption", answers), table, "0.1.0", Store(tmp_path))
    assert verdicts["score"].to_list() == [1.0, 0.5, None]
    fixed, authors = (
        temporalbench.numbers("caption", items, verdicts, convention) for convention in ("fixed", "authors")
    )
    assert {metric for metric, _ in fixed} == set(CAPTION_METRICS)
    assert [fixed[name, "overall"].value for name in ("similarity", "rouge")] == pytest.approx([100 / 3, 100 / 3])
    authors_values = [authors[name, "overall"].value for name in ("similarity", "rouge")]
    assert authors_values == pytest.approx([75, 50]), "the authors compare an empty answer too"
    counts = fixed["similarity", "overall"]
    assert (counts.requested, counts.failed, counts.unparsed) == (3, 1, 1)


def test_similarity_by_hand(tmp_path: Path) -> None:
    """Video 1: correct, correct. Video 2: correct with B, a tie, failed. BA is 3 of 5 and MBA 1 of 2."""
    short = [question(V0, 0), question(V0, 1), question(V1, 0, "B"), question(V1, 1), question(V1, 2)]
    items = read_items(tmp_path, "short", short=short)
    pairs = ((0.3, 0.1), (-0.1, -0.2), (0.2, 0.4), (0.2, 0.2), None)
    verdicts = extract_similarities(items, {entry["idx"]: pair for entry, pair in zip(short, pairs, strict=True)})
    measures = temporalbench.numbers("short_similarity", items, verdicts)
    ba, mba = measures["ba", "overall"], measures["mba", "overall"]
    assert (ba.value, ba.requested, ba.failed, ba.unparsed) == (60, 5, 1, 0)
    assert (mba.value, mba.requested, mba.failed) == (50, 2, 1)
    assert temporalbench.numbers("short_similarity", items, verdicts, "authors")["ba", "overall"].value == 75
    outcomes = temporalbench.outcomes("short_similarity", items, verdicts)
    assert outcomes["ba"]["right"].to_list() == [True, True, True, False, False]
    assert outcomes["mba"]["right"].to_list() == [True, False]
