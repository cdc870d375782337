"""Vinoground: its release, questions and scores, against pairs worked out by hand and closed forms."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.question_forms import select_all_answers
from reprise.benchmarks.scoring import Convention
from reprise.benchmarks.vinoground.scores import CHANCE, METRICS
from reprise.benchmarks.vinoground.taxonomy import MAJOR_CATEGORIES
from reprise.core.errors import UserError
from reprise.stages.judge_requests import build_judge_requests, collect_answers
from reprise.stages.judgements import extract_judgements
from reprise.stages.metrics import make_metric_row

from tests.unit.benchmarks.releases import pair_entry as entry
from tests.unit.benchmarks.releases import pair_row as row
from tests.unit.benchmarks.releases import vinoground_release as release
from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import PAIR_COLUMNS, Row, request_table, response_table, verdict_row

vinoground = Whole("vinoground")


def rows_of(count: int) -> list[list[str]]:
    minors = ("", "spatial", "interaction;cyclical;", "contextual")
    return [row(index, MAJOR_CATEGORIES[index % 3], minors[index % 4]) for index in range(count)]


def items_of(folder: Path, count: int) -> pl.DataFrame:
    return vinoground.annotations(release(folder, rows_of(count)), "ids")[1]


# --- reading a release ---------------------------------------------------------------------------------------------


def test_a_pair_is_two_trims_and_their_concatenation(tmp_path: Path) -> None:
    files = release(tmp_path, [row(7)], video=[entry("7_pos", "B"), entry("7_neg", "A")])
    clips, items = vinoground.annotations(files, "ids")
    assert clips.drop("cluster").rows() == [
        ("7.pos", "trim", "aaaaaaaaaaa", 0.0, 10.0, []),
        ("7.neg", "trim", "bbbbbbbbbbb", 5.0, 12.5, []),
        ("7.neg-pos", "concat", "", None, None, ["7.neg", "7.pos"]),
    ]
    assert set(clips["cluster"]) == set(items["cluster"]) == {"7"}, "one shard, one cluster"
    assert items.select("item_id", "clip_id", "task", "answer").rows()[1::2] == [
        ("7_pos/video", "7.neg-pos", "video", "B"),
        ("7_neg/video", "7.neg-pos", "video", "A"),
    ]


def test_released_files_questions_and_concatenations_are_used_unchanged(tmp_path: Path) -> None:
    ready = "vinoground_videos_concated/0.mp4"
    said = "Which {caption}?\nA. 0 sleeps then eats\nB. 0 eats then sleeps"
    text = [entry("0_pos", "B", question=said), entry("0_neg", "A")]
    files = release(tmp_path, [row(0)], text=text, video=[entry("0_pos", "A", ready), entry("0_neg", "B", ready)])
    clips, items = vinoground.annotations(files, "release")
    assert clips.select("clip_id", "kind", "source_id").rows() == [
        ("0.pos", "whole", "vinoground_videos/0_pos"),
        ("0.neg", "whole", "vinoground_videos/0_neg"),
        ("0.pos-neg", "concat", "vinoground_videos_concated/0"),
    ]
    request = vinoground.requests(items, "questions", "authors")[0]
    assert request["prompt"] == f"{said}\nPlease only output one English character."
    assert (request["expected"], request["option_texts"]) == ("B", ["0 sleeps then eats", "0 eats then sleeps"])


def test_written_questions_have_both_answers_equally_often_and_the_same_ones_again(tmp_path: Path) -> None:
    items = items_of(tmp_path, 40)
    by_item = dict(items.select("item_id", "answer").iter_rows())
    for task in ("text", "video"):
        assert Counter(by_item[f"{index}_pos/{task}"] for index in range(40)) == {"A": 20, "B": 20}
        assert all(by_item[f"{index}_pos/{task}"] != by_item[f"{index}_neg/{task}"] for index in range(40))
    files = release(tmp_path, rows_of(40)[::-1])
    mirrored = vinoground.annotations(files, "ids")[1]
    assert dict(mirrored.select("item_id", "answer").iter_rows()) == by_item, "whatever the order of the rows"
    assert not mirrored.equals(vinoground.annotations(files, "ids", {"seed": "1"})[1])


def test_the_papers_wording_and_what_the_letters_stand_for(tmp_path: Path) -> None:
    for one in vinoground.requests(items_of(tmp_path, 6), "questions", "paper"):
        a, b = one["option_texts"]
        index, half = one["item_id"].split("/")[0].split("_")
        own = f"{index} eats then sleeps" if half == "pos" else f"{index} sleeps then eats"
        if one["role"].startswith("text"):
            assert one["prompt"] == f"Which caption best describes this video? A. {a}, B. {b}"
            assert {"A": a, "B": b}[one["expected"]] == own
        else:
            assert f"Caption: {own}. A. First segment (before black frame), B. Second" in one["prompt"]
            assert one["clip_id"].split(".")[1].split("-")["AB".index(one["expected"])] == half


@pytest.mark.parametrize("link", ["https://youtu.be/aaaaaaaaaaa?t=3", "https://www.youtube.com/watch?v=aaaaaaaaaaa&x=1"])  # fmt: skip
def test_columns_may_have_other_names_videos_be_links_and_spans_times(tmp_path: Path, link: str) -> None:
    columns = ["video_1" if name == "pos_vid" else name for name in PAIR_COLUMNS]
    files = release(tmp_path, [row(0, pos_vid=link, pos_start="1:02", pos_end="1:00:02.5")], columns)
    with pytest.raises(UserError, match=r"column 'pos_vid' is missing. Found: index, major, minor, video_1"):
        vinoground.annotations(files, "ids")
    clips, _ = vinoground.annotations(files, "ids", {"pos_vid": "video_1"})
    assert clips.select("source_id", "start_s", "end_s").row(0) == ("aaaaaaaaaaa", 62, 3602.5)
    assert vinoground.annotations(files, "release")[0].height == 3, "released files need no ids"
    whole, cut, _ = vinoground.annotations(release(tmp_path, [row(0, pos_start="", pos_end="")]), "files")[0].rows()
    assert (whole[1:3], cut[1:3]) == (("0", "whole"), ("0", "trim")), "a file of one's own without a span is the clip"


def test_a_judge_gets_the_chain_of_thought_in_the_prompt_of_appendix_f(tmp_path: Path) -> None:
    items, said = items_of(tmp_path, 1), "First {candidate} I see\ntwo shapes."
    requests = request_table(vinoground.requests(items, "questions", "cot"), "write", 1024)
    given = response_table(requests, lambda row: {"text": said} if row["role"] == "text_pos" else {"error": "timeout"})
    answers = collect_answers(select_all_answers, items, requests, given, "k")
    asked = build_judge_requests(answers, items, vinoground.prompts["extract"], 64)
    assert set(asked["item_id"]) == {"0_pos/text"}, "a failed answer is not put to the judge"
    row = asked.row(0, named=True)
    assert row["prompt"].startswith("Please parse the following model response into either A or B.")
    end = "Provide output your answer as a single character (A or B): "
    assert row["prompt"].endswith(f"=====):\n===== {said} =====\n{end}")
    assert (row["ask"], row["options"], row["expected"], row["system"]) == ("write", ["A", "B"], "", "")


# --- scores --------------------------------------------------------------------------------------------------------


def read(items: pl.DataFrame, texts: Mapping[str, str], extractor: str = "robust") -> pl.DataFrame:
    """Verdicts on all pairs: by `<index>_<role>` the answer `wrong`, a text, `failed` or `absent` (no request)."""

    def say(row: Row) -> Row | None:
        text = texts.get(f"{row['item_id'].split('_')[0]}_{row['role']}", row["expected"])
        known = {"wrong": "A" if row["expected"] == "B" else "B", "failed": ""}
        said = {"text": known.get(text, text), "error": "out_of_memory" if text == "failed" else ""}
        return None if text == "absent" else said

    return vinoground.read(items, "questions", "paper", "choose", say, extractor)


def scored(
    items: pl.DataFrame, texts: Mapping[str, str], convention: Convention = "fixed", group: str = "all"
) -> dict[str, dict[str, Any]]:
    answers = read(items, texts, "robust" if convention == "fixed" else "authors")
    found = vinoground.numbers("questions", items, answers, convention)
    return {metric: make_metric_row(one, CHANCE.get(metric)) for (metric, of), one in found.items() if of == group}


def values(
    items: pl.DataFrame, texts: Mapping[str, str], convention: Convention = "fixed", group: str = "all"
) -> list[float | None]:
    return [scored(items, texts, convention, group)[score]["value"] for score in METRICS]


def test_scores_by_hand(tmp_path: Path) -> None:
    """Four pairs: all right; a text answer wrong; a video answer wrong; one of each wrong."""
    texts = {"1_text_neg": "wrong", "2_video_pos": "wrong", "3_text_pos": "wrong", "3_video_neg": "wrong"}
    items = items_of(tmp_path, 4)
    assert values(items, texts) == values(items, texts, "authors") == [50, 50, 25]
    assert values(items, texts, group="object") == [50, 50, 50], "pairs 0 and 3"
    assert values(items, texts, group="spatial") == [0, 100, 0], "pair 1"
    assert values(items, texts, group="cyclical") == [100, 0, 0], "pair 2"
    outcomes = vinoground.outcomes("questions", items, read(items, texts | {"2_video_neg": "absent"}))
    assert outcomes["group"].select("item_id", "right").rows() == [("0", True), ("1", False), ("3", False)]


def test_scores_of_letters_that_a_judge_extracts_by_hand(tmp_path: Path) -> None:
    """Six pairs: a failed answer, a judgement that fails, one without a letter, a wrong letter; two pairs all right."""
    items = items_of(tmp_path, 6)
    right = dict(items.select("item_id", "answer").iter_rows())
    requests = request_table(vinoground.requests(items, "questions", "cot"), "write", 1024)
    failed = {"0_pos/text": {"error": "timeout"}}
    given = response_table(requests, lambda row: failed.get(row["item_id"], {"text": "x"}))
    answers = collect_answers(select_all_answers, items, requests, given, "k")
    said = {name: {"text": letter} for name, letter in right.items()} | {
        "1_pos/text": {"error": "rate_limited"}, "2_neg/text": {"text": "neither"}, "3_pos/video": {"text": "AB"[right["3_pos/video"] == "A"]},
    }  # fmt: skip
    asked = build_judge_requests(answers, items, vinoground.prompts["extract"], 64)
    read = extract_judgements(answers, response_table(asked, lambda row: said[row["item_id"]]), "robust")
    found = [vinoground.numbers("questions", items, read)[name, "all"] for name in METRICS]
    assert [one.value for one in found] == pytest.approx([50, 100 * 5 / 6, 100 / 3])
    counts = [(one.requested, one.scored, one.failed, one.unparsed) for one in found]
    assert counts == [(6, 3, 1, 2), (6, 6, 0, 0), (6, 3, 1, 2)]


def test_failed_unparsed_and_missing_differ(tmp_path: Path) -> None:
    texts = {"0_text_pos": "failed", "1_text_neg": "I cannot tell.", "2_text_pos": "absent", "3_video_pos": "absent"}
    found = scored(items_of(tmp_path, 6), texts)
    parts = ("requested", "scored", "failed", "unparsed", "missing", "value")
    assert {score: [found[score][part] for part in parts] for score in found} == {
        "text": [5, 3, 1, 1, 1, 60], "video": [5, 5, 0, 0, 1, 100], "group": [4, 2, 1, 1, 2, 50],
    }  # fmt: skip
    found = scored(items_of(tmp_path, 4), {"1_text_pos": "wrong"})
    above_chance = {score: found[score]["p_chance"] for score in ("text", "video")}
    assert above_chance == pytest.approx({"text": 4 * 0.25**3 * 0.75 + 0.25**4, "video": 0.25**4}), "over pairs"


# --- similarities --------------------------------------------------------------------------------------------------


def overall(items: pl.DataFrame, read: Any) -> list[float | None]:
    found = vinoground.numbers("similarity", items, read)
    return [found[score, "all"].value for score in METRICS]


@pytest.mark.parametrize(("scores", "expected"), [
    ((0.9, 0.1, 0.2, 0.8), (100, 100, 100)),
    ((0.9, 0.1, 0.95, 0.97), (100, 0, 0)),  # the first caption fits the second video better
    ((0.9, 0.95, 0.1, 0.97), (0, 100, 0)),  # the first video fits the second caption better
    ((0.5, 0.5, 0.1, 0.9), (0, 100, 0)),  # a tie is not larger
    ((0.1, 0.9, 0.9, 0.1), (0, 0, 0)),
    ((0.9, 0.1, 0.2, None), (0, 0, 0)),  # a failed answer
])  # fmt: skip
def test_scores_of_similarities_by_hand(
    tmp_path: Path, scores: tuple[float | None, ...], expected: tuple[float, ...]
) -> None:
    """In the order: first video with both captions, second video with both captions."""
    items = items_of(tmp_path, 1)
    asked = [one["request_id"] for one in vinoground.requests(items, "similarity", "caption")]
    rows = [verdict_row(one, "match", score=score, failed=score is None) for one, score in zip(asked, scores, strict=True)]  # fmt: skip
    assert overall(items, rows) == list(expected)
