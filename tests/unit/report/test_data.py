"""The data of the item browser, against an example that is worked out by hand."""

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS
from reprise.report.items import Items
from reprise.report.runs import RunTables, columns

from tests.unit.report.test_first_page import MAIN
from tests.unit.report.world import CAPTION, OTHER, RUN, World, all_scored, clip
from tests.unit.rows import item_row, request_row, response_row, verdict_row

RIGHT, WRONG, OTHERWISE = (0.9, 0.1), (0.1, 0.9), (0.9, 0.4)
SHUFFLED, BLIND = "velociti/entail/fps1.shuffled/one", "velociti/entail/none/one"


def test_the_catalog_names_items_and_runs_and_a_run_is_told_at_a_glance(world: World) -> None:
    world.build()
    both = {"strict": "1--", "classic": "1--"}
    found = {"state": "amm", "fixed": both, "authors": {}, "samples": dict.fromkeys(both, "item_id"), "differ": "0--"}
    assert world.data("velociti/runs/0") == found
    assert world.data("velociti/settings") == [
        {"adapter": "random", "code_versions": "{}", "sampling": "{}", "reader": "robust"}
    ]
    catalog = world.data("catalog")
    assert (catalog["suite"], catalog["title"], catalog["notice"], catalog["chunk"]) == ("small", "Small", "", 10)
    (benchmark,) = catalog["benchmarks"]
    assert benchmark["tasks"] == ["agent_bind", "coref"] and benchmark["items"] == 3
    assert benchmark["samplings"] == ["fps1"] and benchmark["protocols"] == {"entail": {"form": "entail"}}
    known = {
        "name": RUN,
        "metrics": ["classic", "strict"],
        "page": "runs/velociti.entail.fps1.one.html",
        "compared": [],
    }
    assert benchmark["runs"][0].items() >= known.items()


def test_two_runs_that_were_asked_alike_are_compared_by_the_number_that_leads(world: World) -> None:
    world.runs = {RUN: all_scored(OTHERWISE, RIGHT, RIGHT), OTHER: all_scored((0.2, 0.4), RIGHT, (0.2, 0.1))}
    world.build()
    (benchmark,) = world.data("catalog")["benchmarks"]
    assert [run["compared"] for run in benchmark["runs"]] == [[1], [0]]
    found = world.data("velociti/compared/0")["1"]
    # All of agent_bind and half of coref: each test counts alike.
    assert (found["metric"], found["of"], found["level"]) == ("strict", "average of 7", 0.95)
    assert found["difference"] == pytest.approx(0.75) and (found["n_items"], found["n_clusters"]) == (3, 2)
    assert world.data("velociti/compared/1")["0"]["difference"] == pytest.approx(-0.75)


def test_the_index_says_what_is_known_of_each_item_and_clip(world: World) -> None:
    world.build()
    index = world.data("velociti/index")
    assert (index["id"], index["task"], index["clip"]) == (["a", "b", "c"], [0, 1, 1], [0, 1, 1])
    groups = world.data("catalog")["benchmarks"][0]["groups"]
    named = [{groups[place] for place in index["sets"][of]} for of in index["groups"]]
    both = {"average", "agent"}
    assert named == [both | {"subset", "video_negation", "verbs_movement"}, both, both]
    assert world.data("velociti/short/0") == [CAPTION, "", ""] and index["unit"] == [0, 1, 1]
    there, gone = world.data("velociti/clips/0")
    assert there["media"] == "../store/clips/aa/aa.mp4" and there["status"] == "ok"
    assert (there["seconds"], there["frames"], there["fps"]) == (2.0, 48, 24.0)
    assert (gone["media"], gone["status"], gone["message"]) == ("", "gone", "<b>No such video</b>")
    assert [one["at"] for one in world.data("velociti/frames/fps1/0")] == [[0.5, 1.5], []]
    assert world.data("velociti/indices/fps1") == [[12, 36], []]
    assert world.data("velociti/texts") == {"text": [f"{CAPTION.lower()}\n", "", ""]}
    world.clips = [clip("c1", "ok", "clips/a b/ü.mp4")]
    world.build()
    named, unknown = world.data("velociti/clips/0")
    assert named["media"] == "../store/clips/a%20b/%C3%BC.mp4"
    assert (unknown["status"], unknown["media"]) == ("not fetched", "")
    assert world.data("velociti/index")["gone"] == "01"


def test_an_item_holds_its_questions_and_every_answer(world: World) -> None:
    robust = verdict_row("a#pos", "Yes", right=True, read_by="first word")
    authors = verdict_row("a#pos", unparsed=True, read_by="authors")
    world.runs[OTHER] = ([response_row("a#pos", "Maybe", error="")], [robust], [authors])
    world.build()
    first, second, _ = world.data("velociti/items/0")
    ask = {"ask": "score", "prompt": "Does it fit?", "options": ["Yes", "No"]}
    counted = {"frames": 1, "tokens_in": 1, "tokens_out": 1}
    assert first == {
        "texts": [{"name": "positive", "text": CAPTION}],
        "requests": {"entail": [{"role": "pos", **ask, "expected": "Yes"}, {"role": "neg", **ask, "expected": "No"}]},
        "answers": {
            "0": [
                {"role": "pos", "scores": [0.9, 0.1], **counted,
                 "read": {"robust": {"value": "Yes", "score": 0.9, "right": True}}},
                {"role": "neg", "scores": [0.4, 0.6], **counted,
                 "read": {"robust": {"value": "No", "score": 0.4, "right": True}}},
            ],
            "1": [{"role": "pos", "text": "Maybe", **counted, "read": {
                "robust": {"value": "Yes", "right": True, "by": "first word"}, "authors": {"unparsed": True},
            }}],
        },
    }  # fmt: skip
    assert second["answers"] == {} and "texts" not in second


def test_long_lists_are_in_pieces_of_ten(world: World) -> None:
    world.items = [item_row(f"i{number}", clip_id="c1", task="coref") for number in range(21)]
    world.requests, world.runs[RUN] = [], ([response_row("i20#pos", "Yes")], [verdict_row("i20#pos", "Yes")], [])
    world.build()
    for kind in ("items", "short"):
        assert [len(world.data(f"velociti/{kind}/{piece}")) for piece in range(3)] == [10, 10, 1]
    assert list(world.data("velociti/items/2")[0]["answers"]) == ["0"]
    assert world.data("velociti/runs/0")["state"] == "-" * 20 + "a"


def test_items_that_are_right_only_with_time_come_first(world: World) -> None:
    """Right as planned: all; in an order that is shuffled: b; without frames: none. c is no part of the main number."""
    world.runs = {RUN: all_scored(RIGHT, RIGHT, RIGHT), SHUFFLED: all_scored(WRONG, RIGHT, WRONG)}
    world.runs[BLIND] = all_scored(WRONG, WRONG, WRONG)
    world.views = {RUN: {"none": BLIND, "shuffled": SHUFFLED}}
    world.items[2]["task"] = "control"
    world.headline = MAIN | {"metric": "classic", "group": "average", "protocol": "entail", "sampling": "fps1"}
    world.build()
    assert world.data("velociti/runs/0")["time"]["classic"] == "101"
    assert "time" not in world.data("velociti/runs/1")
    opened = world.data("catalog")["benchmarks"][0]["opened"]
    assert (opened["run"], opened["other"], opened["show"], opened["item"]) == (RUN, SHUFFLED, "time", "a")
    assert opened["group"] == "average"
    assert "VELOCITI: 1 item</a>, one right only with time" in world.files()["index.html"].decode()


def test_what_a_video_scores_is_of_the_items_that_were_asked() -> None:
    items = pl.DataFrame([item_row(name) for name in "ab"], schema=ITEMS)
    read, replies = pl.DataFrame([verdict_row("a", right=True)], schema=VERDICTS), pl.DataFrame(schema=RESPONSES)
    found = columns("temporalbench", "short", items, pl.DataFrame(schema=REQUESTS), RunTables(replies, read, read))
    assert found["fixed"] == {"ba": "1-", "mba": "1-"}


def test_where_no_item_tells_more_than_others_the_first_one_is_open(world: World) -> None:
    world.runs = {RUN: all_scored(RIGHT, RIGHT, RIGHT)}
    world.build()
    assert world.data("catalog")["benchmarks"][0]["opened"] == {"b": "velociti", "item": "a"}


def test_a_view_shows_frames_of_other_moments_or_of_another_clip(world: World) -> None:
    """Reversed: 1.5 s, then 0.5 s; of the other clip frame 12 of 24 a second."""
    world.plans = [
        {"clip_id": "c1", "indices": [36, 12], "times_s": [0.5, 1.5], "note": "in reverse order"},
        {"clip_id": "c2", "indices": [12], "times_s": [9.0], "note": "", "shown_clip": "c1"},
    ]
    world.build()
    reversed_, another = world.data("velociti/frames/fps1/0")
    assert reversed_ == {"at": [1.5, 0.5], "of": None, "note": "in reverse order"}
    assert another == {"at": [0.5], "of": 0, "note": ""}


def test_an_answer_about_no_item_is_refused(world: World) -> None:
    world.runs[RUN] = ([response_row("z#pos", "Yes")], [], [])
    with pytest.raises(UserError, match=r"one\.parquet: an answer is about item 'z', which .*items\.parquet does not"):
        world.build()


@pytest.mark.parametrize(("highest", "signs"), [(5, "40-"), (3, "30-"), (None, None)])
def test_a_rating_is_shown_on_its_own_scale(highest: int | None, signs: str | None) -> None:
    """Rated 4 of 5, 0, and not at all; a judge's choice of an option is no rating."""
    items = pl.DataFrame([item_row(name, groups=["sets", "some"], task="some") for name in "abc"], schema=ITEMS)
    rows = [verdict_row(name, item_id=name, score=score) for name, score in zip("abc", (4.0, 0.0, None), strict=True)]
    read = pl.DataFrame(rows, schema=VERDICTS)
    replies = pl.DataFrame([response_row("a", "4")], schema=RESPONSES)
    asked = pl.DataFrame([request_row(name, item_id=name) for name in "abc"], schema=REQUESTS)
    run = RunTables(replies, read, read, replies)
    overall = Items("temporalbench", items, None)
    place = list(overall.groups).index("overall")
    assert all(place in places for places in overall.index({"c": 0})["sets"]), "a group of all items has all"
    found = columns("mmbench_video", "unpacked", items, asked, run, highest)
    assert (found.get("rating"), found.get("highest")) == (signs, highest)
