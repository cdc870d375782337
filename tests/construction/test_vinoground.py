"""Test Vinoground's construction: pairs of captions, the retrieval of videos, and the review."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from construction.review import ReviewResult
from construction.vinoground.making import parse_pairs
from construction.vinoground.retrieval import build_word_encoder, find_nearest
from pydantic import ValidationError
from reprise.core.errors import UserError

from tests.construction import worlds as w

PROMPTS, SETTINGS = w.prompts("vinoground"), w.suite_settings("vinoground", "pairs", "rounds", "review")
EAT_PAIR, RUN_PAIR = '"a man eats then sits" vs "a man sits then eats"', '"he runs, she stops" vs "she stops, he runs"'
REQUEST = {"request_id": "pairs/round1", "item_id": "pairs/round1"}


def reply_rounds(*texts: str, error: str = "") -> list[pl.DataFrame]:
    """Return the replies of several rounds, one reply each."""
    return [w.replies([REQUEST], lambda _, text=text: text, error) for text in texts]  # type: ignore[misc]


REPLIES = {
    "requested format": (f"1. {EAT_PAIR}", [""]),
    "quotes of other languages": ("1. “a man eats then sits” vs. “a man sits then eats”\n„a b“ vs. „b a“\n«c d» vs. «d c»", ["", "", "enough"]),
    "other words": ('"a man eats" vs "a man drinks"', ["other_words"]),
    "equal captions": ('"a man eats" vs "A man eats."', ["same_text"]),
    "duplicate pair": (f"{EAT_PAIR}\n2. {RUN_PAIR}\n{EAT_PAIR}", ["", "", "duplicate"]),
    "refusal": ("I'm sorry, I cannot do that.", ["refusal"]),
    "repeated prompt": (PROMPTS["pairs"].user, ["in_prompt", "in_prompt"]),
    "NUL character": ('"a man\0 eats" vs "eats a man\0"', ["unprintable"]),
    "empty reply": ("", ["no_pair"]),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "filters"), REPLIES.values(), ids=REPLIES)
def test_each_pair_is_kept_or_its_filter_is_named(reply: str, filters: list[str]) -> None:
    rows = parse_pairs(reply_rounds(reply), PROMPTS, w.construction_settings("vinoground", pairs=2))
    assert w.filter_names(rows) == filters and all(bool(row["why"]) == bool(row["filter"]) for row in rows)


def test_the_conversation_continues_until_there_are_enough_pairs() -> None:
    settings = w.construction_settings("vinoground", pairs=2)
    [first] = w.requests_of({}, [], settings)
    assert first["prompt"] == PROMPTS["pairs"].user and "Give me 10 examples." in first["prompt"]
    [second] = w.requests_of({}, reply_rounds(EAT_PAIR), settings)
    assert second["prompt"] == f"{PROMPTS['pairs'].user}\n\n{EAT_PAIR}\n\ngive me 10 different ones"
    assert w.requests_of({}, reply_rounds(EAT_PAIR, RUN_PAIR), settings) == []
    failed = reply_rounds("", error="timeout")
    assert (
        w.filter_names(parse_pairs(failed, PROMPTS, settings)) == ["failed"]
        and w.requests_of({}, failed, settings) == []
    )


CAPTION_CASES: dict[str, tuple[Any, Any, dict[str, Any], list[str]]] = {
    "list of captions": ("yt_000004_000014", ["a man eats", "", "A man eats", "  x y"], {}, ["", "empty_caption", "duplicate", ""]),
    "video name without a span": ("no span", ["a man sits"], {}, ["no_span"]),
    "end before start": ("yt_000014_000004", "he eats", {}, ["no_span"]),
    "path with a parent folder": ("../../x_1_2", "he eats", {}, ["no_span"]),
    "long caption": ("yt_1_2", "x" * 2**11, {}, ["too_long"]),
    "number as caption": ("yt_1_2", 5, {}, []),
}  # fmt: skip


@pytest.mark.parametrize(("video", "caption", "changes", "filters"), CAPTION_CASES.values(), ids=CAPTION_CASES)
def test_captions_of_annotations(tmp_path: Path, video: Any, caption: Any, changes: Any, filters: list[str]) -> None:
    files, settings = (
        w.write_annotations(tmp_path / "val.json", [{"videoID": video, "enCap": caption}]),
        w.construction_settings("vinoground", **changes),
    )
    if not filters:
        with pytest.raises(UserError, match=r"val.json: row 1: column 'enCap': expected a text, or a list of texts"):
            w.collect_pool(files, settings)
        return
    pool = w.collect_pool(files, settings)["pool"].to_dicts()
    assert w.filter_names(pool) == filters
    if not filters[0]:
        assert (pool[0]["source"], pool[0]["start_s"], pool[0]["end_s"]) == ("yt", 4.0, 14.0)


def test_columns_and_spans_follow_the_settings(tmp_path: Path) -> None:
    files, columns = (
        w.write_annotations(tmp_path / "val.json", [{"id": "yt_1_2", "text": "a man"}]),
        {"video": "id", "captions": "text"},
    )
    assert w.filter_names(w.collect_pool(files, w.construction_settings("vinoground", columns=columns))["pool"]) == [""]
    with pytest.raises(UserError, match=r"val.json: column 'videoID' is missing. Found: id, text. Correct `columns:`"):
        w.collect_pool(files, w.construction_settings("vinoground"))
    with pytest.raises(UserError, match=r"no captions in val.json. Correct `files:` or `columns:`"):
        w.collect_pool(
            w.write_annotations(tmp_path / "val.json", [{"videoID": "yt_1_2", "enCap": []}]),
            w.construction_settings("vinoground"),
        )
    for span, message in (
        ("(.+)_(.+)", r"group 'video' is missing. Write \(\?P<video>"),
        ("(", "is not a regular expression"),
    ):
        with pytest.raises(ValidationError, match=message):
            w.construction_settings("vinoground", span=span)
    # The whole file `a_0_5` and the span from 0 to 5 s of the file `a` would have the same name.
    ambiguous_names = w.write_annotations(
        tmp_path / "own.csv", "videoID,start,end,enCap\na_0_5,,,he eats\na,0,5,he sits\na,0,5,he runs\n"
    )
    pool = w.collect_pool(ambiguous_names, w.construction_settings("vinoground", span=None))["pool"]
    assert pool.select("source", "filter").rows() == [("a_0_5", ""), ("a", "same_name"), ("a", "same_name")]


def test_nearest_captions_have_the_largest_inner_products() -> None:
    """A caption is nearest to itself, then to a caption of the same words."""
    rng = np.random.default_rng(0)
    vectors, queries = (rng.normal(size=(count, 16)).astype(np.float32) for count in (700, 300))
    for products, matches in zip(queries @ vectors.T, find_nearest(queries, vectors, 20), strict=True):
        assert [index for index, _ in matches] == np.argsort(-products, kind="stable")[:20].tolist()
    assert [len(matches) for matches in find_nearest(queries[:2], vectors[:3], 20)] == [3, 3]
    assert find_nearest(queries[:1], vectors[:0], 20) == [[]]
    pool = ["a man eats then sits", "a man sits then eats", "a dog runs", "a cat sleeps"]
    encode = build_word_encoder(pool)
    first, second, third = find_nearest(encode([pool[1], "the dog runs fast", "???"]), encode(pool), 4)
    assert [index for index, _ in first][:2] == [1, 0] and first[0][1] == pytest.approx(1)
    assert second[0][0] == 2 and [similarity for _, similarity in third] == [0, 0, 0, 0]


# --- the review --------------------------------------------------------------------------------------------------------

VATEX = {"vatex_validation.json": w.ROOT / "resources/demo/vatex/vatex_validation.json"}


@pytest.fixture(scope="module")
def tables() -> w.Tables:
    return w.run_rounds(w.collect_pool(VATEX, SETTINGS), w.toy_writer, SETTINGS)


def write_search_verdicts(tables: w.Tables, path: Path, verdict: str, *annotators: str) -> Path:
    """Write a file in which all annotators give the same verdict on all videos."""
    tasks = w.review(tables, SETTINGS).tasks
    return w.write_verdicts(
        path, [task for task in tasks if {"pos", "neg"} & set(task["task_id"].split("/"))], verdict, *annotators
    )


def settings_with_votes(votes: int = 2) -> Any:
    return SETTINGS.model_copy(update={"review": SETTINGS.review.model_copy(update={"votes": votes})})


def search_tasks(result: ReviewResult) -> list[dict[str, Any]]:
    return [task for task in result.tasks if task["task_id"].startswith("search/")]


def test_annotators_must_agree_and_search_for_missing_videos(tables: w.Tables, tmp_path: Path) -> None:
    first_verdicts = write_search_verdicts(tables, tmp_path / "1.csv", "shows it", "ann")
    assert set(w.filter_names(w.review(tables, settings_with_votes(), first_verdicts).reviewed)) == {
        "not_reviewed",
        "same_video",
    }
    other_verdicts = write_search_verdicts(tables, tmp_path / "2.csv", "is ambiguous", "bob")
    assert set(w.filter_names(w.review(tables, settings_with_votes(), first_verdicts, other_verdicts).reviewed)) == {
        "refused",
        "same_video",
    }
    negative_verdicts = write_search_verdicts(tables, tmp_path / "3.csv", "does not show it", "ann")
    tasks = search_tasks(w.review(tables, SETTINGS, negative_verdicts))
    assert len(tasks) == 2 * SETTINGS.pairs and all(task["text"] for task in tasks)
    path = w.write_verdicts(tmp_path / "4.csv", tasks[:1], "searched", "ann")
    result = w.review(tables, SETTINGS, negative_verdicts, path)
    assert result.problems == [] == w.review(tables, SETTINGS, path).problems
    assert [task["judged_by"] for task in search_tasks(result) if task["task_id"] == tasks[0]["task_id"]] == ["ann"]


def test_a_video_that_shows_both_captions_is_dropped(tables: w.Tables, tmp_path: Path) -> None:
    result = w.review(tables, SETTINGS, write_search_verdicts(tables, tmp_path / "1.csv", "shows it", "ann"))
    rows = w.build_tables("vinoground", {"reviewed": result.reviewed})["reviewed"].filter(
        pl.col("filter") != "same_video"
    )
    halves_by_video = {key: set(group["half"]) for key, group in rows.group_by("pair", "video")}
    for row in rows.iter_rows(named=True):
        assert (row["filter"] == "shows_both") == (len(halves_by_video[row["pair"], row["video"]]) == 2)
    assert set(rows["filter"]) == {"shows_both", "lower_rank", "no_counterpart", "no_category"}
    shown_halves = set(rows.filter(pl.col("filter") != "shows_both").select("pair", "half").iter_rows())
    searched_halves = {tuple(task["task_id"].split("/")[1:]) for task in search_tasks(result)}
    assert searched_halves == set(rows.select("pair", "half").iter_rows()) - shown_halves


def test_a_category_is_the_majority_of_verdicts(tables: w.Tables, tmp_path: Path) -> None:
    tasks = w.review(tables, SETTINGS).tasks
    task = next(task for task in tasks if task["task_id"].startswith("category/"))
    pair, majority = task["task_id"].partition("/")[2], "action;spatial"
    for verdicts, votes, expected in (
        ((majority, majority, "object"), 2, majority),
        ((majority, "object"), 1, ""),
        ((majority,), 2, ""),
    ):
        files = [
            w.write_verdicts(tmp_path / f"{number}.csv", [task], verdict, str(number))
            for number, verdict in enumerate(verdicts)
        ]
        result = w.review(tables, settings_with_votes(votes), *files)
        assert {row["category"] for row in result.reviewed if row["pair"] == pair} == {
            expected
        } and result.problems == []
    invalid_verdict = w.write_verdicts(tmp_path / "x.csv", [task], "spatial", "ann")
    assert [problem.problem for problem in w.review(tables, SETTINGS, invalid_verdict).problems] == ["unknown_verdict"]
