"""The groups of the analyses, and their scores, against samples worked out by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.annotations import Annotations, Item, Tag
from reprise.benchmarks.mmbench_video.analyses import LEAF_GROUPS, classify_question
from reprise.benchmarks.registry import load_analyses
from reprise.benchmarks.scoring import add_analysis_groups
from reprise.core.schemas import CLIP_METADATA, ITEMS, write_table
from reprise.stages.metrics import read_analysed_items

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import verdict_row


def analysed(benchmark: str, items: Sequence[Item], facts: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    analyses = load_analyses(benchmark)
    assert analyses is not None
    table = pl.DataFrame([{"clip_id": clip, **known} for clip, known in facts.items()], schema=CLIP_METADATA)
    return add_analysis_groups(Annotations([], items).to_tables()[1], table, analyses)


def values(benchmark: str, form: str, items: pl.DataFrame, verdicts: Any) -> dict[tuple[str, str], tuple[Any, int]]:
    found = Whole(benchmark).numbers(form, items, verdicts)
    return {place: (one.value, one.requested) for place, one in found.items()}


def test_questions_of_temporalbench_count_by_the_words_of_their_right_caption() -> None:
    lengths = {"a": 20, "b": 21, "c": 30}
    texts = {name: {"question": "?", "A": "word " * words, "B": "other"} for name, words in lengths.items()}
    items = [Item(name, f"{name}.short", name, "short", said, "A", ["short"]) for name, said in texts.items()]
    table = analysed("temporalbench", items, {})
    assert [groups[1:] for groups in table["groups"].to_list()] == [["words_to_20"], ["words_to_40"], ["words_to_40"]]
    found = values("temporalbench", "short", table, [verdict_row(f"{name}#", right=name != "b") for name in lengths])
    assert found["ba", "words_to_20"] == (100.0, 1) and found["ba", "words_to_40"] == (50.0, 2)
    assert ("ba", "words_above_80") not in found


def test_pairs_of_vinoground_count_by_their_longer_video_and_their_black() -> None:
    clips = [("text", "pos", "pos"), ("text", "neg", "neg"), ("video", "pos", "pn"), ("video", "neg", "np")]
    items = [
        Item(f"{unit}/{task}/{half}", f"{unit}.{clip}", unit, task, {}, "A", tags=[Tag("half", half)])
        for unit in ("short", "long", "unknown")
        for task, half, clip in clips
    ]
    facts = {"unknown.pos": {"duration_s": 3.0}}
    for unit, longest, black in (("short", 5.0, 0.05), ("long", 12.0, 0.3)):
        facts |= {f"{unit}.pos": {"duration_s": 1.0}, f"{unit}.neg": {"duration_s": longest}}
        facts |= {f"{unit}.{clip}": {"duration_s": 30.0, "black_share": black} for clip in ("pn", "np")}
    found = analysed("vinoground", items, facts)
    assert dict(found.select("cluster", "groups").iter_rows()) == {
        "short": ["length_to_5", "black_to_10"], "long": ["length_to_20", "black_above_20"], "unknown": [],
    }  # fmt: skip
    verdicts = [
        verdict_row(f"{one.item_id}#{one.task}_{one.tag('half')}", right=one.cluster == "long") for one in items
    ]
    scores = values("vinoground", "questions", found, verdicts)
    assert scores["group", "length_to_20"] == (100.0, 1) and scores["group", "black_to_10"] == (0.0, 1)
    assert scores["group", "all"] == (pytest.approx(100 / 3), 3)


@pytest.mark.parametrize(("question", "kind"), [
    ("What is he doing?", "what"), ("In the video, how many cars pass?", "how"), ("Were there dogs?", "is_are"),
    ("Did they win?", "does_do"), ("At WHAT time?", "what"), ("Tell me the score.", "other_type"), ("", "other_type"),
])  # fmt: skip
def test_the_first_question_word_is_the_type_of_a_question(question: str, kind: str) -> None:
    assert classify_question(question) == kind


def asked(name: str, question: str, *leaves: str) -> Item:
    texts, tags = {"question": question, "subtitles": ""}, [Tag("leaf", leaf) for leaf in leaves]
    return Item(name, f"{name}.whole", name, "Sports", texts, "x", ["mmbench_video", "fp_s"], tags)


def test_ratings_by_leaf_duration_shots_and_type() -> None:
    items = [asked("a", "What?", "OCR", "Counting"), asked("b", "Who?", "OCR"), asked("c", "What then?", "Counting")]
    facts = {"a.whole": {"duration_s": 60.0, "shots": 51}, "b.whole": {"duration_s": 61.0, "shots": 1}}
    verdicts = [
        verdict_row(f"{name}#", right=True, score=score) for name, score in (("a", 3.0), ("b", 1.0), ("c", 0.0))
    ]
    found = values("mmbench_video", "unpacked", analysed("mmbench_video", items, facts), verdicts)
    expected = {
        "ocr": (2.0, 2), "counting": (1.5, 2), "what": (1.5, 2), "seconds_to_60": (3.0, 1), "seconds_to_120": (1.0, 1),
        "shots_above_50": (3.0, 1), "shots_to_10": (1.0, 1), "overall": (pytest.approx(4 / 3), 3),
    }  # fmt: skip
    assert {group: found["mean", group] for group in expected} == expected
    assert len(set(LEAF_GROUPS.values())) == 26


def test_groups_without_clip_metadata_are_assigned(tmp_path: Path) -> None:
    """Questions about other sets have a type and nothing else."""
    other = ["sets", "sets_0_to_5", "msvd"]
    items = [asked("a", "Who?", "OCR"), asked("m", "Who runs?")._replace(groups=other)]
    write_table(Annotations([], items).to_tables()[1], tmp_path / "items.parquet", ITEMS)
    found = read_analysed_items("mmbench_video", tmp_path / "items.parquet", [])
    assert found["groups"].to_list() == [["mmbench_video", "fp_s", "ocr", "who"], [*other, "who"]]
    assert "texts" not in found.columns
