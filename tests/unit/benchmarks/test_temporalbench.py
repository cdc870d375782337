"""TemporalBench: its release, requests and metrics, against samples worked out by hand and closed forms."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.temporalbench import option_sets
from reprise.benchmarks.temporalbench.scores import CAPTION_METRICS
from reprise.core.store import Store
from reprise.stages.verdicts import add_similarity

from tests.unit.benchmarks.releases import QUESTION, Entry, caption, question
from tests.unit.benchmarks.releases import clip_name as video
from tests.unit.benchmarks.releases import temporalbench_release as release
from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import Row, request_table, verdict_row

tb = Whole("temporalbench")


def items_of(folder: Path, task: str, **entries: Sequence[Entry]) -> pl.DataFrame:
    items = tb.annotations(release(folder, **entries))[1]
    return items.filter(pl.col("task") == task)


# --- reading a release -------------------------------------------------------------------------------------------


def test_released_files_are_whole_clips_and_share_a_cluster_by_source(tmp_path: Path) -> None:
    short = [question(video(number), 0) for number in (0, 1, 3)]
    clips, items = tb.annotations(release(tmp_path, short))
    file = "short_video/Charades/EEVD0_start_1.4_end_10.0.mp4"
    assert clips.row(1) == ("Charades/EEVD0.short-1.4-10.0", "Charades/EEVD0", "whole", file, None, None, [])
    assert clips["cluster"].to_list() == ["Charades/EEVD0", "Charades/EEVD0", "Charades/EEVD1", "COIN/EEVD0"]
    assert items.filter(task="caption")["clip_id"][0] == clips["clip_id"][0], "one video, one clip"
    clips, _ = tb.annotations(release(tmp_path, [question("short_video/Oops/fall.mp4", 0)]))
    assert clips.row(0)[:4] == ("Oops/fall.short", "Oops/fall", "whole", "short_video/Oops/fall.mp4"), "without a span"
    clips, _ = tb.annotations(release(tmp_path), "ids")
    spans = clips.select("kind", "source_id", "start_s", "end_s").rows()
    assert spans == [("trim", "EEVD0", 0.4, 9.0), ("segment", "EEVD0", 0.4, 9.0)], "or cut from their source videos"


def test_statistics_of_the_data(tmp_path: Path) -> None:
    short = [question(video(0), 0), question(video(0), 1), question(video(1), 0), question(video(0, "COIN"), 0, "B")]
    clips, items = tb.annotations(release(tmp_path, short))
    numbers = tb.statistics(items, clips)
    assert [numbers["samples", group] for group in ("charades", "coin", "overall")] == [2, 1, 3]
    assert [numbers["words", group] for group in ("charades", "coin", "overall")] == [3, 4, 3.5]
    assert numbers["chance.short.mba", "charades"] == 100 * (1 / 4 + 1 / 2) / 2
    assert numbers["chance.long.mba", "overall"] == 50


# --- asking ------------------------------------------------------------------------------------------------------


def test_the_released_question_is_sent_unchanged_and_a_caption_has_no_options(tmp_path: Path) -> None:
    """The README of the release calls the data set `source_dataset`."""
    said = question(video(0), 0, "b", "Motion Direction/Orientation")
    said["question"] = "{caption}\nA. x {frame_count}\nB. y\nAnswer with the option's letter."
    said["source_dataset"] = said.pop("dataset")
    _, items = tb.annotations(release(tmp_path, [said]))
    assert items["groups"][0].to_list() == ["short", "charades", "motion_direction"]
    (request,) = tb.requests(items.filter(task="short"), "short", "released")
    assert request["prompt"] == said["question"]
    assert (request["options"], request["option_texts"], request["expected"]) == (
        ["A", "B"],
        ["x {frame_count}", "y"],
        "B",
    )
    (request,) = tb.requests(items.filter(task="caption"), "caption", "released")
    assert (request["options"], request["expected"]) == ([], "A person walks.")


def test_similarity_has_a_request_for_each_caption_of_a_question(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A question without captions in its text has no request and is missing."""
    items = items_of(tmp_path, "short", short=[question(V0, 0, "B"), question(V1, 1) | {"question": "Which one?"}])
    asked = tb.requests(items, "short_similarity", "caption")
    found = [(row["request_id"], row["prompt"], row["expected"]) for row in asked]
    assert found == [(f"short/{V0}_0#A", "It does 0.", ""), (f"short/{V0}_0#B", "It does not 0.", "match")]
    assert f"short/{V1}_1: no captions A and B in its text" in caplog.text
    found_of = tb.numbers("short_similarity", items, by_similarity(items, {f"{V0}_0": (0.0, 1.0)}))
    assert (found_of["ba", "overall"].missing, found_of["mba", "overall"].missing) == (1, 1)


# --- centralized options -----------------------------------------------------------------------------------------

C = "He cuts the ginger three times with his left hand"
N1, N2, N3 = C.replace("three", "two"), C.replace("left", "right"), C.replace("cuts", "grates")


@pytest.mark.parametrize(("negatives", "first"), [
    ([N1, N2], None),  # two are too few
    ([N1, C.replace("three", "four"), N2], N2),  # two alter the same word, so only the last has two partners
    ([N1, C.replace("three times", "once"), C.replace("three", "no")], None),
])  # fmt: skip
def test_negatives_that_touch_are_not_joined(negatives: list[str], first: str | None) -> None:
    assert (option_sets.build_set_captions(C, negatives) or {}).get("n1_c") == first


@pytest.mark.parametrize(
    ("form", "others"), [("centralized", {N2, N3}), ("decentralized", {N1.replace("left", "right")})]
)
def test_centralized_requests_and_shares(tmp_path: Path, form: str, others: set[str]) -> None:
    texts = [QUESTION.format(C, negative) for negative in (N1, N2, N3)]
    short = [question(video(0), place) | {"question": text} for place, text in enumerate(texts)]
    items = items_of(tmp_path, "central", short=short)
    (request,) = tb.requests(items, form, "four")
    letters = dict(zip(request["option_texts"], request["options"], strict=True))
    assert request["expected"] == letters[C] and {C, N1} | others <= set(letters)
    assert all(f"\n{letter}. {text}\n" in request["prompt"] for text, letter in letters.items())
    for chosen, expected in ((C, (100, 0)), (N1, (0, 100)), ("", (0, 0))):
        answer = verdict(items["item_id"][0], letters.get(chosen, ""), request["expected"])
        assert tuple(one.value for one in tb.numbers(form, items, [answer]).values()) == expected


# --- metrics -----------------------------------------------------------------------------------------------------


def verdict(item: str, value: str, expected: str) -> dict[str, object]:
    return verdict_row(f"{item}#short", value, right=bool(value) and value == expected, unparsed=not value)


def read(items: pl.DataFrame, form: str, answers: dict[str, str | None]) -> pl.DataFrame:
    """What `robust` makes of raw answers by idx; None is a failed one, and an absent one has no request."""

    def say(row: Row) -> Row | None:
        idx = row["item_id"].partition("/")[2]
        text = answers.get(idx)
        known = {"text": text} if text is not None else {"error": "out_of_memory"}
        return known if idx in answers else None

    return tb.read(items, form, "released", "write" if form == "caption" else "choose", say)


def by_similarity(items: pl.DataFrame, scores: dict[str, tuple[float, float] | None]) -> pl.DataFrame:
    """Similarities of captions A and B by idx, through the extractors; None is a failed clip."""

    def say(row: Row) -> Row:
        pair = scores[row["item_id"].partition("/")[2]]
        return {"scores": [pair["AB".index(row["role"])]]} if pair else {"error": "not_finite"}

    return tb.read(items, "short_similarity", "caption", "similarity", say)


V0, V1, V2 = video(0), video(1), video(0, "COIN")


def test_accuracies_by_hand(tmp_path: Path) -> None:
    """Two videos of Charades, one of COIN: no letter, right; right, right, failed; right, unparsed.

    `Answer: B`, `(B)` and `**A**` are parsed as a person would; a question without a request is missing.
    """
    said: dict[tuple[str, int, str], str | None] = {
        (V0, 0, "A"): "A person does 0.", (V0, 1, "B"): "b", (V1, 0, "B"): "Answer: B", (V1, 1, "B"): "(B)",
        (V1, 2, "A"): None, (V2, 0, "A"): "**A**", (V2, 1, "A"): "", (V2, 2, "A"): "absent",
    }  # fmt: skip
    items = items_of(tmp_path, "short", short=[question(*place) for place in said])
    answers = read(items, "short", {f"{name}_{at}": text for (name, at, _), text in said.items() if text != "absent"})
    found = tb.numbers("short", items, answers)
    ba, mba = found["ba", "overall"], found["mba", "overall"]
    assert (ba.value, ba.requested, ba.failed, ba.unparsed, ba.missing) == (pytest.approx(400 / 7), 7, 1, 2, 1)
    assert (mba.value, mba.requested, mba.missing) == (0, 3, 1)
    assert [found["ba", group].value for group in ("charades", "coin", "oops")] == [pytest.approx(60), 50, None]
    names = [video(0, "COIN", "long"), video(0, "EgoExo4D", "long")]  # one of the paper's four sets of long videos
    items = items_of(tmp_path, "long", long=[question(name, 0) for name in names])
    found = tb.numbers("long", items, read(items, "long", {f"{names[0]}_0": "A", f"{names[1]}_0": "B"}))
    assert (found["mba", "overall"].value, found["mba", "long_four"].value) == (50, 100)


def test_captions_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference itself, an empty answer and a failed one; likeness is 1 for the same text and 1/2 otherwise."""

    def likeness(left: Sequence[str], right: Sequence[str], *_: object) -> list[float]:
        return [1.0 if one == other else 0.5 for one, other in zip(left, right, strict=True)]

    monkeypatch.setattr("reprise.stages.verdicts.compute_similarities", likeness)
    texts = ["A person opens the door slowly.", "A dog jumps over it twice.", "The cup falls down."]
    items = items_of(tmp_path, "caption", captions=[caption(video(i), text) for i, text in enumerate(texts)])
    answers = {video(0): texts[0], video(1): "", video(2): None}
    table = request_table(tb.requests(items, "caption", "released"), "write")
    read_rows = add_similarity(read(items, "caption", answers), table, "0.1.0", Store(tmp_path))
    assert read_rows["score"].to_list() == [1.0, 0.5, None]
    fixed, authors = (tb.numbers("caption", items, read_rows, convention) for convention in ("fixed", "authors"))
    assert {metric for metric, _ in fixed} == set(CAPTION_METRICS)
    assert [fixed[name, "overall"].value for name in ("similarity", "rouge")] == pytest.approx([100 / 3, 100 / 3])
    theirs = [authors[name, "overall"].value for name in ("similarity", "rouge")]
    assert theirs == pytest.approx([75, 50]), "an empty answer is compared too"
    counts = fixed["similarity", "overall"]
    assert (counts.requested, counts.failed, counts.unparsed) == (3, 1, 1)


def test_similarity_by_hand(tmp_path: Path) -> None:
    """Two videos. Right and right; right by B, as close as the other, failed: BA 3 of 5, MBA 1 of 2."""
    short = [question(V0, 0), question(V0, 1), question(V1, 0, "B"), question(V1, 1), question(V1, 2)]
    items = items_of(tmp_path, "short", short=short)
    pairs = ((0.3, 0.1), (-0.1, -0.2), (0.2, 0.4), (0.2, 0.2), None)
    read_rows = by_similarity(items, {entry["idx"]: pair for entry, pair in zip(short, pairs, strict=True)})
    found = tb.numbers("short_similarity", items, read_rows)
    ba, mba = found["ba", "overall"], found["mba", "overall"]
    assert (ba.value, ba.requested, ba.failed, ba.unparsed) == (60, 5, 1, 0)
    assert (mba.value, mba.requested, mba.failed) == (50, 2, 1)
    assert tb.numbers("short_similarity", items, read_rows, "authors")["ba", "overall"].value == 75
    outcomes = tb.outcomes("short_similarity", items, read_rows)
    assert outcomes["ba"]["right"].to_list() == [True, True, True, False, False]
    assert outcomes["mba"]["right"].to_list() == [True, False]
