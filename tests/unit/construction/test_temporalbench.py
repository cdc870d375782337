"""TemporalBench's making by its rules: the filters on clips, what a writer may get wrong, the review as multiple choice."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.temporalbench.release import _clip
from reprise.construction.settings import ClipColumns, ReviewSettings
from reprise.construction.temporalbench.annotated import read_clips
from reprise.construction.temporalbench.candidates import candidates
from reprise.construction.temporalbench.clips import clips
from reprise.construction.temporalbench.long_videos import long_videos
from reprise.construction.temporalbench.negatives import WORD_CATEGORIES, as_negatives, category_in
from reprise.construction.temporalbench.option_sets import option_sets, with_option_sets
from reprise.construction.temporalbench.release import short_name, with_letters
from reprise.construction.temporalbench.requests import examples
from reprise.construction.temporalbench.review import option_name, review
from reprise.construction.temporalbench.tables import REVIEWED
from reprise.core.errors import UserError
from reprise.core.schemas import table_of

from tests.unit.construction.temporalbench_worlds import (
    PROMPTS,
    Tables,
    Writer,
    annotated,
    as_tables,
    clip_row,
    facts,
    settings,
    written,
)

CLIP = "COIN/v.short-0-10"
CAPTION = clip_row("v")["caption"]
THRICE = CAPTION.replace("twice", "three times")
STANDS = CAPTION.replace("sits down", "stands up")
FIVE = THRICE.replace("three", "five")
MEASURED = facts((CLIP, 1, False))


def test_a_clip_is_dropped_by_the_first_filter_that_finds_something(tmp_path: Path) -> None:
    rows = {
        "kept": clip_row("v"),
        "other_dataset": clip_row("d", dataset="Kinetics"),
        "other_split": clip_row("s", split="train"),
        "bad_name": clip_row("../../x"),
        "no_span": clip_row("n", end=0),
        "too_long": clip_row("l", end=20.5),
        "not_available": clip_row("a"),
        "static": clip_row("t"),
        "scene_transitions": clip_row("c"),
        "no_caption": clip_row("e", caption=""),
        "unprintable": clip_row("u", caption="He sits\x00 down."),
        "long_caption": clip_row("b", caption="He sits down. " * 200),
    }
    measured = facts(*((f"COIN/{one}.short-0-10", 3 if one == "c" else 2, one == "t") for one in "vtceub"))
    files = annotated(tmp_path, *rows.values())
    assert [one.source_id for one in clips(files, settings())] == ["v", "a", "t", "c", "e", "u", "b"]
    found = candidates(files, settings(), measured)
    assert [row["filter"] or "kept" for row in found.pool] == list(rows)
    assert all(bool(row["why"]) == bool(row["filter"]) for row in found.pool)
    assert [row["text_id"] for row in found.texts] == [f"words/{CLIP}", f"events/{CLIP}"]
    strict = candidates(files, settings(transitions=0), measured).pool
    assert Counter(row["filter"] for row in strict)["scene_transitions"] == 5


def test_draws_of_each_data_set_are_before_and_after_measuring(tmp_path: Path) -> None:
    rows = [clip_row(f"v{number}", dataset=name) for name in ("COIN", "Oops") for number in range(6)]
    files, how = annotated(tmp_path, *rows), settings(measured=4, per_dataset=2)
    wanted = clips(files, how)
    assert Counter(one.unit.split("/")[0] for one in wanted) == {"COIN": 4, "Oops": 4}
    found = candidates(files, how, facts(*((one.clip_id, 1, False) for one in wanted))).pool
    assert Counter((row["dataset"], row["filter"]) for row in found) == {
        (name, what): 2 for name in ("COIN", "Oops") for what in ("not_measured", "not_drawn", "")
    }


def test_captions_come_in_files_of_their_own_and_refined_ones_count(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("v", caption=""), clip_row("w", caption=""), clip_row("u"))
    files |= annotated(tmp_path, clip_row("v", refined="Refined."), clip_row("w", caption="One."), name="b.json")
    files |= annotated(tmp_path, clip_row("w", caption="Another."), name="c.json")
    measured = facts(*((f"COIN/{one}.short-0-10", 1, False) for one in "vwu"))
    rows = {row["video"]: row for row in candidates(files, settings(), measured).pool}
    assert (rows["v"]["caption"], rows["v"]["is_refined"]) == ("Refined.", True)
    assert rows["w"]["filter"] == "two_captions" and (rows["u"]["caption"], rows["u"]["filter"]) == (
        clip_row("u")["caption"],
        "",
    )


def test_a_described_data_set_reuses_its_descriptions(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("v", dataset="FineGym", caption="Not this."))
    [row] = candidates(files, settings(), facts(("FineGym/v.short-0-10", 1, False))).pool
    assert (row["caption"], row["filter"]) == ("Somebody cooks.", "")


def test_a_benchmark_of_which_no_video_is_there_stops(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("v"), clip_row("n", end=0))
    with pytest.raises(
        UserError, match=r"not one video of its 1 clips is available, among them 'COIN/v.short-0-10'. .* missing"
    ):
        candidates(files, settings(), facts())
    nothing = candidates(annotated(tmp_path, clip_row("n", end=0)), settings(), facts())
    assert [row["filter"] for row in nothing.pool] == ["no_span"], "none of which is looked for"


def test_mistakes_in_the_annotations_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"annotations.json: column 'clip' is missing. Found: .* Correct `columns:`"):
        clips(annotated(tmp_path, clip_row("v")), settings(columns=ClipColumns(video="clip")))
    with pytest.raises(UserError, match=r"row 2: end: should be a number of seconds, found 'late'"):
        clips(annotated(tmp_path, clip_row("v", end="1"), clip_row("w", end="late")), settings())
    for caption, found in ((["He sits."], r"\['He sits.'\]"), ({"text": "He sits."}, "{'text'"), (True, "True")):
        with pytest.raises(UserError, match=rf"annotations.json: row 1: caption: should be a text, found {found}"):
            clips(annotated(tmp_path, clip_row("v", caption=caption)), settings())
    with pytest.raises(UserError, match="no clips in annotations.csv"):
        path = tmp_path / "annotations.csv"
        path.write_text(",".join(clip_row("v")) + "\n")
        clips({path.name: path}, settings())


def writer(
    words: str = f"1. {THRICE}\n2. {STANDS}", then: str | None = None, category: str = "Action Frequency"
) -> Writer:
    """Replies by what is asked: negatives, the other order, a category, negatives of the negative."""
    asked: Counter[str] = Counter()

    def reply(one: dict[str, Any]) -> str:
        kind = one["item_id"].partition("/")[0]
        asked[kind] += 1
        if kind == "words":
            return words if asked[kind] == 1 or then is None else then
        if kind == "central":
            return "1. " + FIVE + "\n2. " + FIVE.replace("five", "six")
        return category if kind == "category" else "1. First he sits down, then he cuts a potato twice."

    return reply


def chain(tmp_path: Path, one: Writer, **changes: Any) -> Tables:
    return written(annotated(tmp_path, clip_row("v")), MEASURED, one, settings(**changes))


def row_of(made: Tables, kind: str) -> dict[str, Any]:
    return next(row for row in made["written"].iter_rows(named=True) if row["text_id"].startswith(f"{kind}/"))


PROMPT = PROMPTS["words"]
BAD = {
    "prose": ("A man may cut it three times.", "no_list"),
    "a trailing comma": (f'["{THRICE}", "{STANDS}",]', "broken_json"),
    "the prompt repeated": (PROMPT.system, "prompt_repeated"),
    "a refusal": ("I'm sorry, I can't write false captions.", "refusal"),
    "nothing": ("", "empty"),
    "control characters": (f"1. {THRICE}\x00", "unprintable"),
    "the positive unchanged": (f"1. {CAPTION}\n2. {CAPTION.upper()}", "unchanged"),
}


@pytest.mark.parametrize(("reply", "problem"), BAD.values(), ids=BAD)
def test_a_bad_reply_is_named_and_asked_again(tmp_path: Path, reply: str, problem: str) -> None:
    row = row_of(chain(tmp_path, writer(reply, then=f"1. {THRICE}")), "words")
    assert (row["rounds"], row["filter"], row["replies"][0]) == (2, "", reply)
    assert [one.partition(":")[0] for one in row["problems"]] == [problem]


@pytest.mark.parametrize(("reply", "problem"), BAD.values(), ids=BAD)
def test_a_reply_that_stays_bad_becomes_no_sample(tmp_path: Path, reply: str, problem: str) -> None:
    made = chain(tmp_path, writer(reply))
    row = row_of(made, "words")
    assert (row["rounds"], row["text"], row["filter"]) == (4, "", problem)
    assert set(made["samples"]["level"]) == {"events"}


def test_one_event_has_no_other_order_and_is_not_asked_again(tmp_path: Path) -> None:
    """The prompt asks for the caption itself there; it is dropped by name, and the reply is no mistake."""
    made = chain(tmp_path, lambda one: f"1. {CAPTION}" if one["item_id"].startswith("events/") else writer()(one))
    row = row_of(made, "events")
    assert (row["rounds"], row["filter"], row["problems"]) == (1, "", [])
    assert set(made["samples"].filter(level="events")["filter"]) == {"unchanged"}


def test_a_json_list_and_other_marks_are_read_too(tmp_path: Path) -> None:
    for reply in (
        json.dumps([THRICE, STANDS]),
        f"```json\n{json.dumps([THRICE, STANDS])}\n```",
        f"- {THRICE}\n* {STANDS}",
    ):
        made = chain(tmp_path, writer(reply))
        rows = made["samples"].filter((pl.col("level") == "words") & (pl.col("filter") == ""))
        assert set(rows["negative"]) == {THRICE, STANDS}


def test_each_line_is_kept_or_named() -> None:
    lists = [("words", 3, [THRICE, CAPTION, THRICE.upper(), STANDS]), ("events", 1, [THRICE])]
    found = as_negatives(CLIP, CAPTION, lists)
    assert [row["filter"] for row in found] == ["", "unchanged", "duplicate", "more_than_asked", "duplicate"]
    assert len({row["sample_id"] for row in found}) == len(found)


def test_a_line_without_words_and_an_example_of_the_prompt_are_no_negatives() -> None:
    known = examples(PROMPTS)
    shown = "cut a ginger three times using a knife"
    rows = as_negatives(CLIP, CAPTION, [("words", 9, ["---", shown, "A person push the eyeglasses.", THRICE])], known)
    assert [row["filter"] for row in rows] == ["no_words", "in_prompt", "in_prompt", ""]
    own = as_negatives(CLIP, "Cut a ginger twice using a knife.", [("words", 9, [shown])], known)
    assert [row["filter"] for row in own] == [""]


def test_the_same_line_twice_has_two_ids() -> None:
    found = as_negatives(CLIP, CAPTION, [("words", 9, [THRICE, THRICE])])
    assert [row["filter"] for row in found] == ["", "duplicate"] and len({row["sample_id"] for row in found}) == 2


def test_limits_stand_in_the_prompts(tmp_path: Path) -> None:
    prompts: list[str] = []

    def reply(one: dict[str, Any]) -> str:
        prompts.append(f"{one['item_id'].partition('/')[0]}: {one['prompt']}")
        return writer()(one)

    chain(tmp_path, reply)
    counts = {one.partition(":")[0]: int(one.split("at most ")[1].split()[0]) for one in prompts if "at most" in one}
    assert counts == {"words": 9, "events": 6, "central": 2}
    assert all(prompt.count("\n1. ") == 3 for prompt in prompts if prompt.startswith(("words", "events", "central")))


CATEGORIES_SAID = {
    "alone": ("Action Type", "Action Type", ""),
    "with its number": ("3. action type.", "Action Type", ""),
    "with a slash": ("Motion Direction / Orientation", "Motion Direction/Orientation", ""),
    "none": ("It is the verb.", "", "no_category"),
    "of events": ("Event Order", "", "no_category"),
    "two": ("Action Type or Action Order", "", "several_categories"),
    "refused": ("I'm sorry, I cannot say.", "", "refusal"),
}


@pytest.mark.parametrize(("reply", "category", "problem"), CATEGORIES_SAID.values(), ids=CATEGORIES_SAID)
def test_one_category_is_read(reply: str, category: str, problem: str) -> None:
    found = category_in(reply, PROMPTS["category"].system)
    assert (found.text, found.problem) == (category, problem)
    assert len(WORD_CATEGORIES) == 7


def test_a_negative_without_a_category_is_dropped(tmp_path: Path) -> None:
    made = chain(tmp_path, writer(category="I do not know."))
    rows = {row["level"]: row for row in made["samples"].iter_rows(named=True)}
    assert rows["words"]["filter"] == "not_labelled" and rows["words"]["why"].startswith("no_category: ")
    assert (rows["events"]["filter"], rows["events"]["category"]) == ("", "Event Order")


def test_negatives_of_a_negative_do_not_lead_back(tmp_path: Path) -> None:
    made = chain(tmp_path, writer(f"1. {THRICE}"))
    of = {row["negative"]: row for row in made["samples"].iter_rows(named=True) if row["level"] == "central"}
    assert {row["of"] for row in of.values()} == {THRICE} and all(not row["filter"] for row in of.values())

    def back(one: dict[str, Any]) -> str:
        return f"1. {CAPTION}\n2. {FIVE}" if one["item_id"].startswith("central/") else writer(f"1. {THRICE}")(one)

    rows = chain(tmp_path, back)["samples"].filter(pl.col("level") == "central").to_dicts()
    assert {row["negative"]: row["filter"] for row in rows} == {CAPTION: "caption_again", FIVE: ""}


NAMES = {
    "nowhere": "",
    "a folder above": "../x",
    "an absolute path": "/etc/passwd",
    "a folder": "a/b",
    "dots": "..",
    "NUL": "v\x00",
    "too long for a file": "v" * 300,
}


@pytest.mark.parametrize("video", NAMES.values(), ids=NAMES)
def test_a_video_s_name_leaves_no_folder(tmp_path: Path, video: str) -> None:
    files = annotated(tmp_path, clip_row(video))
    assert clips(files, settings()) == []
    assert [row["filter"] for row in candidates(files, settings(), MEASURED).pool] == ["bad_name"]


def test_spans_that_differ_in_the_seventh_digit_have_names_of_their_own(tmp_path: Path) -> None:
    spans = [(12345.671, 12350), (12345.672, 12350), (12345.672, 12350.5), (0.0000001, 5)]
    files = annotated(tmp_path, *(clip_row("v", start=start, end=end) for start, end in spans))
    found = clips(files, settings())
    assert [one.clip_id for one in found] == [
        "COIN/v.short-12345.671-12350",
        "COIN/v.short-12345.672-12350",
        "COIN/v.short-12345.672-12350.5",
        "COIN/v.short-0.0000001-5",
    ]
    names = [short_name(one._asdict()) for one in read_clips(files, settings())]
    read = [_clip(name, "short", "here", "ids") for name in names]
    assert [(one.clip_id, one.start_s, one.end_s) for one in read] == [
        (one.clip_id, *span) for one, span in zip(found, spans, strict=True)
    ]


def said(tmp_path: Path, made: Tables, *verdicts: tuple[str, str, str]) -> Path:
    """Verdicts of people: who, on which text, what."""
    tasks = {row["task_id"]: row for row in review(made, [], settings()).tasks}
    path = tmp_path / "verdicts.csv"
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["task_id", "digest", "reviewer", "verdict"])
        for who, text, verdict in verdicts:
            name = option_name(CLIP, text)
            out.writerow([name, tasks[name]["digest"], who, verdict])
    return path


def filters(made: Tables, path: Path, votes: int = 1) -> dict[str, str]:
    done = review(made, [path], settings(review=ReviewSettings(verdicts="-", votes=votes)))
    assert done.problems == []
    return {row["negative"]: row["filter"] for row in done.reviewed}


def test_a_negative_that_fits_too_is_dropped(tmp_path: Path) -> None:
    made = chain(tmp_path, writer())
    path = said(tmp_path, made, ("ann", CAPTION, "fits"), ("ann", THRICE, "does not fit"), ("ann", STANDS, "fits"))
    found = filters(made, path)
    assert (found[THRICE], found[STANDS], found[FIVE]) == ("", "refused", "not_reviewed")
    assert filters(made, path, votes=2)[THRICE] == "caption_not_reviewed"


def test_a_caption_that_does_not_fit_takes_its_negatives_with_it(tmp_path: Path) -> None:
    made = chain(tmp_path, writer())
    for verdict in ("does not fit", "cannot be told"):
        found = filters(made, said(tmp_path, made, ("ann", CAPTION, verdict), ("ann", THRICE, "does not fit")))
        assert found[THRICE] == found[STANDS] == "caption_refused"


def reviewed_row(clip: str, start: float, negative: str, dataset: str = "COIN") -> dict[str, Any]:
    return {
        "sample_id": f"{clip}/words/{negative}", "clip": clip, "dataset": dataset, "video": "v", "start_s": start,
        "end_s": start + 10, "level": "words", "caption": f"C{start:g}.", "of": "", "negative": negative, "category": "Others",
        "votes": 1, "in_favour": 1, "filter": "", "why": "",
    }  # fmt: skip


def set_row(level: str, negative: str, of: str = "C", dropped: str = "") -> dict[str, Any]:
    row = reviewed_row("c", 0, negative) | {"sample_id": f"{level}/{of}/{negative}", "level": level, "of": of}
    return row | {"caption": "C", "filter": dropped, "why": dropped}


WORDS4 = [set_row("words", one) for one in ("N1", "N2", "N3", "N4")]
AGAIN = [set_row("central", f"{one}.{number}", of=one) for one in ("N1", "N2", "N3") for number in (1, 2)]


def without(rows: list[dict[str, Any]], **filters: str) -> list[dict[str, Any]]:
    return [row | {"filter": filters.get(row["negative"].replace(".", "_"), "")} for row in rows]


BROKEN: dict[str, tuple[dict[str, str], str]] = {
    "nothing": ({}, "N1"),
    "N1(C) is refused": ({"N1": "refused"}, "N2"),
    "a negative of it is refused": ({"N1_2": "refused"}, "N2"),
    "two are": ({"N1": "refused", "N2_1": "refused"}, "N3"),
    "another negative is refused": ({"N2": "refused"}, "N1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_review_breaks_is_made_of_the_next_negative(name: str) -> None:
    """Worked out by hand: C has N1 to N4, and two negatives of each of the first three."""
    filters_by_hand, first = BROKEN[name]
    rows = with_option_sets(without([*WORDS4, *AGAIN], **filters_by_hand))
    [(_, texts)] = option_sets(rows)
    others = [one for one in ("N1", "N2", "N3", "N4") if one != first and one not in filters_by_hand][:2]
    assert texts == ["C", first, *others, f"{first}.1", f"{first}.2"]
    dropped = [row for row in rows if row["level"] == "central" and row["of"] != first]
    assert all(row["filter"] in ("refused", "other_option_set") for row in dropped)
    assert all(f"N1(C) is '{first}'" in row["why"] for row in dropped if row["filter"] == "other_option_set")


NO_SETS = {
    "all are refused": ({"N1": "refused", "N2": "refused", "N3": "caption_refused"}, "N1(C) was dropped: refused"),
    "too few others": ({"N3": "refused", "N4": "refused"}, "2 negatives of the caption are left, 3 are needed"),
    "too few of each": (
        dict.fromkeys(("N1_1", "N2_1", "N3_2"), "refused"),
        "1 negatives of N1(C) are left, 2 are needed",
    ),
}


@pytest.mark.parametrize("name", NO_SETS)
def test_an_option_set_that_a_review_breaks_is_named(name: str) -> None:
    filters_by_hand, why = NO_SETS[name]
    rows = with_option_sets(without([*WORDS4, *AGAIN], **filters_by_hand))
    assert list(option_sets(rows)) == []
    named = [row for row in rows if row["level"] == "central" and row["filter"] == "no_option_set"]
    assert len(named) == 6 - sum("_" in one for one in filters_by_hand)
    assert named[0]["why"] == why
    assert [row for row in rows if row["level"] == "words"] == without(WORDS4, **filters_by_hand)


def test_several_negatives_are_asked_about_before_the_review_speaks(tmp_path: Path) -> None:
    made = chain(tmp_path, writer(f"1. {THRICE}\n2. {STANDS}\n3. {THRICE.replace('man', 'child')}"))
    asked = [row for row in made["written"].iter_rows(named=True) if row["text_id"].startswith("central/")]
    assert len(asked) == 3 and not any(row["filter"] for row in asked)
    rows = made["samples"].filter(pl.col("level") == "central")
    assert rows["of"].n_unique() == 3 and rows["sample_id"].n_unique() == rows.height == 6
    one = chain(tmp_path, writer(), central_tries=1)["samples"].filter(pl.col("level") == "central")
    assert one["of"].n_unique() == 1


def test_people_do_not_see_which_option_is_true_and_are_asked_for_captions(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("v"), clip_row("w", caption=""))
    made = written(files, facts((CLIP, 1, False), ("COIN/w.short-0-10", 1, False)), writer(), settings())
    tasks = review(made, [], settings()).tasks
    options = [task for task in tasks if task["option"]]
    assert {task["choices"] for task in options} == {"fits | does not fit | cannot be told"}
    assert {CAPTION, THRICE, STANDS} <= {task["option"] for task in options}
    assert all(task["task_id"].startswith(f"{CLIP}/") and "caption" not in task["task_id"] for task in options)
    assert [task["task_id"] for task in tasks if not task["option"]] == ["caption/COIN/w.short-0-10"]


def test_a_long_video_worked_out_by_hand() -> None:
    rows = [reviewed_row("b", 30, "N30."), reviewed_row("a", 5, "N5."), reviewed_row("o", 12, "N12.")]
    rows += [reviewed_row("x", 5, "X.", dataset="Oops"), reviewed_row("y", 50, "Y.", dataset="Oops")]
    [one] = long_videos(table_of(rows, REVIEWED), settings())
    # the clip from 12 s begins before the first one ends; Oops has no long videos
    assert (one.start_s, one.end_s, one.clips, one.caption) == (5, 40, ("a", "b"), "C5. C30.")
    assert set(one.negatives) == {"N5. C30.", "C5. N30."}
    assert len(long_videos(table_of(rows, REVIEWED), settings(long_negatives=1))[0].negatives) == 1


def test_letters_are_balanced_and_stay() -> None:
    entries = [{"idx": str(number), "captions": ("true", "false")} for number in range(41)]
    found = with_letters([dict(one) for one in entries], 0)
    assert Counter(one["GT"] for one in found) == {"A": 20, "B": 21}
    assert all(("A. true" in one["question"]) == (one["GT"] == "A") for one in found)
    assert with_letters([dict(one) for one in entries[::-1]], 0)[::-1] == found


def test_empty_tables_count_nothing(tmp_path: Path) -> None:
    from reprise.construction.temporalbench.statistics import statistics

    made = chain(tmp_path, writer())
    empty = {name: table.clear() for name, table in made.items()} | as_tables({"reviewed": []})
    assert {row["ours"] for row in statistics(empty, settings())} <= {None, 0, 1}
