"""Vinoground's making: pairs of captions, the videos that are found for them, the review, the release."""

import json
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.vinoground.release import read_release
from reprise.construction.review import Verdict, counted
from reprise.construction.settings import Columns, MinilmEncoder, ReviewSettings, VinogroundSettings
from reprise.construction.vinoground.candidates import candidates
from reprise.construction.vinoground.release import release
from reprise.construction.vinoground.requests import chosen, pairs, requests
from reprise.construction.vinoground.retrieval import WIDTH, Words, nearest
from reprise.construction.vinoground.review import category_of, category_tasks, review
from reprise.construction.vinoground.samples import samples
from reprise.construction.vinoground.statistics import TABLE2, filter_counts, statistics
from reprise.construction.vinoground.tables import SCHEMAS
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES, table_of
from reprise.core.store import Store
from reprise.core.yaml_files import load_yaml
from reprise.fetch.settings import ReleaseFolder
from reprise.models.base import Clip, Request
from reprise.models.local import embeddings
from reprise.models.local.stand_ins.templates import Templates
from reprise.stages.construction_samples import vectors_of
from synthetic.reviewer import is_true, scripts

from tests.unit.asked import spec
from tests.unit.construction.worlds import ROOT

PROMPTS = load_prompts(ROOT / "resources/prompts/construction/vinoground.yaml")
SUITE = load_yaml(ROOT / "config/suites/construction.yaml")["benchmarks"]["vinoground"]["construction"]
WRITER = Templates(spec(**load_yaml(ROOT / "config/models/toy-writer.yaml")["settings"]))
GOOD = '"a man eats then sits" vs "a man sits then eats"'


def settings(**changes: Any) -> VinogroundSettings:
    needed: dict[str, Any] = {
        "kind": "vinoground",
        "annotations": ReleaseFolder(kind="folder", path="resources/demo/vatex"),
        "writer": "toy-writer",
        "prompts": "-",
        "review": ReviewSettings(verdicts="none/*.csv"),
    }
    return VinogroundSettings(**needed | changes)


def replies(*texts: str, error: str = "") -> pl.DataFrame:
    empty = {name: "" for name, kind in RESPONSES.items() if kind == pl.String} | {"scores": []}
    return pl.DataFrame([empty | {"text": text, "error": error} for text in texts], schema=RESPONSES)


def tables(found: dict[str, list[Any]]) -> dict[str, pl.DataFrame]:
    return {name: table_of(rows, SCHEMAS[name]) for name, rows in found.items()}


REPLIES = {
    "as asked": (f"1. {GOOD}", [""]),
    "in curly quotes": ("1. “a man eats then sits” vs. “a man sits then eats”", [""]),
    "several": (f'{GOOD}\n2. "he runs, she stops" vs "she stops, he runs"', ["", ""]),
    "other words": ('"a man eats" vs "a man drinks"', ["other_words"]),
    "one word more": ('"a man eats then sits" vs "a man sits then eats well"', ["other_words"]),
    "the same twice": ('"a man eats" vs "A man eats."', ["same_text"]),
    "a duplicate": (f"{GOOD}\n{GOOD}", ["", "duplicate"]),
    "a duplicate turned round": (f'{GOOD}\n"a man sits then eats" vs "a man eats then sits"', ["", "duplicate"]),
    "a refusal": ("I'm sorry, I cannot do that.", ["refusal"]),
    "prose": ("A man may eat before he sits.", ["no_pair"]),
    "the prompt repeated": (PROMPTS["pairs"].user, ["in_prompt", "in_prompt"]),
    "a NUL": ('"a man\0 eats" vs "eats a man\0"', ["unprintable"]),
    "over two lines": ('"a man\neats" vs "eats\na man"', [""]),
    "nothing": ("", ["no_pair"]),
}


@pytest.mark.parametrize(("reply", "filters"), REPLIES.values(), ids=REPLIES)
def test_every_pair_of_a_reply_is_kept_or_named(reply: str, filters: list[str]) -> None:
    found = pairs([replies(reply)], PROMPTS["pairs"].user)
    assert [row["filter"] for row in found] == filters
    assert all(bool(row["why"]) == bool(row["filter"]) for row in found)


def test_the_conversation_goes_on_until_there_are_enough() -> None:
    how = settings(pairs=2)
    first = requests({}, [], PROMPTS, how)
    assert [one["prompt"] for one in first] == [PROMPTS["pairs"].user] and "Give me 10 examples." in first[0]["prompt"]
    given = [replies(GOOD)]
    [second] = requests({}, given, PROMPTS, how)
    assert second["prompt"] == f"{PROMPTS['pairs'].user}\n\n{GOOD}\n\ngive me 10 different ones"
    assert requests({}, [*given, replies('"he runs, she stops" vs "she stops, he runs"')], PROMPTS, how) == []
    assert [row["filter"] for row in chosen([replies(f'{GOOD}\n"b c" vs "c b"\n"d e" vs "e d"')], PROMPTS, how)] == [
        "",
        "",
        "enough",
    ]


@pytest.mark.parametrize("quotes", ['""', "“”", "„“", "«»", "””", "「」"])
def test_pairs_in_quotes_of_any_language_are_read(quotes: str) -> None:
    first, last = quotes
    said = "\n".join(f"{number}. {first}a b {number}{last} vs. {first}{number} b a{last}" for number in (1, 2))
    assert [(row["positive"], row["negative"]) for row in pairs([replies(said)], "")] == [
        ("a b 1", "1 b a"),
        ("a b 2", "2 b a"),
    ]


def test_a_question_that_failed_ends_the_conversation() -> None:
    given = [replies("", error="timeout")]
    assert [row["filter"] for row in pairs(given, "")] == ["failed"] and requests({}, given, PROMPTS, settings()) == []


POOL = [
    {"id": "yt_000004_000014", "text": ["a man eats", "", "A man eats"]},
    {"id": "no span", "text": ["a man sits"]},
]


def test_columns_of_the_annotations_are_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "val.json"
    path.write_text(json.dumps(POOL))
    found = candidates({path.name: path}, settings(columns=Columns(video="id", captions="text"))).pool
    assert [row["filter"] for row in found] == ["", "empty_caption", "duplicate", "no_span"]
    assert (found[0]["source"], found[0]["start_s"], found[0]["end_s"]) == ("yt", 4.0, 14.0)
    with pytest.raises(UserError, match=r"val.json: column 'videoID' is missing. Found: id, text. Correct `columns:`"):
        candidates({path.name: path}, settings())


@pytest.mark.parametrize("text", ["a number", 5, [5], {"a": "b"}, "NUL \0", ["x"]], ids=str)
def test_captions_of_another_type_are_named_with_their_row(tmp_path: Path, text: Any) -> None:
    path = tmp_path / "val.json"
    path.write_text(json.dumps([{"videoID": "yt_1_2", "enCap": text}]))
    if text in ("a number", ["x"]):
        assert [row["filter"] for row in candidates({path.name: path}, settings()).pool] == [""]
    else:
        with pytest.raises(UserError, match=r"val.json: row 1: column 'enCap': expected a text, or a list of texts"):
            candidates({path.name: path}, settings())


def test_hostile_rows_of_annotations_are_dropped_by_name(tmp_path: Path) -> None:
    path = tmp_path / "val.json"
    rows = [{"videoID": "../../x_1_2", "enCap": ["he eats"]}, {"videoID": "yt_1_2", "enCap": ["x" * 2**20]}]
    path.write_text(json.dumps(rows))
    assert [row["filter"] for row in candidates({path.name: path}, settings()).pool] == ["no_span", "too_long"]


SPANS = {
    "backwards": ("yt_000014_000004", {}),
    "empty": ("yt_000004_000004", {}),
    "no numbers": ("yt_a_b", {"span": "(?P<video>.+)_(?P<start>.+)_(?P<end>.+)"}),
    "infinite": ("yt_0_inf", {"span": "(?P<video>.+)_(?P<start>.+)_(?P<end>.+)"}),
    "half of it": ("yt", {"span": "(?P<video>[a-z]+)(?P<start>[0-9])?(?P<end>[0-9])?"}),
}


@pytest.mark.parametrize(("video", "how"), SPANS.values(), ids=SPANS)
def test_an_id_without_a_span_is_named(tmp_path: Path, video: str, how: dict[str, Any]) -> None:
    path = tmp_path / "val.json"
    path.write_text(json.dumps([{"videoID": video, "enCap": "he eats"}]))
    assert [row["filter"] for row in candidates({path.name: path}, settings(**how)).pool] == ["no_span"]


@pytest.mark.parametrize(
    ("span", "found"), [("(.+)_(.+)", r"has no group 'video'. Write \(\?P<video>"), ("(", "no regular expression")]
)
def test_a_pattern_of_ids_that_cannot_be_used_is_refused(span: str, found: str) -> None:
    with pytest.raises(ValidationError, match=found):
        settings(span=span)


def test_two_videos_of_one_name_are_named(tmp_path: Path) -> None:
    """The file `a_0_5` as a whole, and 0 to 5 s of the file `a`."""
    path = tmp_path / "own.csv"
    path.write_text("videoID,start,end,enCap\na_0_5,,,he eats\na,0,5,he sits\na,0,5,he runs\n")
    pool = candidates({path.name: path}, settings(span=None)).pool
    assert [(row["source"], row["filter"]) for row in pool] == [("a_0_5", ""), ("a", "same_name"), ("a", "same_name")]


def test_nearest_are_the_largest_inner_products() -> None:
    rng = np.random.default_rng(0)
    pool, queries = (rng.normal(size=(count, 16)).astype(np.float32) for count in (700, 300))
    products = queries @ pool.T
    for row, found in zip(products, nearest(queries, pool, 20), strict=True):
        assert [place for place, _ in found] == np.argsort(-row, kind="stable")[:20].tolist()
    assert [len(one) for one in nearest(queries[:2], pool[:3], 20)] == [3, 3] and nearest(
        queries[:1], pool[:0], 20
    ) == [[]]


def test_a_caption_is_nearest_to_itself_and_then_to_the_same_words() -> None:
    pool = ["a man eats then sits", "a man sits then eats", "a dog runs", "a cat sleeps"]
    encoder = Words(pool)
    found = nearest(encoder.encode([pool[1], "the dog runs fast", "???"]), encoder.encode(pool), 4)
    assert [place for place, _ in found[0]][:2] == [1, 0] and found[0][0][1] == pytest.approx(1)
    assert found[1][0][0] == 2 and [value for _, value in found[2]] == [0, 0, 0, 0]


def test_sentence_embeddings_go_by_meaning_and_are_kept_by_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    pool = ["a dog runs over the grass", "someone has dinner at a table", "a woman reads a newspaper"]
    encode = partial(vectors_of, "1", store)
    found = nearest(encode(["a man is eating food"]), encode(pool), 3)
    assert found[0][0][0] == 1 and encode([]).shape[0] == 0
    monkeypatch.setattr(embeddings, "_Model", None)  # nothing is embedded twice
    assert nearest(encode(["a man is eating food"]), encode(pool[::-1]), 3)[0][0][0] == 1
    with pytest.raises(TypeError):
        encode(["a text that is new"])


def test_the_encoder_of_the_suite_finds_the_videos(made: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    how = settings(pairs=SUITE["pairs"], rounds=SUITE["rounds"], encoder=MinilmEncoder(kind="minilm"), nearest=2)
    given = conversation(how)
    few = vatex() | {"pool": vatex()["pool"].head(4)}
    done = samples(few, given, PROMPTS, how, partial(vectors_of, "1", Store(tmp_path)))
    assert len(done.samples) == 2 * 2 * SUITE["pairs"] and all(row["similarity"] <= 1.0001 for row in done.samples)


def test_the_pool_of_the_paper_is_searched_in_a_minute() -> None:
    rng = np.random.default_rng(0)
    pool, queries = (rng.random(size=(count, WIDTH), dtype=np.float32) for count in (45_000, 1_000))
    start = time.process_time()
    found = nearest(queries, pool, 20)
    assert time.process_time() - start < 60
    assert len(found) == 1_000 and all(len(one) == 20 for one in found)


def vatex() -> dict[str, pl.DataFrame]:
    path = ROOT / "resources/demo/vatex/vatex_validation.json"
    return tables(candidates({path.name: path}, settings())._asdict())


def conversation(how: VinogroundSettings) -> list[pl.DataFrame]:
    given: list[pl.DataFrame] = []
    for _ in range(how.rounds):
        for asked in requests({}, given, PROMPTS, how):
            one = Request("r", "i", "1", "write", asked["system"], asked["prompt"], (), "", 2048)
            given.append(replies(*(answer.text for answer in WRITER.answers(Clip("c", None, (), ()), [one]))))
    return given


@pytest.fixture(scope="module")
def made() -> dict[str, pl.DataFrame]:
    how = settings(pairs=SUITE["pairs"], rounds=SUITE["rounds"])
    here = vatex()
    return here | tables(samples(here, conversation(how), PROMPTS, how)._asdict())


def reviewed(made: dict[str, pl.DataFrame], *verdicts: Path, **how: Any) -> tuple[dict[str, pl.DataFrame], Any]:
    own = settings(review=ReviewSettings(verdicts="-", **how))
    done = review(made, list(verdicts) or sorted(ROOT.glob(SUITE["review"]["verdicts"])), own)
    return made | tables({"reviewed": done.reviewed, "votes": done.votes}), done


def test_every_released_video_shows_its_caption_and_not_the_other(
    made: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    here, done = reviewed(made)
    assert done.problems == []
    kept = here["reviewed"].filter(pl.col("filter") == "")
    halves = {(row["pair"], row["half"]): row for row in kept.iter_rows(named=True)}
    assert len(halves) == kept.height == 2 * SUITE["pairs"]
    for (pair, half), row in halves.items():
        script = scripts()[f"v_{row['source']}_seg_{row['start_s']:g}_{row['end_s']:g}"]
        other = halves[pair, "neg" if half == "pos" else "pos"]["text"]
        assert is_true(row["text"], script) and not is_true(other, script)


def test_a_pair_keeps_its_index_when_another_one_goes(made: dict[str, pl.DataFrame]) -> None:
    """People's answers are known by it; of the letters one other pair's may turn, which keeps them balanced."""
    here, _ = reviewed(made)
    gone = sorted(here["reviewed"].filter(pl.col("filter") == "")["pair"])[0]
    without = here | {"reviewed": here["reviewed"].filter(pl.col("pair") != gone)}
    before, after = (
        {one["idx"]: one["question"] for one in json.loads(release(tables, settings())["vinoground_textscore.json"])}
        for tables in (here, without)
    )
    assert before.keys() - after.keys() == {f"{int(gone, 16)}_pos", f"{int(gone, 16)}_neg"}
    assert after.keys() < before.keys() and sum(before[name] != text for name, text in after.items()) <= 2


def test_the_release_is_read_by_the_unchanged_reader_and_balanced(
    made: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    here, _ = reviewed(made)
    files = release(here, settings())
    assert files == release(here | {"reviewed": here["reviewed"].reverse()}, settings())
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    read = read_release(sorted(tmp_path.iterdir()), "ids", {})
    assert len(read.items) == 4 * SUITE["pairs"] and not any(item.flaws for item in read.items)
    assert sum(clip.kind == "concat" for clip in read.clips) == SUITE["pairs"]
    for kind in ("textscore", "videoscore"):
        letters = Counter(one["GT"] for one in json.loads(files[f"vinoground_{kind}.json"]))
        assert letters["A"] == letters["B"] == SUITE["pairs"]
        by_half = Counter((one["idx"].split("_")[1], one["GT"]) for one in json.loads(files[f"vinoground_{kind}.json"]))
        assert set(by_half.values()) == {SUITE["pairs"] // 2}


def test_numbers_stand_beside_the_paper_s(made: dict[str, pl.DataFrame]) -> None:
    here, _ = reviewed(made)
    rows = {(row["what"], row["group"]): (row["paper"], row["ours"]) for row in statistics(here, settings())}
    assert rows["pairs released", "all"] == (500, 12) and rows["videos and captions released", "all"] == (1000, 24)
    assert [rows["pairs (Table 2)", name][0] for name in TABLE2] == list(TABLE2.values())
    assert all(row["entered"] - row["dropped"] == row["left"] for row in filter_counts(here))
    assert filter_counts(here)[-1]["left"] == 24


def verdicts(path: Path, here: Any, said: str, *people: str) -> Path:
    rows = [
        {"task_id": one["task_id"], "digest": one["digest"], "reviewer": who, "verdict": said}
        for one in here.tasks
        for who in people
        if "/pos/" in one["task_id"] or "/neg/" in one["task_id"]
    ]
    path.write_text(json.dumps(rows))
    return path


def test_several_people_must_agree_and_what_nobody_finds_is_searched_for(
    made: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    nothing = review(made, [], settings())
    one = verdicts(tmp_path / "1.json", nothing, "shows it", "ann")
    here, _ = reviewed(made, one, votes=2)
    assert set(here["reviewed"]["filter"]) == {"not_reviewed", "same_video"}
    here, _ = reviewed(made, one, verdicts(tmp_path / "2.json", nothing, "is ambiguous", "bob"), votes=2)
    assert set(here["reviewed"]["filter"]) == {"refused", "same_video"}
    _, done = reviewed(made, verdicts(tmp_path / "3.json", nothing, "does not show it", "ann"))
    searches = [task for task in done.tasks if task["task_id"].startswith("search/")]
    assert len(searches) == 2 * SUITE["pairs"] and all(task["text"] for task in searches)
    path = tmp_path / "4.json"
    path.write_text(json.dumps([{**searches[0], "reviewer": "ann", "verdict": "searched"}]))
    _, after = reviewed(made, tmp_path / "3.json", path)
    assert after.problems == [] and [
        one["judged_by"] for one in after.tasks if one["task_id"] == searches[0]["task_id"]
    ] == ["ann"]
    assert review(made, [path], settings()).problems == []


def test_a_video_that_shows_both_captions_is_of_neither(made: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    nothing = review(made, [], settings())
    here, done = reviewed(made, verdicts(tmp_path / "1.json", nothing, "shows it", "ann"))
    rows = here["reviewed"].filter(pl.col("filter") != "same_video")
    halves = {key: set(group["half"]) for key, group in rows.group_by("pair", "video")}
    for row in rows.iter_rows(named=True):
        assert (row["filter"] == "shows_both") == (len(halves[row["pair"], row["video"]]) == 2)
    assert set(rows["filter"]) == {"shows_both", "lower_rank", "no_counterpart", "no_category"}
    left = set(rows.filter(pl.col("filter") != "shows_both").select("pair", "half").iter_rows())
    searched = {tuple(task["task_id"].split("/")[1:]) for task in done.tasks if task["task_id"].startswith("search/")}
    assert searched == set(rows.select("pair", "half").iter_rows()) - left


def test_a_category_is_what_most_people_say(made: dict[str, pl.DataFrame]) -> None:
    [task, *_] = category_tasks(made["written"])
    said = {"ann": "action;spatial", "bob": "action;spatial", "cy": "object"}
    given = [Verdict(task.task_id, task.digest, who, what, "-") for who, what in said.items()]
    assert category_of(task, counted([task], given), 2) == "action;spatial"
    assert category_of(task, counted([task], [given[0], given[2]]), 1) == ""
    assert category_of(task, counted([task], given[:1]), 2) == ""
    wrong = Verdict(task.task_id, task.digest, "ann", "spatial", "-")
    assert [one.problem for one in counted([task], [wrong]).problems] == ["unknown_verdict"]
