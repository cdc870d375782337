"""The groups of the analyses, and their scores, against samples worked out by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.analysing import Range, range_of, with_analysed_groups
from reprise.benchmarks.mmbench_video.analyses import LEAF_GROUPS, question_type
from reprise.benchmarks.registry import benchmark_names, load_analyses, load_scores
from reprise.benchmarks.rows import Annotations, Item, Tag
from reprise.core.schemas import FACTS, ITEMS, VERDICTS, write_table
from reprise.stages.metrics import analysed_items, measured

from tests.unit.rows import verdict_row


def items_table(items: Sequence[Item]) -> pl.DataFrame:
    return Annotations([], items).tables()[1]


def facts_table(facts: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([{"clip_id": clip, **known} for clip, known in facts.items()], schema=FACTS)


def analysed(benchmark: str, items: Sequence[Item], facts: Mapping[str, Mapping[str, Any]] | None) -> pl.DataFrame:
    analyses = load_analyses(benchmark)
    assert analyses is not None
    return with_analysed_groups(items_table(items), None if facts is None else facts_table(facts), analyses)


def values(
    benchmark: str, form: str, items: pl.DataFrame, verdicts: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], tuple[float | None, int]]:
    found = measured(load_scores(benchmark), form, items, pl.DataFrame(verdicts, schema=VERDICTS), 0.95, "fixed")
    return {(one.metric, one.group): (one.value, one.asked) for one in found}


@pytest.mark.parametrize(
    ("number", "found"), [(0, []), (5, ["low"]), (5.01, ["high"]), (1e9, ["high"]), (None, []), (float("nan"), [])]
)
def test_a_number_is_in_the_range_whose_end_it_does_not_pass(number: float | None, found: list[str]) -> None:
    assert [*range_of(number, [Range("low", 0, 5), Range("high", 5)])] == found


@pytest.mark.parametrize("benchmark", benchmark_names())
def test_every_group_of_an_analysis_is_one_that_a_table_may_show(benchmark: str) -> None:
    analyses = load_analyses(benchmark)
    assert analyses is not None and analyses.groups <= set(load_scores(benchmark).GROUPS)


def test_a_facet_is_the_plain_mean_of_its_tests() -> None:
    """One of two, none of one, and one of one right: the mean of 50, 0 and 100, whatever the sizes."""
    right = {"agent_random": [True, False], "agent_bind": [False], "coref": [True], "action_adv": [True]}
    items = [
        Item(f"{test}/{n}", f"{test}{n}.0-10", f"{test}{n}", test, {"positive": "p", "negative": "n"})
        for test, answers in right.items()
        for n, _ in enumerate(answers)
    ]
    verdicts = [
        verdict_row(f"{test}/{n}#{role}", right=is_right)
        for test, answers in right.items()
        for n, is_right in enumerate(answers)
        for role in ("pos", "neg")
    ]
    found = values("velociti", "entail", analysed("velociti", items, None), verdicts)
    assert found["strict", "agent"] == (50.0, 4)
    assert found["strict", "text_negation"] == (75.0, 3)  # the mean of 50 and 100
    assert found["strict", "video_negation"][0] is None  # of one of its tests nothing was asked
    assert found["strict", "action"][0] is None


def test_questions_of_temporalbench_count_by_the_words_of_their_right_caption() -> None:
    def item(name: str, words: int, task: str = "short") -> Item:
        texts = {"question": "?", "A": "word " * words, "B": "other"}
        return Item(f"{task}/{name}", f"{name}.short", name, task, texts, answer="A", groups=[task])

    items = analysed("temporalbench", [item("a", 20), item("b", 21), item("c", 30), item("d", 90, "long")], None)
    assert items["groups"].to_list() == [
        ["short", "words_to_20"],
        ["short", "words_to_40"],
        ["short", "words_to_40"],
        ["long"],
    ]
    verdicts = [verdict_row(f"short/{name}#", right=name != "b") for name in "abc"]
    found = values("temporalbench", "short", items.filter(task="short"), verdicts)
    assert found["ba", "words_to_20"] == (100.0, 1) and found["ba", "words_to_40"] == (50.0, 2)
    assert ("ba", "words_above_80") not in found


def test_pairs_of_vinoground_count_by_their_longer_video_and_their_black() -> None:
    def pair(unit: str) -> list[Item]:
        clips = [("text", "pos", "pos"), ("text", "neg", "neg"), ("video", "pos", "pn"), ("video", "neg", "np")]
        return [
            Item(f"{unit}/{task}/{half}", f"{unit}.{clip}", unit, task, {}, "A", tags=[Tag("half", half)])
            for task, half, clip in clips
        ]

    def facts(unit: str, longest: float, black: float) -> dict[str, dict[str, float]]:
        lengths = {f"{unit}.pos": {"duration_s": 1.0}, f"{unit}.neg": {"duration_s": longest}}
        return lengths | {f"{unit}.{clip}": {"duration_s": 30.0, "black_share": black} for clip in ("pn", "np")}

    items = [*pair("short"), *pair("long"), *pair("unknown")]
    found = analysed(
        "vinoground", items, facts("short", 5.0, 0.05) | facts("long", 12.0, 0.3) | {"unknown.pos": {"duration_s": 3.0}}
    )
    groups = {row["unit"]: row["groups"] for row in found.iter_rows(named=True)}
    assert groups == {
        "short": ["length_to_5", "black_to_10"],
        "long": ["length_to_20", "black_above_20"],
        "unknown": [],
    }
    verdicts = [
        verdict_row(f"{item.item_id}#{item.task}_{item.tag('half')}", right=item.unit == "long") for item in items
    ]
    scores = values("vinoground", "questions", found, verdicts)
    assert scores["group", "length_to_20"] == (100.0, 1) and scores["group", "black_to_10"] == (0.0, 1)
    assert scores["group", "all"] == (pytest.approx(100 / 3), 3)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is he doing?", "what"), ("In the video, how many cars pass?", "how"), ("Is the sky blue?", "is_are"),
        ("Were there dogs?", "is_are"), ("Did they win?", "does_do"), ("At WHAT time?", "what"), ("Tell me the score.", "other_type"),
        ("", "other_type"),
    ],
)  # fmt: skip
def test_the_first_word_that_asks_is_the_type_of_a_question(question: str, kind: str) -> None:
    assert question_type(question) == kind


def test_ratings_by_leaf_duration_shots_and_type() -> None:
    def item(name: str, question: str, leaves: Sequence[str]) -> Item:
        tags = [Tag("leaf", leaf) for leaf in leaves]
        return Item(
            name,
            f"{name}.whole",
            name,
            "Sports",
            {"question": question, "subtitles": ""},
            "x",
            ["mmbench_video", "fp_s"],
            tags,
        )

    items = [item("a", "What?", ["OCR", "Counting"]), item("b", "Who?", ["OCR"]), item("c", "What then?", ["Counting"])]
    facts = {"a.whole": {"duration_s": 60.0, "shots": 51}, "b.whole": {"duration_s": 61.0, "shots": 1}}
    table = analysed("mmbench_video", items, facts)
    verdicts = [
        verdict_row(f"{name}#", right=True, score=score) for name, score in (("a", 3.0), ("b", 1.0), ("c", 0.0))
    ]
    found = values("mmbench_video", "unpacked", table, verdicts)
    assert (
        found["mean", "ocr"] == (2.0, 2) and found["mean", "counting"] == (1.5, 2) and found["mean", "what"] == (1.5, 2)
    )
    assert found["mean", "seconds_to_60"] == (3.0, 1) and found["mean", "seconds_to_120"] == (1.0, 1)
    assert found["mean", "shots_above_50"] == (3.0, 1) and found["mean", "shots_to_10"] == (1.0, 1)
    assert found["mean", "overall"] == (pytest.approx(4 / 3), 3)
    assert len(set(LEAF_GROUPS.values())) == 26


def test_without_facts_what_needs_none_is_analysed(tmp_path: Path) -> None:
    item = Item(
        "a",
        "a.whole",
        "a",
        "Sports",
        {"question": "Who?", "subtitles": ""},
        "x",
        ["mmbench_video"],
        [Tag("leaf", "OCR")],
    )
    write_table(items_table([item]), tmp_path / "items.parquet", ITEMS)
    found = analysed_items("mmbench_video", tmp_path / "items.parquet", [])
    assert found["groups"].to_list() == [["mmbench_video", "ocr", "who"]] and "texts" not in found.columns


def test_questions_about_other_sets_have_a_type_and_nothing_else() -> None:
    groups = ["sets", "sets_0_to_5", "msvd"]
    item = Item("msvd/1", "msvd-a.whole", "msvd-a", "msvd", {"question": "Who runs?", "subtitles": ""}, "a man", groups)
    table = analysed("mmbench_video", [item], {"msvd-a.whole": {"duration_s": 9.0, "shots": 1}})
    assert table["groups"].to_list() == [[*groups, "who"]]
