"""Test Vinoground: release, questions, and scores by hand."""

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
from reprise.stages.metrics import build_metric_row

from tests.unit.benchmarks.releases import pair_entry, pair_row, vinoground_release
from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import PAIR_COLUMNS, Row, request_table, response_table, verdict_row

vinoground = BenchmarkPipeline("vinoground")


def make_rows(count: int) -> list[list[str]]:
    minors = ("", "spatial", "interaction;cyclical;", "contextual")
    return [
        pair_row(
            index, MAJOR_CATEGORIES[index % 3], minors[index % 4], pos_vid=f"pos_{index:07}", neg_vid=f"neg_{index:07}"
        )
        for index in range(count)
    ]


def read_items(folder: Path, count: int) -> pl.DataFrame:
    return vinoground.annotations(vinoground_release(folder, make_rows(count)), "ids")[1]


# --- release -------------------------------------------------------------------------------------------------------


def test_a_pair_is_two_trims_and_their_concatenation(tmp_path: Path) -> None:
    files = vinoground_release(tmp_path, [pair_row(7)], video=[pair_entry("7_pos", "B"), pair_entry("7_neg", "A")])
    clips, items = vinoground.annotations(files, "ids")
    assert clips.drop("cluster").rows() == [
        ("7.pos", "trim", "aaaaaaaaaaa", 0.0, 10.0, []),
        ("7.neg", "trim", "bbbbbbbbbbb", 5.0, 12.5, []),
        ("7.neg-pos", "concat", "", None, None, ["7.neg", "7.pos"]),
    ]
    assert set(clips["cluster"]) == set(items["cluster"]) == {"7"}, "a pair is one cluster and so in one shard"
    assert items.select("item_id", "clip_id", "task", "answer").rows()[1::2] == [
        ("7_pos/video", "7.neg-pos", "video", "B"),
        ("7_neg/video", "7.neg-pos", "video", "A"),
    ]


def test_released_files_questions_and_concatenations_are_used_unchanged(tmp_path: Path) -> None:
    concatenation = "vinoground_videos_concated/0.mp4"
    question = "Which {caption}?\nA. 0 sleeps then eats\nB. 0 eats then sleeps"
    text = [pair_entry("0_pos", "B", question=question), pair_entry("0_neg", "A")]
    files = vinoground_release(
        tmp_path,
        [pair_row(0)],
        text=text,
        video=[pair_entry("0_pos", "A", concatenation), pair_entry("0_neg", "B", concatenation)],
    )
    clips, items = vinoground.annotations(files, "release")
    assert clips.select("clip_id", "kind", "source_id").rows() == [
        ("0.pos", "whole", "vinoground_videos/0_pos"),
        ("0.neg", "whole", "vinoground_videos/0_neg"),
        ("0.pos-neg", "concat", "vinoground_videos_concated/0"),
    ]
    request = vinoground.requests(items, "questions", "authors")[0]
    assert request["prompt"] == f"{question}\nPlease only output one English character."
    assert (request["expected"], request["option_texts"]) == ("B", ["0 sleeps then eats", "0 eats then sleeps"])


def test_generated_questions_have_balanced_and_deterministic_answers(tmp_path: Path) -> None:
    items = read_items(tmp_path, 40)
    answer_by_item = dict(items.select("item_id", "answer").iter_rows())
    for task in ("text", "video"):
        assert Counter(answer_by_item[f"{index}_pos/{task}"] for index in range(40)) == {"A": 20, "B": 20}
        assert all(
            answer_by_item[f"{index}_pos/{task}"] != answer_by_item[f"{index}_neg/{task}"] for index in range(40)
        )
    files = vinoground_release(tmp_path, make_rows(40)[::-1])
    reversed_items = vinoground.annotations(files, "ids")[1]
    assert dict(reversed_items.select("item_id", "answer").iter_rows()) == answer_by_item, (
        "answers do not depend on the order of the rows"
    )
    assert not reversed_items.equals(vinoground.annotations(files, "ids", {"seed": "1"})[1])


def test_prompts_have_the_papers_wording_and_the_expected_letter_is_the_correct_option(tmp_path: Path) -> None:
    for request in vinoground.requests(read_items(tmp_path, 6), "questions", "paper"):
        a, b = request["option_texts"]
        index, half = request["item_id"].split("/")[0].split("_")
        caption = f"{index} eats then sleeps" if half == "pos" else f"{index} sleeps then eats"
        if request["role"].startswith("text"):
            assert request["prompt"] == f"Which caption best describes this video? A. {a}, B. {b}"
            assert {"A": a, "B": b}[request["expected"]] == caption
        else:
            assert f"Caption: {caption}. A. First segment (before black frame), B. Second" in request["prompt"]
            assert request["clip_id"].split(".")[1].split("-")["AB".index(request["expected"])] == half


@pytest.mark.parametrize("link", ["https://youtu.be/aaaaaaaaaaa?t=3", "https://www.youtube.com/watch?v=aaaaaaaaaaa&x=1"])  # fmt: skip
def test_columns_may_be_renamed_videos_may_be_links_and_spans_may_be_times(tmp_path: Path, link: str) -> None:
    columns = ["video_1" if name == "pos_vid" else name for name in PAIR_COLUMNS]
    files = vinoground_release(tmp_path, [pair_row(0, pos_vid=link, pos_start="1:02", pos_end="1:00:02.5")], columns)
    with pytest.raises(UserError, match=r"column 'pos_vid' is missing. Found: index, major, minor, video_1"):
        vinoground.annotations(files, "ids")
    clips, _ = vinoground.annotations(files, "ids", {"pos_vid": "video_1"})
    assert clips.select("source_id", "start_s", "end_s").row(0) == ("aaaaaaaaaaa", 62, 3602.5)
    assert vinoground.annotations(files, "release")[0].height == 3, "released files need no ids"
    whole_clip, trimmed_clip, _ = vinoground.annotations(
        vinoground_release(tmp_path, [pair_row(0, pos_start="", pos_end="")]), "files"
    )[0].rows()
    assert (whole_clip[1:3], trimmed_clip[1:3]) == (("0", "whole"), ("0", "trim")), (
        "a local file without a span is the clip"
    )


def test_a_judge_gets_the_chain_of_thought_in_the_prompt_of_appendix_f(tmp_path: Path) -> None:
    items, thought = read_items(tmp_path, 1), "First {candidate} I see\ntwo shapes."
    requests = request_table(vinoground.requests(items, "questions", "cot"), "write", 1024)
    responses = response_table(
        requests, lambda row: {"text": thought} if row["role"] == "text_pos" else {"error": "timeout"}
    )
    answers = collect_answers(select_all_answers, items, requests, responses, "k")
    judge_requests = build_judge_requests(answers, items, vinoground.prompts["extract"], 64)
    assert set(judge_requests["item_id"]) == {"0_pos/text"}, "the judge gets no request about a failed answer"
    row = judge_requests.row(0, named=True)
    assert row["prompt"].startswith("Please parse the following model response into either A or B.")
    end = "Provide output your answer as a single character (A or B): "
    assert row["prompt"].endswith(f"=====):\n===== {thought} =====\n{end}")
    assert (row["request_type"], row["options"], row["expected"], row["system"]) == ("write", ["A", "B"], "", "")


# --- scores --------------------------------------------------------------------------------------------------------


def extract(items: pl.DataFrame, texts: Mapping[str, str], extractor: str = "robust") -> pl.DataFrame:
    """Return verdicts on all pairs; `texts` has `wrong`, `failed`, `absent` (no request) or a text by `<index>_<role>`."""

    def respond(row: Row) -> Row | None:
        text = texts.get(f"{row['item_id'].split('_')[0]}_{row['role']}", row["expected"])
        special_texts = {"wrong": "A" if row["expected"] == "B" else "B", "failed": ""}
        response = {"text": special_texts.get(text, text), "error": "out_of_memory" if text == "failed" else ""}
        return None if text == "absent" else response

    return vinoground.read(items, "questions", "paper", "choose", respond, extractor)


def compute_rows(
    items: pl.DataFrame, texts: Mapping[str, str], convention: Convention = "fixed", group: str = "all"
) -> dict[str, dict[str, Any]]:
    answers = extract(items, texts, "robust" if convention == "fixed" else "authors")
    measures = vinoground.numbers("questions", items, answers, convention)
    return {
        metric: build_metric_row(measure, CHANCE.get(metric))
        for (metric, measured_group), measure in measures.items()
        if measured_group == group
    }


def compute_values(
    items: pl.DataFrame, texts: Mapping[str, str], convention: Convention = "fixed", group: str = "all"
) -> list[float | None]:
    return [compute_rows(items, texts, convention, group)[score]["value"] for score in METRICS]


def test_scores_by_hand(tmp_path: Path) -> None:
    """The four pairs are all correct, with a wrong text answer, with a wrong video answer, and with one wrong of each."""
    texts = {"1_text_neg": "wrong", "2_video_pos": "wrong", "3_text_pos": "wrong", "3_video_neg": "wrong"}
    items = read_items(tmp_path, 4)
    assert compute_values(items, texts) == compute_values(items, texts, "authors") == [50, 50, 25]
    assert compute_values(items, texts, group="object") == [50, 50, 50], "pairs 0 and 3"
    assert compute_values(items, texts, group="spatial") == [0, 100, 0], "pair 1"
    assert compute_values(items, texts, group="cyclical") == [100, 0, 0], "pair 2"
    outcomes = vinoground.outcomes("questions", items, extract(items, texts | {"2_video_neg": "absent"}))
    assert outcomes["group"].select("item_id", "right").rows() == [("0", True), ("1", False), ("3", False)]


def test_scores_of_letters_that_a_judge_extracts_by_hand(tmp_path: Path) -> None:
    """Four pairs have a failed answer, a failed judgement, one without a letter, and a wrong letter; two are correct."""
    items = read_items(tmp_path, 6)
    correct_letters = dict(items.select("item_id", "answer").iter_rows())
    requests = request_table(vinoground.requests(items, "questions", "cot"), "write", 1024)
    failed_responses = {"0_pos/text": {"error": "timeout"}}
    responses = response_table(requests, lambda row: failed_responses.get(row["item_id"], {"text": "x"}))
    answers = collect_answers(select_all_answers, items, requests, responses, "k")
    replies = {name: {"text": letter} for name, letter in correct_letters.items()} | {
        "1_pos/text": {"error": "rate_limited"}, "2_neg/text": {"text": "neither"}, "3_pos/video": {"text": "AB"[correct_letters["3_pos/video"] == "A"]},
    }  # fmt: skip
    judge_requests = build_judge_requests(answers, items, vinoground.prompts["extract"], 64)
    verdicts = extract_judgements(
        answers, response_table(judge_requests, lambda row: replies[row["item_id"]]), "robust"
    )
    measures = [vinoground.numbers("questions", items, verdicts)[name, "all"] for name in METRICS]
    assert [measure.value for measure in measures] == pytest.approx([50, 100 * 5 / 6, 100 / 3])
    counts = [(measure.requested, measure.scored, measure.failed, measure.unparsed) for measure in measures]
    assert counts == [(6, 3, 1, 2), (6, 6, 0, 0), (6, 3, 1, 2)]


def test_failed_unparsed_and_missing_answers_are_counted_separately(tmp_path: Path) -> None:
    texts = {"0_text_pos": "failed", "1_text_neg": "I cannot tell.", "2_text_pos": "absent", "3_video_pos": "absent"}
    rows = compute_rows(read_items(tmp_path, 6), texts)
    columns = ("requested", "scored", "failed", "unparsed", "missing", "value")
    assert {score: [rows[score][column] for column in columns] for score in rows} == {
        "text": [5, 3, 1, 1, 1, 60], "video": [5, 5, 0, 0, 1, 100], "group": [4, 2, 1, 1, 2, 50],
    }  # fmt: skip
    rows = compute_rows(read_items(tmp_path, 4), {"1_text_pos": "wrong"})
    above_chance = {score: rows[score]["p_chance"] for score in ("text", "video")}
    assert above_chance == pytest.approx({"text": 4 * 0.25**3 * 0.75 + 0.25**4, "video": 0.25**4}), (
        "the test is over pairs"
    )


# --- similarities --------------------------------------------------------------------------------------------------


def compute_overall_scores(items: pl.DataFrame, verdicts: Any) -> list[float | None]:
    measures = vinoground.numbers("similarity", items, verdicts)
    return [measures[score, "all"].value for score in METRICS]


@pytest.mark.parametrize(("scores", "expected"), [
    ((0.9, 0.1, 0.2, 0.8), (100, 100, 100)),
    ((0.9, 0.1, 0.95, 0.97), (100, 0, 0)),  # the first caption fits the second video better
    ((0.9, 0.95, 0.1, 0.97), (0, 100, 0)),  # the first video fits the second caption better
    ((0.5, 0.5, 0.1, 0.9), (0, 100, 0)),  # a tie is wrong
    ((0.1, 0.9, 0.9, 0.1), (0, 0, 0)),
    ((0.9, 0.1, 0.2, None), (0, 0, 0)),  # a failed answer
])  # fmt: skip
def test_scores_of_similarities_by_hand(
    tmp_path: Path, scores: tuple[float | None, ...], expected: tuple[float, ...]
) -> None:
    """`scores` are those of the first video with both captions, then of the second video with both captions."""
    items = read_items(tmp_path, 1)
    request_ids = [request["request_id"] for request in vinoground.requests(items, "similarity", "caption")]
    rows = [
        verdict_row(request_id, "match", score=score, failed=score is None)
        for request_id, score in zip(request_ids, scores, strict=True)
    ]
    assert compute_overall_scores(items, rows) == list(expected)
