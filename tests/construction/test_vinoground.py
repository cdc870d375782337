"""Vinoground's making: pairs of captions, the videos that are found for them, the review, the release."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from construction.review import ReviewResult
from construction.vinoground.making import parse_pairs
from construction.vinoground.retrieval import encoder_of, nearest
from pydantic import ValidationError
from reprise.core.errors import UserError

from tests.construction import worlds as w

PROMPTS, HOW = w.prompts("vinoground"), w.of_suite("vinoground", "pairs", "rounds", "review")
GOOD, RUNS = '"a man eats then sits" vs "a man sits then eats"', '"he runs, she stops" vs "she stops, he runs"'
ASKED = {"request_id": "pairs/round1", "item_id": "pairs/round1"}


def said(*texts: str, error: str = "") -> list[pl.DataFrame]:
    """A round for each reply."""
    return [w.replies([ASKED], lambda _, text=text: text, error) for text in texts]  # type: ignore[misc]


REPLIES = {
    "as asked": (f"1. {GOOD}", [""]),
    "in quotes of other languages": ("1. “a man eats then sits” vs. “a man sits then eats”\n„a b“ vs. „b a“\n«c d» vs. «d c»", ["", "", "enough"]),
    "other words": ('"a man eats" vs "a man drinks"', ["other_words"]),
    "the same twice": ('"a man eats" vs "A man eats."', ["same_text"]),
    "a duplicate": (f"{GOOD}\n2. {RUNS}\n{GOOD}", ["", "", "duplicate"]),
    "a refusal": ("I'm sorry, I cannot do that.", ["refusal"]),
    "the prompt repeated": (PROMPTS["pairs"].user, ["in_prompt", "in_prompt"]),
    "a NUL": ('"a man\0 eats" vs "eats a man\0"', ["unprintable"]),
    "nothing": ("", ["no_pair"]),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "filters"), REPLIES.values(), ids=REPLIES)
def test_every_pair_of_a_reply_is_kept_or_named(reply: str, filters: list[str]) -> None:
    found = parse_pairs(said(reply), PROMPTS, w.settings("vinoground", pairs=2))
    assert w.names_of(found) == filters and all(bool(row["why"]) == bool(row["filter"]) for row in found)


def test_the_conversation_continues_until_there_are_enough_pairs() -> None:
    how = w.settings("vinoground", pairs=2)
    [first] = w.requests_of({}, [], how)
    assert first["prompt"] == PROMPTS["pairs"].user and "Give me 10 examples." in first["prompt"]
    [second] = w.requests_of({}, said(GOOD), how)
    assert second["prompt"] == f"{PROMPTS['pairs'].user}\n\n{GOOD}\n\ngive me 10 different ones"
    assert w.requests_of({}, said(GOOD, RUNS), how) == []
    failed = said("", error="timeout")
    assert w.names_of(parse_pairs(failed, PROMPTS, how)) == ["failed"] and w.requests_of({}, failed, how) == []


ROWS: dict[str, tuple[Any, Any, dict[str, Any], list[str]]] = {
    "a list": ("yt_000004_000014", ["a man eats", "", "A man eats", "  x y"], {}, ["", "empty_caption", "duplicate", ""]),
    "no span": ("no span", ["a man sits"], {}, ["no_span"]),
    "backwards": ("yt_000014_000004", "he eats", {}, ["no_span"]),
    "a folder above": ("../../x_1_2", "he eats", {}, ["no_span"]),
    "a page": ("yt_1_2", "x" * 2**11, {}, ["too_long"]),
    "a number for a caption": ("yt_1_2", 5, {}, []),
}  # fmt: skip


@pytest.mark.parametrize(("video", "caption", "changes", "filters"), ROWS.values(), ids=ROWS)
def test_captions_of_annotations(tmp_path: Path, video: Any, caption: Any, changes: Any, filters: list[str]) -> None:
    files, how = (
        w.saved(tmp_path / "val.json", [{"videoID": video, "enCap": caption}]),
        w.settings("vinoground", **changes),
    )
    if not filters:
        with pytest.raises(UserError, match=r"val.json: row 1: column 'enCap': expected a text, or a list of texts"):
            w.pool_of(files, how)
        return
    pool = w.pool_of(files, how)["pool"].to_dicts()
    assert w.names_of(pool) == filters
    if not filters[0]:
        assert (pool[0]["source"], pool[0]["start_s"], pool[0]["end_s"]) == ("yt", 4.0, 14.0)


def test_columns_and_spans_are_settings(tmp_path: Path) -> None:
    files, columns = (
        w.saved(tmp_path / "val.json", [{"id": "yt_1_2", "text": "a man"}]),
        {"video": "id", "captions": "text"},
    )
    assert w.names_of(w.pool_of(files, w.settings("vinoground", columns=columns))["pool"]) == [""]
    with pytest.raises(UserError, match=r"val.json: column 'videoID' is missing. Found: id, text. Correct `columns:`"):
        w.pool_of(files, w.settings("vinoground"))
    with pytest.raises(UserError, match=r"no captions in val.json. Correct `files:` or `columns:`"):
        w.pool_of(w.saved(tmp_path / "val.json", [{"videoID": "yt_1_2", "enCap": []}]), w.settings("vinoground"))
    for span, found in (
        ("(.+)_(.+)", r"group 'video' is missing. Write \(\?P<video>"),
        ("(", "is not a regular expression"),
    ):
        with pytest.raises(ValidationError, match=found):
            w.settings("vinoground", span=span)
    # The file `a_0_5` as a whole, and 0 to 5 s of the file `a`, would have one name.
    own = w.saved(tmp_path / "own.csv", "videoID,start,end,enCap\na_0_5,,,he eats\na,0,5,he sits\na,0,5,he runs\n")
    pool = w.pool_of(own, w.settings("vinoground", span=None))["pool"]
    assert pool.select("source", "filter").rows() == [("a_0_5", ""), ("a", "same_name"), ("a", "same_name")]


def test_nearest_are_the_largest_inner_products() -> None:
    """A caption is nearest to itself, and then to the same words."""
    rng = np.random.default_rng(0)
    vectors, queries = (rng.normal(size=(count, 16)).astype(np.float32) for count in (700, 300))
    for row, found in zip(queries @ vectors.T, nearest(queries, vectors, 20), strict=True):
        assert [place for place, _ in found] == np.argsort(-row, kind="stable")[:20].tolist()
    assert [len(one) for one in nearest(queries[:2], vectors[:3], 20)] == [3, 3]
    assert nearest(queries[:1], vectors[:0], 20) == [[]]
    pool = ["a man eats then sits", "a man sits then eats", "a dog runs", "a cat sleeps"]
    encode = encoder_of(pool)
    first, second, third = nearest(encode([pool[1], "the dog runs fast", "???"]), encode(pool), 4)
    assert [place for place, _ in first][:2] == [1, 0] and first[0][1] == pytest.approx(1)
    assert second[0][0] == 2 and [value for _, value in third] == [0, 0, 0, 0]


# --- the review --------------------------------------------------------------------------------------------------------

VATEX = {"vatex_validation.json": w.ROOT / "resources/demo/vatex/vatex_validation.json"}


@pytest.fixture(scope="module")
def made() -> w.Tables:
    return w.written(w.pool_of(VATEX, HOW), w.toy_writer, HOW)


def judged(made: w.Tables, path: Path, said: str, *people: str) -> Path:
    """A file in which people say the same of all videos."""
    tasks = w.review(made, HOW).tasks
    return w.verdicts(path, [one for one in tasks if {"pos", "neg"} & set(one["task_id"].split("/"))], said, *people)


def two(votes: int = 2) -> Any:
    return HOW.model_copy(update={"review": HOW.review.model_copy(update={"votes": votes})})


def searches(done: ReviewResult) -> list[dict[str, Any]]:
    return [task for task in done.tasks if task["task_id"].startswith("search/")]


def test_several_people_must_agree_and_what_nobody_finds_is_searched_for(made: w.Tables, tmp_path: Path) -> None:
    one = judged(made, tmp_path / "1.csv", "shows it", "ann")
    assert set(w.names_of(w.review(made, two(), one).reviewed)) == {"not_reviewed", "same_video"}
    other = judged(made, tmp_path / "2.csv", "is ambiguous", "bob")
    assert set(w.names_of(w.review(made, two(), one, other).reviewed)) == {"refused", "same_video"}
    nobody = judged(made, tmp_path / "3.csv", "does not show it", "ann")
    tasks = searches(w.review(made, HOW, nobody))
    assert len(tasks) == 2 * HOW.pairs and all(task["text"] for task in tasks)
    path = w.verdicts(tmp_path / "4.csv", tasks[:1], "searched", "ann")
    after = w.review(made, HOW, nobody, path)
    assert after.problems == [] == w.review(made, HOW, path).problems
    assert [one["judged_by"] for one in searches(after) if one["task_id"] == tasks[0]["task_id"]] == ["ann"]


def test_a_video_that_shows_both_captions_is_of_neither(made: w.Tables, tmp_path: Path) -> None:
    done = w.review(made, HOW, judged(made, tmp_path / "1.csv", "shows it", "ann"))
    rows = w.tables("vinoground", {"reviewed": done.reviewed})["reviewed"].filter(pl.col("filter") != "same_video")
    halves = {key: set(group["half"]) for key, group in rows.group_by("pair", "video")}
    for row in rows.iter_rows(named=True):
        assert (row["filter"] == "shows_both") == (len(halves[row["pair"], row["video"]]) == 2)
    assert set(rows["filter"]) == {"shows_both", "lower_rank", "no_counterpart", "no_category"}
    shown = set(rows.filter(pl.col("filter") != "shows_both").select("pair", "half").iter_rows())
    searched = {tuple(task["task_id"].split("/")[1:]) for task in searches(done)}
    assert searched == set(rows.select("pair", "half").iter_rows()) - shown


def test_a_category_is_the_majority_of_verdicts(made: w.Tables, tmp_path: Path) -> None:
    task = next(one for one in w.review(made, HOW).tasks if one["task_id"].startswith("category/"))
    pair, most = task["task_id"].partition("/")[2], "action;spatial"
    for said, votes, expected in (((most, most, "object"), 2, most), ((most, "object"), 1, ""), ((most,), 2, "")):
        files = [w.verdicts(tmp_path / f"{place}.csv", [task], one, str(place)) for place, one in enumerate(said)]
        done = w.review(made, two(votes), *files)
        assert {row["category"] for row in done.reviewed if row["pair"] == pair} == {expected} and done.problems == []
    wrong = w.verdicts(tmp_path / "x.csv", [task], "spatial", "ann")
    assert [one.problem for one in w.review(made, HOW, wrong).problems] == ["unknown_verdict"]
