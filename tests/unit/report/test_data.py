"""Test the data of the item browser against an example by hand."""

from urllib.parse import quote_plus

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS
from reprise.report.agreement import count_right_models
from reprise.report.items import Items
from reprise.report.keys import ReportedRun
from reprise.report.runs import RunTables, compute_columns, get_item_signs

from tests.unit.report.test_first_page import HEADLINE
from tests.unit.report.world import CAPTION, OTHER_RUN, RUN, World, make_clip, make_metric, make_run_tables
from tests.unit.rows import item_row, request_row, response_row, verdict_row

CORRECT_SCORES, WRONG_SCORES, CLOSER_SCORES = (0.9, 0.1), (0.1, 0.9), (0.9, 0.4)
SHUFFLED_RUN, REVERSED_RUN = "velociti/entail/fps1.shuffled/one", "velociti/entail/fps1.reversed/one"


def test_the_catalog_and_the_columns_of_a_run_are_written(world: World) -> None:
    world.build()
    signs_by_metric = {"strict": "1--", "classic": "1--"}
    expected = {
        "state": "amm",
        "fixed": signs_by_metric,
        "authors": {},
        "samples": dict.fromkeys(signs_by_metric, "item_id"),
        "question_metric": "classic",
        "extractors_differ": "0--",
    }
    assert world.data("velociti/runs/0") == expected
    assert world.data("velociti/settings") == [
        {"adapter": "random", "code_versions": "{}", "sampling": "{}", "extractor": "robust"}
    ]
    catalog = world.data("catalog")
    assert (catalog["suite"], catalog["title"], catalog["notice"], catalog["chunk"]) == ("small", "Small", "", 10)
    (benchmark,) = catalog["benchmarks"]
    assert benchmark["tasks"] == ["agent_bind", "coref"] and benchmark["items"] == 3
    assert benchmark["samplings"] == ["fps1"] and benchmark["protocols"] == {"entail": {"form": "entail"}}
    entry = {
        "name": RUN,
        "metrics": ["classic", "strict"],
        "page": "runs/velociti.entail.fps1.one.html",
        "comparable": [],
    }
    assert benchmark["runs"][0].items() >= entry.items()


def test_runs_with_the_same_protocol_and_sampling_are_compared_by_the_headline_metric(world: World) -> None:
    world.runs = {
        RUN: make_run_tables(CLOSER_SCORES, CORRECT_SCORES, CORRECT_SCORES),
        OTHER_RUN: make_run_tables((0.2, 0.4), CORRECT_SCORES, (0.2, 0.1)),
    }
    world.build()
    (benchmark,) = world.data("catalog")["benchmarks"]
    assert [run["comparable"] for run in benchmark["runs"]] == [[1], [0]]
    # All of agent_bind and half of coref: all tests have equal weight.
    sentence = world.data("velociti/comparisons/0")["1"]
    assert sentence.startswith("strict, average of 7: +75.0 points, 95 % interval [")
    assert sentence.endswith(", p = 0.5000; samples: 3; sign flips over videos: 2.")
    assert world.data("velociti/comparisons/1")["0"].startswith("strict, average of 7: −75.0 points")


def test_the_index_the_clips_and_the_texts_are_written(world: World) -> None:
    world.build()
    index = world.data("velociti/index")
    assert (index["id"], index["task"], index["clip"]) == (["a", "b", "c"], [0, 1, 1], [0, 1, 1])
    groups = world.data("catalog")["benchmarks"][0]["groups"]
    group_names = [{groups[group] for group in index["group_sets"][position]} for position in index["group_set"]]
    common_groups = {"average", "agent"}
    assert group_names == [common_groups | {"subset", "video_negation", "verbs_movement"}, common_groups, common_groups]
    assert world.data("velociti/labels/0") == [[CAPTION], [""], [""]] and index["pair"] == [0, 0, 0]
    available_clip, missing_clip = world.data("velociti/clips/0")
    assert available_clip["media"] == "../store/clips/aa/aa.mp4" and available_clip["status"] == "ok"
    assert (available_clip["seconds"], available_clip["frames"], available_clip["fps"]) == (2.0, 48, 24.0)
    assert (missing_clip["media"], missing_clip["status"], missing_clip["message"]) == (
        "",
        "gone",
        "<b>No such video</b>",
    )
    assert [frames["times"] for frames in world.data("velociti/frames/fps1/0")] == [[0.5, 1.5], []]
    assert world.data("velociti/indices/fps1") == [[12, 36], []]
    assert world.data("velociti/texts") == {"text": [f"{CAPTION.lower()}\n", "", ""]}
    world.clips = [make_clip("c1", "ok", "clips/a b/ü.mp4")]
    world.build()
    known_clip, unknown_clip = world.data("velociti/clips/0")
    assert known_clip["media"] == "../store/clips/a%20b/%C3%BC.mp4"
    assert (unknown_clip["status"], unknown_clip["media"]) == ("not fetched", "")
    assert world.data("velociti/index")["missing"] == "01"


def test_an_item_has_its_requests_and_all_answers(world: World) -> None:
    robust = verdict_row("a#pos", "Yes", right=True, extracted_by="first word")
    authors = verdict_row("a#pos", unparsed=True, extracted_by="authors")
    world.runs[OTHER_RUN] = ([response_row("a#pos", "Maybe", error="")], [robust], [authors])
    world.build()
    first, second, _ = world.data("velociti/items/0")
    request_fields = {"request_type": "score", "prompt": "Does it fit?", "options": ["Yes", "No"]}
    usage = {"frames": 1, "tokens_in": 1, "tokens_out": 1}
    assert first == {
        "texts": [{"name": "positive", "text": CAPTION}],
        "requests": {"entail": [{"role": "pos", **request_fields, "expected": "Yes"}, {"role": "neg", **request_fields, "expected": "No"}]},
        "answers": {
            "0": [
                {"role": "pos", "scores": [0.9, 0.1], **usage,
                 "extractions": {"robust": {"value": "Yes", "score": 0.9, "right": True}}},
                {"role": "neg", "scores": [0.4, 0.6], **usage,
                 "extractions": {"robust": {"value": "No", "score": 0.4, "right": True}}},
            ],
            "1": [{"role": "pos", "text": "Maybe", **usage, "extractions": {
                "robust": {"value": "Yes", "right": True, "extracted_by": "first word"}, "authors": {"unparsed": True},
            }}],
        },
    }  # fmt: skip
    assert second["answers"] == {} and "texts" not in second


def test_long_lists_are_in_chunks_of_ten(world: World) -> None:
    world.items = [item_row(f"i{number}", clip_id="c1", task="coref") for number in range(21)]
    world.requests, world.runs[RUN] = [], ([response_row("i20#pos", "Yes")], [verdict_row("i20#pos", "Yes")], [])
    world.build()
    for kind in ("items", "labels"):
        assert [len(world.data(f"velociti/{kind}/{chunk}")) for chunk in range(3)] == [10, 10, 1]
    assert list(world.data("velociti/items/2")[0]["answers"]) == ["0"]
    assert world.data("velociti/runs/0")["state"] == "-" * 20 + "a"


def test_items_that_are_correct_only_with_the_planned_frames_come_first(world: World) -> None:
    """All items are correct as planned, b also shuffled, and none reversed. The headline excludes c."""
    world.runs = {
        RUN: make_run_tables(CORRECT_SCORES, CORRECT_SCORES, CORRECT_SCORES),
        SHUFFLED_RUN: make_run_tables(WRONG_SCORES, CORRECT_SCORES, WRONG_SCORES),
    }
    world.runs[REVERSED_RUN] = make_run_tables(WRONG_SCORES, WRONG_SCORES, WRONG_SCORES)
    world.ablations = {RUN: {"reversed": REVERSED_RUN, "shuffled": SHUFFLED_RUN}}
    world.items[2]["task"] = "control"
    world.headline = HEADLINE | {"metric": "classic", "group": "average", "protocol": "entail", "sampling": "fps1"}
    world.build()
    assert world.data("velociti/runs/0")["temporal"]["classic"] == "101"
    assert "temporal" not in world.data("velociti/runs/1")
    state = world.data("catalog")["benchmarks"][0]["initial_state"]
    assert (state["run"], state["other"], state["show"]) == (RUN, SHUFFLED_RUN, "temporal")
    assert state["group"] == "average"
    assert (
        "VELOCITI: 1 item</a> of 2, one right only in the planned order (0 right only in other orders)"
        in world.files()["index.html"].decode()
    )


def test_runs_that_look_broken_are_in_no_highlight(world: World) -> None:
    world.runs = {
        RUN: make_run_tables(CORRECT_SCORES, CORRECT_SCORES, CORRECT_SCORES),
        SHUFFLED_RUN: make_run_tables(WRONG_SCORES, WRONG_SCORES, WRONG_SCORES),
        OTHER_RUN: make_run_tables(WRONG_SCORES, WRONG_SCORES, CORRECT_SCORES),
    }
    world.ablations = {RUN: {"shuffled": SHUFFLED_RUN}}
    broken = [make_metric("health_option", "answers: Yes", 100.0) | {"requested": 40}]
    expected_others = {
        (): {SHUFFLED_RUN, OTHER_RUN}, (OTHER_RUN,): {SHUFFLED_RUN}, (OTHER_RUN, SHUFFLED_RUN): set(), (RUN,): set()
    }  # fmt: skip
    for broken_runs, others in expected_others.items():
        world.metrics_by_run = dict.fromkeys(broken_runs, broken)
        world.build()
        page = world.files()["index.html"].decode()
        highlights = page[page.index('id="highlights"') :] if 'id="highlights"' in page else ""
        assert {run for run in (SHUFFLED_RUN, OTHER_RUN) if f"other={quote_plus(run)}" in highlights} == others
        assert ("temporal" in world.data("velociti/runs/0")) == (SHUFFLED_RUN in others)


def test_scores_of_a_video_count_for_the_items_of_the_run() -> None:
    items = pl.DataFrame([item_row(name) for name in "ab"], schema=ITEMS)
    verdicts, responses = pl.DataFrame([verdict_row("a", right=True)], schema=VERDICTS), pl.DataFrame(schema=RESPONSES)
    run_columns = compute_columns(
        "temporalbench", "short", items, pl.DataFrame(schema=REQUESTS), RunTables(responses, verdicts, verdicts)
    )
    assert run_columns["fixed"] == {"ba": "1-", "mba": "1-"}


def test_an_item_of_a_wrong_pair_or_video_keeps_its_own_verdict() -> None:
    """The second answer makes the pair and the video wrong."""
    items = pl.DataFrame([item_row(name, pair="p", task="text") for name in "ab"], schema=ITEMS)
    names = {
        "temporalbench": ("short", "mba", ("short", "short")),
        "vinoground": ("questions", "text", ("text_pos", "text_neg")),
    }
    for benchmark, (form, metric, roles) in names.items():
        rows = [
            verdict_row(f"{item}#{role}", "A", right=right)
            for item, role, right in zip("ab", roles, (True, False), strict=True)
        ]
        verdicts = pl.DataFrame(rows, schema=VERDICTS)
        run = RunTables(pl.DataFrame(schema=RESPONSES), verdicts, verdicts)
        columns = compute_columns(benchmark, form, items, pl.DataFrame(schema=REQUESTS), run)
        assert (columns["fixed"][metric], columns["item_right"]) == ("00", "10")
        assert get_item_signs(columns, metric) == "10"
    similarity = [verdict_row(f"a#{role}", score=0.5) for role in ("pos_pos", "pos_neg", "neg_pos", "neg_neg")]
    verdicts = pl.DataFrame(similarity, schema=VERDICTS)
    run = RunTables(pl.DataFrame(schema=RESPONSES), verdicts, verdicts)
    columns = compute_columns("vinoground", "similarity", items, pl.DataFrame(schema=REQUESTS), run)
    assert "item_right" not in columns, "a comparison belongs to two items"


def test_without_highlights_the_browser_chooses_the_item(world: World) -> None:
    world.runs = {RUN: make_run_tables(CORRECT_SCORES, CORRECT_SCORES, CORRECT_SCORES)}
    world.build()
    assert world.data("catalog")["benchmarks"][0]["initial_state"] == {"b": "velociti"}


def test_frames_of_an_ablation_keep_their_times_and_their_clip(world: World) -> None:
    """The reversed clip shows 1.5 s, then 0.5 s; the mismatched one shows frame 12 of a clip with 24 fps."""
    world.plans = [
        {"clip_id": "c1", "indices": [36, 12], "times_s": [0.5, 1.5], "note": "in reverse order"},
        {"clip_id": "c2", "indices": [12], "times_s": [9.0], "note": "", "shown_clip": "c1"},
    ]
    world.build()
    reversed_, mismatched = world.data("velociti/frames/fps1/0")
    assert reversed_ == {"times": [1.5, 0.5], "source_clip": None, "note": "in reverse order"}
    assert mismatched == {"times": [0.5], "source_clip": 0, "note": ""}


def test_an_answer_about_an_unknown_item_is_an_error(world: World) -> None:
    world.runs[RUN] = ([response_row("z#pos", "Yes")], [], [])
    with pytest.raises(UserError, match=r"one\.parquet: an answer is about item 'z', which is not in .*items\.parquet"):
        world.build()


@pytest.mark.parametrize(("max_rating", "signs"), [(5, "40-"), (3, "30-"), (None, None)])
def test_a_rating_is_shown_on_its_own_scale(max_rating: int | None, signs: str | None) -> None:
    """The ratings are 4 of 5, 0, and none; a judge's choice of an option is not a rating."""
    items = pl.DataFrame([item_row(name, groups=["sets", "some"], task="some") for name in "abc"], schema=ITEMS)
    rows = [verdict_row(name, item_id=name, score=score) for name, score in zip("abc", (4.0, 0.0, None), strict=True)]
    verdicts = pl.DataFrame(rows, schema=VERDICTS)
    replies = pl.DataFrame([response_row("a", "4")], schema=RESPONSES)
    requests = pl.DataFrame([request_row(name, item_id=name) for name in "abc"], schema=REQUESTS)
    run = RunTables(replies, verdicts, verdicts, replies)
    overall = Items("temporalbench", items, None)
    position = list(overall.groups).index("overall")
    assert all(position in groups for groups in overall.build_index({"c": 0})["group_sets"]), (
        "the group of all items contains each item"
    )
    run_columns = compute_columns("mmbench_video", "unpacked", items, requests, run, max_rating)
    assert (run_columns.get("rating"), run_columns.get("max_rating")) == (signs, max_rating)


def test_right_models_are_counted_without_baselines() -> None:
    names = ("one", "two", "three", "random")
    runs = [ReportedRun(run=f"vinoground/paper/fps1/{name}", label=name, reference=name == "random") for name in names]
    pair_metric = {"samples": {"text": "pair"}, "fixed": {"text": "00-"}, "item_right": "10-"}
    rated = {"rating": "53-", "max_rating": 5, "fixed": {}}
    columns = {run.scored.name: pair_metric for run in runs}
    assert count_right_models(runs, columns) == {"paper/fps1": {"text": {"right": [3, 0, 0], "models": [3, 3, 0]}}}
    ratings = count_right_models(runs, {run.scored.name: rated for run in runs})
    assert ratings == {"paper/fps1": {"rating": {"right": [3, 0, 0], "models": [3, 3, 0]}}}
    assert count_right_models(runs[1:], columns) == {}, "the list shows two models anyway"
