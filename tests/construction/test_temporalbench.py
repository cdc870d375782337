"""Test TemporalBench's construction: clip filters, writers' bad replies, the review and option sets."""

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

PROMPTS, SETTINGS = w.prompts("temporalbench"), w.construction_settings("temporalbench")
CLIP = "COIN/v.short-0-10"
MEASURED = w.clip_metadata((CLIP, 1, False))


def settings_with(**changes: Any) -> Any:
    return w.construction_settings("temporalbench", **changes)


def clip_row(video: str, **changes: Any) -> w.Row:
    """Return the annotation row of a ten-second clip, in the default columns."""
    row = {
        "dataset": "COIN", "split": "test", "video": video, "start": 0, "end": 10, "description": "Somebody cooks.",
        "caption": f"In {video} a man cuts a potato twice, then he sits down.",
    }  # fmt: skip
    return row | changes


def write_clips(folder: Path, *rows: w.Row, name: str = "annotations.json") -> w.Files:
    return w.write_annotations(folder / name, rows)


CAPTION = str(clip_row("v")["caption"])
THREE_TIMES, STANDS_UP = CAPTION.replace("twice", "three times"), CAPTION.replace("sits down", "stands up")
FIVE_TIMES, CHILD = THREE_TIMES.replace("three", "five"), THREE_TIMES.replace("man", "child")


def test_a_clip_is_dropped_by_its_first_matching_filter(tmp_path: Path) -> None:
    rows = {
        "": clip_row("v"), "other_dataset": clip_row("d", dataset="Kinetics"), "other_split": clip_row("s", split="train"),
        "bad_name": clip_row("../../x"), "no_span": clip_row("n", end=0), "too_long": clip_row("l", end=20.5),
        "not_available": clip_row("a"), "static": clip_row("t"), "scene_transitions": clip_row("c"),
        "no_caption": clip_row("e", caption=""), "unprintable": clip_row("u", caption="He sits\x00 down."),
        "long_caption": clip_row("b", caption="He sits down. " * 200),
    }  # fmt: skip
    measured = w.clip_metadata(
        *((f"COIN/{video}.short-0-10", 3 if video == "c" else 2, video == "t") for video in "vtceub")
    )
    files = write_clips(tmp_path, *rows.values())
    assert [clip.source_id for clip in clips(files, SETTINGS)] == ["v", "a", "t", "c", "e", "u", "b"]
    tables = w.collect_pool(files, SETTINGS, measured)
    assert w.filter_names(tables["pool"]) == list(rows)
    assert all(bool(row["why"]) == bool(row["filter"]) for row in tables["pool"].to_dicts())
    assert tables["texts"]["text_id"].to_list() == [f"words/{CLIP}", f"events/{CLIP}"]
    assert (
        w.filter_names(w.collect_pool(files, settings_with(transitions=0), measured)["pool"]).count("scene_transitions")
        == 5
    )


def test_captions_from_several_files_refined_captions_and_descriptions(tmp_path: Path) -> None:
    """Annotators get a task for each clip that has no caption or several."""
    files = write_clips(tmp_path, *(clip_row(video, caption="") for video in "vwe"), clip_row("u", split=""))
    files |= write_clips(tmp_path, clip_row("v", refined="Refined."), clip_row("w", caption="One."), name="b.json")
    finegym_clip = clip_row("g", dataset="FineGym", caption="Not this.")
    files |= write_clips(tmp_path, clip_row("w", caption="Another."), clip_row("u"), finegym_clip, name="c.json")
    clip_ids = [*(f"COIN/{video}.short-0-10" for video in "vweu"), "FineGym/g.short-0-10"]
    pool_tables = w.collect_pool(files, SETTINGS, w.clip_metadata(*((clip_id, 1, False) for clip_id in clip_ids)))
    rows = {row["video"]: (row["caption"], row["is_refined"], row["filter"]) for row in pool_tables["pool"].to_dicts()}
    assert rows == {
        "v": ("Refined.", True, ""), "w": ("One. / Another.", False, "two_captions"), "e": ("", False, "no_caption"),
        "u": (clip_row("u")["caption"], False, ""), "g": ("Somebody cooks.", False, ""),
    }  # fmt: skip
    tables = w.run_rounds(pool_tables, writer(), SETTINGS)
    tasks = [task for task in w.review(tables, SETTINGS).tasks if task["choices"] == "described"]
    caption_by_task = {task["task_id"]: task["option"] for task in tasks}
    assert caption_by_task == {"caption/COIN/w.short-0-10": "One. / Another.", "caption/COIN/e.short-0-10": ""}
    assert w.review(tables, SETTINGS, w.write_verdicts(tmp_path / "1.csv", tasks, "described", "ann")).problems == []


MISTAKES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no column": ([{"video": "v"}], {}, r"column 'dataset' is missing. Found: video. Needed: dataset, split, video, start"),
    "not finite": ([clip_row("v", end="nan")], {}, "annotations.json: row 1: end: should be a number of seconds, found 'nan'"),
    "no number": ([clip_row("v", end="1"), clip_row("w", end="late")], {}, "annotations.json: row 2: end: should be a number of seconds, found 'late'"),
    "caption is a boolean": ([clip_row("v", caption=True)], {}, "annotations.json: row 1: caption: should be a text, found True"),
    "no clip": (",".join(clip_row("v")) + "\n", {}, "no clips in annotations.csv"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "changes", "message"), MISTAKES.values(), ids=MISTAKES)
def test_an_error_in_the_annotations_is_named(tmp_path: Path, content: Any, changes: Any, message: str) -> None:
    name = "annotations.csv" if isinstance(content, str) else "annotations.json"
    with pytest.raises(UserError, match=message):
        clips(w.write_annotations(tmp_path / name, content), settings_with(**changes))


def test_a_benchmark_without_available_videos_fails(tmp_path: Path) -> None:
    message = r"none of its 1 clips has an available video, for example 'COIN/v.short-0-10'. .* missing"
    with pytest.raises(UserError, match=message):
        w.collect_pool(write_clips(tmp_path, clip_row("v"), clip_row("n", end=0)), SETTINGS, w.clip_metadata())
    tables = w.collect_pool(write_clips(tmp_path, clip_row("n", end=0)), SETTINGS, w.clip_metadata())
    assert w.filter_names(tables["pool"]) == ["no_span"], "no clip needs a video, so none is missing"


def writer(
    word_reply: str = f"1. {THREE_TIMES}\n2. {STANDS_UP}", next_word_reply: str = "", **reply_by_kind: str
) -> w.Writer:
    """Return a writer whose reply depends on the kind of the request: words, events, category or central."""
    request_counts: Counter[str] = Counter()
    default_replies = {
        "central": f"1. {FIVE_TIMES}\n2. {FIVE_TIMES.replace('five', 'six')}", "category": "Action Frequency",
        "events": "1. First he sits down, then he cuts a potato twice.",
    }  # fmt: skip

    def reply(request: w.Row) -> str:
        kind = request["item_id"].partition("/")[0]
        request_counts[kind] += 1
        if kind == "words":
            return word_reply if request_counts[kind] == 1 or not next_word_reply else next_word_reply
        return (default_replies | reply_by_kind)[kind]

    return reply


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> w.Tables:
    return w.collect_pool(write_clips(tmp_path_factory.mktemp("clips"), clip_row("v")), SETTINGS, MEASURED)


def run_writer(pool: w.Tables, writer: w.Writer, **changes: Any) -> w.Tables:
    return w.run_rounds(pool, writer, settings_with(**changes))


def test_negatives_of_several_writers_are_merged_and_labelled(pool: w.Tables) -> None:
    """Check rows derived by hand: writer one writes its reply again, writer two repeats two lines in capitals."""
    requested_ids: list[str] = []
    events = "First he sits down, then he cuts a potato twice."

    def second_writer(request: w.Row) -> str:
        requested_ids.append(request["item_id"])
        return (
            f"1. {events.upper()}"
            if request["item_id"].startswith("events/")
            else f"1. {THREE_TIMES.upper()}\n2. {CHILD}"
        )

    first_writer = writer(
        "I cannot.",
        next_word_reply=f"1. {THREE_TIMES}\n2. {STANDS_UP}\n3. {FIVE_TIMES}",
        events=f"1. {events}\n2. {STANDS_UP}",
    )
    settings = settings_with(other_writers=["other"], word_negatives=2)
    tables = w.run_rounds(pool, first_writer, settings, other=second_writer)
    assert requested_ids == [f"words/{CLIP}", f"events/{CLIP}"], (
        "the second writer gets one request per kind of negative"
    )
    rows = tables["samples"].filter(pl.col("level") != "central").select("level", "writer", "negative", "filter").rows()
    assert rows == [
        ("words", "toy-writer", THREE_TIMES, ""), ("words", "toy-writer", STANDS_UP, ""),
        ("words", "toy-writer", FIVE_TIMES, "more_than_asked"), ("words", "other", THREE_TIMES.upper(), "duplicate"),
        ("words", "other", CHILD, ""), ("events", "toy-writer", events, ""),
        ("events", "toy-writer", STANDS_UP, "duplicate"), ("events", "other", events.upper(), "duplicate"),
    ]  # fmt: skip
    assert tables["samples"]["sample_id"].is_unique().all()
    assert set(tables["samples"].filter(negative=CHILD)["category"]) == {"Action Frequency"}, "by the first writer"
    second_level = tables["samples"].filter(level="central")
    assert set(second_level["writer"]) == {"toy-writer"} and second_level["of"].n_unique() == 3
    word_texts = tables["written"].filter(text_id=f"words/{CLIP}")
    assert dict(word_texts.select("writer", "rounds").iter_rows()) == {"toy-writer": 2, "other": 1}
    assert "other" not in str(w.review(tables, settings).tasks), "the tasks hide the writers from annotators"


def row_of(tables: w.Tables, kind: str) -> w.Row:
    return next(row for row in tables["written"].to_dicts() if row["text_id"].startswith(f"{kind}/"))


@pytest.mark.parametrize(("reply", "problem"), [
    ("A man may cut it three times.", "no_list"), (f"1. {CAPTION}\n2. {CAPTION.upper()}", "unchanged"),
])  # fmt: skip
def test_a_bad_reply_is_reported_requested_again_and_never_a_sample(pool: w.Tables, reply: str, problem: str) -> None:
    """A caption of one event equals its reordered caption, which is dropped without being a problem of the reply."""
    row = row_of(run_writer(pool, writer(reply, next_word_reply=f"1. {THREE_TIMES}")), "words")
    assert (row["rounds"], row["filter"], row["replies"][0]) == (2, "", reply)
    assert [entry.partition(":")[0] for entry in row["problems"]] == [problem]
    tables = run_writer(pool, writer(reply, events=f"1. {CAPTION}"))
    row, events = row_of(tables, "words"), row_of(tables, "events")
    assert (row["rounds"], row["text"], row["filter"]) == (4, "", problem)
    assert (events["rounds"], events["filter"], events["problems"]) == (1, "", [])
    assert tables["samples"].select("level", "filter").rows() == [("events", "unchanged")]


PROMPT_EXAMPLE = "cut a ginger three times using a knife"
LISTS: dict[str, tuple[list[tuple[str, int, list[str]]], list[str]]] = {
    "several lists": ([("words", 3, [THREE_TIMES, CAPTION, THREE_TIMES.upper(), STANDS_UP]), ("events", 1, [THREE_TIMES])], ["", "unchanged", "duplicate", "more_than_asked", "duplicate"]),
    "no words and examples": ([("words", 9, ["---", PROMPT_EXAMPLE, "A person push the eyeglasses.", THREE_TIMES])], ["no_words", "in_prompt", "in_prompt", ""]),
}  # fmt: skip


@pytest.mark.parametrize(("lists", "filters"), LISTS.values(), ids=LISTS)
def test_each_line_is_kept_or_its_filter_is_named(lists: list[tuple[str, int, list[str]]], filters: list[str]) -> None:
    rows = negative_rows(CLIP, CAPTION, [(level, "w", *entry) for level, *entry in lists], examples(PROMPTS))
    assert w.filter_names(rows) == filters and len({row["sample_id"] for row in rows}) == len(rows)
    prompt_caption_rows = negative_rows(
        CLIP, "Cut a ginger twice using a knife.", [("words", "w", 9, [PROMPT_EXAMPLE])], examples(PROMPTS)
    )
    assert w.filter_names(prompt_caption_rows) == [""], "the example is a valid negative of the prompt's caption"


CATEGORY_REPLIES = {
    "Action Type": "Action Type", "3. action type.": "Action Type",
    "Motion Direction / Orientation": "Motion Direction/Orientation", "It is the verb.": "no_category",
    "Event Order": "no_category", "Action Type or Action Order": "several_categories",
    "I'm sorry, I cannot say.": "refusal",
}  # fmt: skip


@pytest.mark.parametrize(("reply", "expected"), CATEGORY_REPLIES.items())
def test_a_reply_with_one_category_is_parsed(reply: str, expected: str) -> None:
    try:
        assert parse_category(reply, PROMPTS["category"].system) == expected
    except UnusableReplyError as error:
        assert error.problem == expected and expected not in WORD_CATEGORIES


def test_a_negative_without_a_category_is_dropped(pool: w.Tables) -> None:
    rows = {row["level"]: row for row in run_writer(pool, writer(category="I do not know."))["samples"].to_dicts()}
    assert rows["words"]["filter"] == "not_labelled" and rows["words"]["why"].startswith("no_category: ")
    assert (rows["events"]["filter"], rows["events"]["category"]) == ("", "Event Order")


def test_a_negative_of_a_negative_must_differ_from_the_caption(pool: w.Tables) -> None:
    central_reply = f"1. {CAPTION}\n2. {CHILD}\n3. {FIVE_TIMES}"
    tables = run_writer(pool, writer(f"1. {THREE_TIMES}\n2. {CHILD}", central=central_reply), central_tries=1)
    filter_by_negative = dict(tables["samples"].filter(level="central").select("negative", "filter").iter_rows())
    assert (
        filter_by_negative.pop(CAPTION) == "caption_again"
        and filter_by_negative[FIVE_TIMES] == "more_than_asked"
        and len(filter_by_negative) == 2
    )


def test_negatives_that_fit_and_negatives_of_unfit_captions_are_dropped(pool: w.Tables, tmp_path: Path) -> None:
    tables = run_writer(pool, writer())
    tasks = {task["option"]: task for task in w.review(tables, SETTINGS).tasks}
    assert {CAPTION, THREE_TIMES, STANDS_UP, FIVE_TIMES} <= tasks.keys()
    assert not any("caption" in task["task_id"] for task in tasks.values())

    def filters_after(verdict_by_text: dict[str, str], votes: int = 1) -> list[str]:
        files = [
            w.write_verdicts(tmp_path / f"{n}.csv", [tasks[text]], verdict, "ann")
            for n, (text, verdict) in enumerate(verdict_by_text.items())
        ]
        result = w.review(tables, settings_with(review={"verdicts": "-", "votes": votes}), *files)
        filters = {row["negative"]: row["filter"] for row in result.reviewed}
        assert result.problems == []
        return [filters[text] for text in (THREE_TIMES, STANDS_UP, FIVE_TIMES)]

    verdict_by_text = {CAPTION: "fits", THREE_TIMES: "does not fit", STANDS_UP: "fits"}
    assert (
        filters_after(verdict_by_text) == ["", "refused", "not_reviewed"]
        and filters_after(verdict_by_text, 2)[0] == "caption_not_reviewed"
    )
    for caption_verdict in ("does not fit", "cannot be told"):
        assert filters_after({CAPTION: caption_verdict, THREE_TIMES: "does not fit"})[:2] == ["caption_refused"] * 2


def kept_row(clip: str, start: float, negative: str, dataset: str = "COIN", **changes: Any) -> w.Row:
    return {
        "sample_id": f"{clip}/words/{negative}", "clip": clip, "dataset": dataset, "video": "v", "start_s": start,
        "end_s": start + 10, "level": "words", "caption": f"C{start:g}.", "of": "", "negative": negative,
        "category": "Others", "votes": 1, "in_favour": 1, "filter": "", "why": "",
    } | changes  # fmt: skip


def option_set_row(level: str, negative: str, original: str, filters: dict[str, str]) -> w.Row:
    sample_id = f"{level}/{original}/{negative}"
    changes = {
        "caption": "C",
        "level": level,
        "of": original,
        "sample_id": sample_id,
        "filter": filters.get(negative, ""),
    }
    return kept_row("c", 0, negative, **changes)


# Case -> the negatives that the review drops, and the chosen N1(C) or the reason why there is none.
# Caption C has the negatives N1 to N4, and N1, N2 and N3 have two negatives each.
OPTION_SET_CASES: dict[str, tuple[dict[str, str], str]] = {
    "N1 is refused": ({"N1": "refused"}, "N2"),
    "a negative of N1 is refused": ({"N1.2": "refused"}, "N2"),
    "N1 and a negative of N2 are refused": ({"N1": "refused", "N2.1": "refused"}, "N3"),
    "only N2 is refused": ({"N2": "refused"}, "N1"),
    "all candidates are refused": ({"N1": "refused", "N2": "refused", "N3": "caption_refused"}, "N1(C) was dropped: refused"),
    "too few negatives of the caption": ({"N3": "refused", "N4": "refused"}, "2 negatives of the caption are left, 3 are needed"),
    "too few negatives of each candidate": (dict.fromkeys(("N1.1", "N2.1", "N3.2"), "refused"), "1 negatives of N1(C) are left, 2 are needed"),
}  # fmt: skip


@pytest.mark.parametrize(("dropped", "expected"), OPTION_SET_CASES.values(), ids=OPTION_SET_CASES)
def test_an_option_set_uses_the_reviewed_negatives(dropped: dict[str, str], expected: str) -> None:
    rows = [option_set_row("words", f"N{n}", "C", dropped) for n in (1, 2, 3, 4)]
    rows += [option_set_row("central", f"N{n}.{m}", f"N{n}", dropped) for n in (1, 2, 3) for m in (1, 2)]
    rows_with_sets = with_option_sets(rows)
    central = [row for row in rows_with_sets if row["level"] == "central"]
    assert rows_with_sets[:4] == rows[:4]
    if expected.startswith("N") and len(expected) == 2:
        other_negatives = [
            negative for negative in ("N1", "N2", "N3", "N4") if negative != expected and negative not in dropped
        ][:2]
        [(_, texts)] = option_sets(rows_with_sets)
        assert texts == ["C", expected, *other_negatives, f"{expected}.1", f"{expected}.2"]
        not_chosen = [row for row in central if row["of"] != expected and row["filter"] != "refused"]
        assert {(row["filter"], row["why"]) for row in not_chosen} == {("other_option_set", f"N1(C) is '{expected}'")}
    else:
        rows_without_set = [row for row in central if row["filter"] == "no_option_set"]
        assert list(option_sets(rows_with_sets)) == [] and len(rows_without_set) == 6 - sum(
            "." in negative for negative in dropped
        )
        assert rows_without_set[0]["why"] == expected


def test_a_long_video_equals_the_one_derived_by_hand() -> None:
    rows = [kept_row("b", 30, "N30."), kept_row("a", 5, "N5."), kept_row("o", 12, "N12.")]
    rows += [kept_row("x", 5, "X.", "Oops"), kept_row("y", 50, "Y.", "Oops")]
    reviewed = w.build_tables("temporalbench", {"reviewed": rows})["reviewed"]
    [video] = long_videos(reviewed, SETTINGS)
    # The clip at 12 s is dropped because it overlaps the clip at 5 s. The data set Oops has no long videos.
    assert (video.start_s, video.end_s, video.clips, video.caption) == (5, 40, ("a", "b"), "C5. C30.")
    assert set(video.negatives) == {"N5. C30.", "C5. N30."}
    assert len(long_videos(reviewed, settings_with(long_negatives=1))[0].negatives) == 1
