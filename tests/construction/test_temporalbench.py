"""TemporalBench's making: the filters on clips, what a writer may get wrong, the review, the release, the toy world."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from construction.temporalbench.making import WORD_CATEGORIES, clips, examples, negative_rows, parse_category
from construction.temporalbench.review import long_videos, option_sets, with_option_sets
from construction.writing import UnusableReplyError
from reprise.core.errors import UserError

from tests.construction import worlds as w

PROMPTS, HOW = w.prompts("temporalbench"), w.settings("temporalbench")
CLIP = "COIN/v.short-0-10"
MEASURED = w.clip_metadata((CLIP, 1, False))


def how(**changes: Any) -> Any:
    return w.settings("temporalbench", **changes)


def clip_row(video: str, **changes: Any) -> w.Row:
    """A clip of ten seconds in the default columns."""
    row = {
        "dataset": "COIN", "split": "test", "video": video, "start": 0, "end": 10, "description": "Somebody cooks.",
        "caption": f"In {video} a man cuts a potato twice, then he sits down.",
    }  # fmt: skip
    return row | changes


def annotated(folder: Path, *rows: w.Row, name: str = "annotations.json") -> w.Files:
    return w.saved(folder / name, rows)


CAPTION = str(clip_row("v")["caption"])
THRICE, STANDS = CAPTION.replace("twice", "three times"), CAPTION.replace("sits down", "stands up")
FIVE, CHILD = THRICE.replace("three", "five"), THRICE.replace("man", "child")


def test_a_clip_is_dropped_by_the_first_filter_that_finds_something(tmp_path: Path) -> None:
    rows = {
        "": clip_row("v"), "other_dataset": clip_row("d", dataset="Kinetics"), "other_split": clip_row("s", split="train"),
        "bad_name": clip_row("../../x"), "no_span": clip_row("n", end=0), "too_long": clip_row("l", end=20.5),
        "not_available": clip_row("a"), "static": clip_row("t"), "scene_transitions": clip_row("c"),
        "no_caption": clip_row("e", caption=""), "unprintable": clip_row("u", caption="He sits\x00 down."),
        "long_caption": clip_row("b", caption="He sits down. " * 200),
    }  # fmt: skip
    measured = w.clip_metadata(*((f"COIN/{one}.short-0-10", 3 if one == "c" else 2, one == "t") for one in "vtceub"))
    files = annotated(tmp_path, *rows.values())
    assert [one.source_id for one in clips(files, HOW)] == ["v", "a", "t", "c", "e", "u", "b"]
    here = w.pool_of(files, HOW, measured)
    assert w.names_of(here["pool"]) == list(rows)
    assert all(bool(row["why"]) == bool(row["filter"]) for row in here["pool"].to_dicts())
    assert here["texts"]["text_id"].to_list() == [f"words/{CLIP}", f"events/{CLIP}"]
    assert w.names_of(w.pool_of(files, how(transitions=0), measured)["pool"]).count("scene_transitions") == 5


def test_captions_in_separate_files_refined_captions_and_descriptions(tmp_path: Path) -> None:
    """A clip without one caption is a task of its own."""
    files = annotated(tmp_path, *(clip_row(video, caption="") for video in "vwe"), clip_row("u", split=""))
    files |= annotated(tmp_path, clip_row("v", refined="Refined."), clip_row("w", caption="One."), name="b.json")
    gym = clip_row("g", dataset="FineGym", caption="Not this.")
    files |= annotated(tmp_path, clip_row("w", caption="Another."), clip_row("u"), gym, name="c.json")
    clips_of = [*(f"COIN/{one}.short-0-10" for one in "vweu"), "FineGym/g.short-0-10"]
    here = w.pool_of(files, HOW, w.clip_metadata(*((one, 1, False) for one in clips_of)))
    rows = {row["video"]: (row["caption"], row["is_refined"], row["filter"]) for row in here["pool"].to_dicts()}
    assert rows == {
        "v": ("Refined.", True, ""), "w": ("One. / Another.", False, "two_captions"), "e": ("", False, "no_caption"),
        "u": (clip_row("u")["caption"], False, ""), "g": ("Somebody cooks.", False, ""),
    }  # fmt: skip
    made = w.written(here, writer(), HOW)
    tasks = [task for task in w.review(made, HOW).tasks if task["choices"] == "described"]
    shown = {task["task_id"]: task["option"] for task in tasks}
    assert shown == {"caption/COIN/w.short-0-10": "One. / Another.", "caption/COIN/e.short-0-10": ""}
    assert w.review(made, HOW, w.verdicts(tmp_path / "1.csv", tasks, "described", "ann")).problems == []


MISTAKES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no column": ([{"video": "v"}], {}, r"column 'dataset' is missing. Found: video. Needed: dataset, split, video, start"),
    "not finite": ([clip_row("v", end="nan")], {}, "annotations.json: row 1: end: should be a number of seconds, found 'nan'"),
    "no number": ([clip_row("v", end="1"), clip_row("w", end="late")], {}, "annotations.json: row 2: end: should be a number of seconds, found 'late'"),
    "yes": ([clip_row("v", caption=True)], {}, "annotations.json: row 1: caption: should be a text, found True"),
    "no clip": (",".join(clip_row("v")) + "\n", {}, "no clips in annotations.csv"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "changes", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_annotations_is_named(tmp_path: Path, content: Any, changes: Any, message: str) -> None:
    name = "annotations.csv" if isinstance(content, str) else "annotations.json"
    with pytest.raises(UserError, match=message):
        clips(w.saved(tmp_path / name, content), how(**changes))


def test_a_benchmark_without_available_videos_fails(tmp_path: Path) -> None:
    found = r"none of its 1 clips has an available video, for example 'COIN/v.short-0-10'. .* missing"
    with pytest.raises(UserError, match=found):
        w.pool_of(annotated(tmp_path, clip_row("v"), clip_row("n", end=0)), HOW, w.clip_metadata())
    nothing = w.pool_of(annotated(tmp_path, clip_row("n", end=0)), HOW, w.clip_metadata())
    assert w.names_of(nothing["pool"]) == ["no_span"], "none of which is looked for"


def writer(words: str = f"1. {THRICE}\n2. {STANDS}", then: str = "", **others: str) -> w.Writer:
    """Replies by what is asked: negatives, the other order, a category, negatives of the negative."""
    asked: Counter[str] = Counter()
    said = {
        "central": f"1. {FIVE}\n2. {FIVE.replace('five', 'six')}", "category": "Action Frequency",
        "events": "1. First he sits down, then he cuts a potato twice.",
    }  # fmt: skip

    def reply(one: w.Row) -> str:
        kind = one["item_id"].partition("/")[0]
        asked[kind] += 1
        if kind == "words":
            return words if asked[kind] == 1 or not then else then
        return (said | others)[kind]

    return reply


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> w.Tables:
    return w.pool_of(annotated(tmp_path_factory.mktemp("clips"), clip_row("v")), HOW, MEASURED)


def chain(pool: w.Tables, one: w.Writer, **changes: Any) -> w.Tables:
    return w.written(pool, one, how(**changes))


def test_negatives_of_several_writers_are_merged_and_labelled(pool: w.Tables) -> None:
    """Worked by hand: of eight lines six differ; one writer repeats the other in other letters, one is told to write again."""
    asked: list[str] = []
    events = "First he sits down, then he cuts a potato twice."

    def second(one: w.Row) -> str:
        asked.append(one["item_id"])
        return f"1. {events.upper()}" if one["item_id"].startswith("events/") else f"1. {THRICE.upper()}\n2. {CHILD}"

    first = writer("I cannot.", then=f"1. {THRICE}\n2. {STANDS}\n3. {FIVE}", events=f"1. {events}\n2. {STANDS}")
    both = how(other_writers=["other"], word_negatives=2)
    made = w.written(pool, first, both, other=second)
    assert asked == [f"words/{CLIP}", f"events/{CLIP}"], "it is asked for negatives alone, and once"
    rows = made["samples"].filter(pl.col("level") != "central").select("level", "writer", "negative", "filter").rows()
    assert rows == [
        ("words", "toy-writer", THRICE, ""), ("words", "toy-writer", STANDS, ""),
        ("words", "toy-writer", FIVE, "more_than_asked"), ("words", "other", THRICE.upper(), "duplicate"),
        ("words", "other", CHILD, ""), ("events", "toy-writer", events, ""),
        ("events", "toy-writer", STANDS, "duplicate"), ("events", "other", events.upper(), "duplicate"),
    ]  # fmt: skip
    assert made["samples"]["sample_id"].is_unique().all()
    assert set(made["samples"].filter(negative=CHILD)["category"]) == {"Action Frequency"}, "as the first one says"
    again = made["samples"].filter(level="central")
    assert set(again["writer"]) == {"toy-writer"} and again["of"].n_unique() == 3
    told = made["written"].filter(text_id=f"words/{CLIP}")
    assert dict(told.select("writer", "rounds").iter_rows()) == {"toy-writer": 2, "other": 1}
    assert "other" not in str(w.review(made, both).tasks), "people do not know who wrote what"


def row_of(made: w.Tables, kind: str) -> w.Row:
    return next(row for row in made["written"].to_dicts() if row["text_id"].startswith(f"{kind}/"))


@pytest.mark.parametrize(("reply", "problem"), [
    ("A man may cut it three times.", "no_list"), (f"1. {CAPTION}\n2. {CAPTION.upper()}", "unchanged"),
])  # fmt: skip
def test_a_bad_reply_is_reported_requested_again_and_never_a_sample(pool: w.Tables, reply: str, problem: str) -> None:
    """Of one event the prompt asks for the caption itself as the other order: it is dropped, and no mistake."""
    row = row_of(chain(pool, writer(reply, then=f"1. {THRICE}")), "words")
    assert (row["rounds"], row["filter"], row["replies"][0]) == (2, "", reply)
    assert [one.partition(":")[0] for one in row["problems"]] == [problem]
    stays = chain(pool, writer(reply, events=f"1. {CAPTION}"))
    row, events = row_of(stays, "words"), row_of(stays, "events")
    assert (row["rounds"], row["text"], row["filter"]) == (4, "", problem)
    assert (events["rounds"], events["filter"], events["problems"]) == (1, "", [])
    assert stays["samples"].select("level", "filter").rows() == [("events", "unchanged")]


SHOWN = "cut a ginger three times using a knife"
LISTS: dict[str, tuple[list[tuple[str, int, list[str]]], list[str]]] = {
    "several lists": ([("words", 3, [THRICE, CAPTION, THRICE.upper(), STANDS]), ("events", 1, [THRICE])], ["", "unchanged", "duplicate", "more_than_asked", "duplicate"]),
    "no words and examples": ([("words", 9, ["---", SHOWN, "A person push the eyeglasses.", THRICE])], ["no_words", "in_prompt", "in_prompt", ""]),
}  # fmt: skip


@pytest.mark.parametrize(("lists", "filters"), LISTS.values(), ids=LISTS)
def test_each_line_is_kept_or_named(lists: list[tuple[str, int, list[str]]], filters: list[str]) -> None:
    found = negative_rows(CLIP, CAPTION, [(level, "w", *one) for level, *one in lists], examples(PROMPTS))
    assert w.names_of(found) == filters and len({row["sample_id"] for row in found}) == len(found)
    own = negative_rows(CLIP, "Cut a ginger twice using a knife.", [("words", "w", 9, [SHOWN])], examples(PROMPTS))
    assert w.names_of(own) == [""], "of the prompt's own caption it is a negative"


SAID = {
    "Action Type": "Action Type", "3. action type.": "Action Type",
    "Motion Direction / Orientation": "Motion Direction/Orientation", "It is the verb.": "no_category",
    "Event Order": "no_category", "Action Type or Action Order": "several_categories",
    "I'm sorry, I cannot say.": "refusal",
}  # fmt: skip


@pytest.mark.parametrize(("reply", "found"), SAID.items())
def test_one_category_is_parsed(reply: str, found: str) -> None:
    try:
        assert parse_category(reply, PROMPTS["category"].system) == found
    except UnusableReplyError as error:
        assert error.problem == found and found not in WORD_CATEGORIES


def test_a_negative_without_a_category_is_dropped(pool: w.Tables) -> None:
    rows = {row["level"]: row for row in chain(pool, writer(category="I do not know."))["samples"].to_dicts()}
    assert rows["words"]["filter"] == "not_labelled" and rows["words"]["why"].startswith("no_category: ")
    assert (rows["events"]["filter"], rows["events"]["category"]) == ("", "Event Order")


def test_negatives_of_negatives_do_not_lead_back(pool: w.Tables) -> None:
    again = f"1. {CAPTION}\n2. {CHILD}\n3. {FIVE}"
    back = chain(pool, writer(f"1. {THRICE}\n2. {CHILD}", central=again), central_tries=1)
    found = dict(back["samples"].filter(level="central").select("negative", "filter").iter_rows())
    assert found.pop(CAPTION) == "caption_again" and found[FIVE] == "more_than_asked" and len(found) == 2


def test_a_negative_that_fits_or_whose_caption_does_not_fit_is_dropped(pool: w.Tables, tmp_path: Path) -> None:
    made = chain(pool, writer())
    tasks = {task["option"]: task for task in w.review(made, HOW).tasks}
    assert {CAPTION, THRICE, STANDS, FIVE} <= tasks.keys()
    assert not any("caption" in task["task_id"] for task in tasks.values())

    def found(said: dict[str, str], votes: int = 1) -> list[str]:
        files = [
            w.verdicts(tmp_path / f"{n}.csv", [tasks[text]], one, "ann") for n, (text, one) in enumerate(said.items())
        ]
        done = w.review(made, how(review={"verdicts": "-", "votes": votes}), *files)
        filters = {row["negative"]: row["filter"] for row in done.reviewed}
        assert done.problems == []
        return [filters[text] for text in (THRICE, STANDS, FIVE)]

    said = {CAPTION: "fits", THRICE: "does not fit", STANDS: "fits"}
    assert found(said) == ["", "refused", "not_reviewed"] and found(said, 2)[0] == "caption_not_reviewed"
    for unfit in ("does not fit", "cannot be told"):
        assert found({CAPTION: unfit, THRICE: "does not fit"})[:2] == ["caption_refused"] * 2


def kept_row(clip: str, start: float, negative: str, dataset: str = "COIN", **changes: Any) -> w.Row:
    return {
        "sample_id": f"{clip}/words/{negative}", "clip": clip, "dataset": dataset, "video": "v", "start_s": start,
        "end_s": start + 10, "level": "words", "caption": f"C{start:g}.", "of": "", "negative": negative,
        "category": "Others", "votes": 1, "in_favour": 1, "filter": "", "why": "",
    } | changes  # fmt: skip


def of_set(level: str, negative: str, of: str, filters: dict[str, str]) -> w.Row:
    name = f"{level}/{of}/{negative}"
    changes = {"caption": "C", "level": level, "of": of, "sample_id": name, "filter": filters.get(negative, "")}
    return kept_row("c", 0, negative, **changes)


# What a review drops, and N1(C) or why there is none. C has N1 to N4, and two negatives of each of the first three.
SETS: dict[str, tuple[dict[str, str], str]] = {
    "N1(C) is refused": ({"N1": "refused"}, "N2"),
    "a negative of it is refused": ({"N1.2": "refused"}, "N2"),
    "two are": ({"N1": "refused", "N2.1": "refused"}, "N3"),
    "another negative is refused": ({"N2": "refused"}, "N1"),
    "all are refused": ({"N1": "refused", "N2": "refused", "N3": "caption_refused"}, "N1(C) was dropped: refused"),
    "too few others": ({"N3": "refused", "N4": "refused"}, "2 negatives of the caption are left, 3 are needed"),
    "too few of each": (dict.fromkeys(("N1.1", "N2.1", "N3.2"), "refused"), "1 negatives of N1(C) are left, 2 are needed"),
}  # fmt: skip


@pytest.mark.parametrize(("dropped", "expected"), SETS.values(), ids=SETS)
def test_an_option_set_uses_the_reviewed_negatives(dropped: dict[str, str], expected: str) -> None:
    rows = [of_set("words", f"N{n}", "C", dropped) for n in (1, 2, 3, 4)]
    rows += [of_set("central", f"N{n}.{m}", f"N{n}", dropped) for n in (1, 2, 3) for m in (1, 2)]
    found = with_option_sets(rows)
    central = [row for row in found if row["level"] == "central"]
    assert found[:4] == rows[:4]
    if expected.startswith("N") and len(expected) == 2:
        others = [one for one in ("N1", "N2", "N3", "N4") if one != expected and one not in dropped][:2]
        [(_, texts)] = option_sets(found)
        assert texts == ["C", expected, *others, f"{expected}.1", f"{expected}.2"]
        not_chosen = [row for row in central if row["of"] != expected and row["filter"] != "refused"]
        assert {(row["filter"], row["why"]) for row in not_chosen} == {("other_option_set", f"N1(C) is '{expected}'")}
    else:
        named = [row for row in central if row["filter"] == "no_option_set"]
        assert list(option_sets(found)) == [] and len(named) == 6 - sum("." in one for one in dropped)
        assert named[0]["why"] == expected


def test_a_long_video_worked_out_by_hand() -> None:
    rows = [kept_row("b", 30, "N30."), kept_row("a", 5, "N5."), kept_row("o", 12, "N12.")]
    rows += [kept_row("x", 5, "X.", "Oops"), kept_row("y", 50, "Y.", "Oops")]
    here = w.tables("temporalbench", {"reviewed": rows})["reviewed"]
    [one] = long_videos(here, HOW)
    # the clip from 12 s begins before the first one ends; Oops has no long videos
    assert (one.start_s, one.end_s, one.clips, one.caption) == (5, 40, ("a", "b"), "C5. C30.")
    assert set(one.negatives) == {"N5. C30.", "C5. N30."}
    assert len(long_videos(here, how(long_negatives=1))[0].negatives) == 1
