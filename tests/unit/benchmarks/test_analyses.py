"""Test the groups of the analyses and their scores on examples by hand."""

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

from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import verdict_row


def add_groups(
    benchmark: str, items: Sequence[Item], metadata_by_clip: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    analyses = load_analyses(benchmark)
    assert analyses is not None
    table = pl.DataFrame(
        [{"clip_id": clip_id, **metadata} for clip_id, metadata in metadata_by_clip.items()], schema=CLIP_METADATA
    )
    return add_analysis_groups(Annotations([], items).to_tables()[1], table, analyses)


def compute_values(
    benchmark: str, form: str, items: pl.DataFrame, verdicts: Any
) -> dict[tuple[str, str], tuple[Any, int]]:
    measures = BenchmarkPipeline(benchmark).numbers(form, items, verdicts)
    return {key: (measure.value, measure.requested) for key, measure in measures.items()}


def test_questions_of_temporalbench_are_grouped_by_the_words_of_the_correct_caption() -> None:
    lengths = {"a": 20, "b": 21, "c": 30}
    texts = {name: {"question": "?", "A": "word " * word_count, "B": "other"} for name, word_count in lengths.items()}
    items = [Item(name, f"{name}.short", name, "short", captions, "A", ["short"]) for name, captions in texts.items()]
    table = add_groups("temporalbench", items, {})
    assert [groups[1:] for groups in table["groups"].to_list()] == [["words_to_20"], ["words_to_40"], ["words_to_40"]]
    values = compute_values(
        "temporalbench", "short", table, [verdict_row(f"{name}#", right=name != "b") for name in lengths]
    )
    assert values["ba", "words_to_20"] == (100.0, 1) and values["ba", "words_to_40"] == (50.0, 2)
    assert ("ba", "words_above_80") not in values


def test_pairs_of_vinoground_are_grouped_by_their_longer_video_and_their_black_share() -> None:
    clips = [("text", "pos", "pos"), ("text", "neg", "neg"), ("video", "pos", "pn"), ("video", "neg", "np")]
    items = [
        Item(f"{pair}/{task}/{half}", f"{pair}.{clip}", pair, task, {}, "A", tags=[Tag("half", half)], pair=pair)
        for pair in ("short", "long", "unknown")
        for task, half, clip in clips
    ]
    metadata_by_clip = {"unknown.pos": {"duration_s": 3.0}}
    for pair, longest, black in (("short", 5.0, 0.05), ("long", 12.0, 0.3)):
        metadata_by_clip |= {f"{pair}.pos": {"duration_s": 1.0}, f"{pair}.neg": {"duration_s": longest}}
        metadata_by_clip |= {f"{pair}.{clip}": {"duration_s": 30.0, "black_share": black} for clip in ("pn", "np")}
    grouped_items = add_groups("vinoground", items, metadata_by_clip)
    assert dict(grouped_items.select("pair", "groups").iter_rows()) == {
        "short": ["length_to_5", "black_to_10"], "long": ["length_to_20", "black_above_20"], "unknown": [],
    }  # fmt: skip
    verdicts = [
        verdict_row(f"{item.item_id}#{item.task}_{item.get_tag_text('half')}", right=item.pair == "long")
        for item in items
    ]
    scores = compute_values("vinoground", "questions", grouped_items, verdicts)
    assert scores["group", "length_to_20"] == (100.0, 1) and scores["group", "black_to_10"] == (0.0, 1)
    assert scores["group", "all"] == (pytest.approx(100 / 3), 3)


@pytest.mark.parametrize(("question", "kind"), [
    ("What is he doing?", "what"), ("In the video, how many cars pass?", "how"), ("Were there dogs?", "is_are"),
    ("Did they win?", "does_do"), ("At WHAT time?", "what"), ("Tell me the score.", "other_type"), ("", "other_type"),
])  # fmt: skip
def test_the_first_question_word_is_the_type_of_a_question(question: str, kind: str) -> None:
    assert classify_question(question) == kind


def make_question(name: str, question: str, *leaves: str) -> Item:
    texts, tags = {"question": question, "subtitles": ""}, [Tag("leaf", leaf) for leaf in leaves]
    return Item(name, f"{name}.whole", name, "Sports", texts, "x", ["mmbench_video", "fp_s"], tags)


def test_ratings_are_grouped_by_leaf_duration_shots_and_type() -> None:
    items = [
        make_question("a", "What?", "OCR", "Counting"),
        make_question("b", "Who?", "OCR"),
        make_question("c", "What then?", "Counting"),
    ]
    metadata_by_clip = {"a.whole": {"duration_s": 60.0, "shots": 51}, "b.whole": {"duration_s": 61.0, "shots": 1}}
    verdicts = [
        verdict_row(f"{name}#", right=True, score=score) for name, score in (("a", 3.0), ("b", 1.0), ("c", 0.0))
    ]
    values = compute_values("mmbench_video", "unpacked", add_groups("mmbench_video", items, metadata_by_clip), verdicts)
    expected = {
        "ocr": (2.0, 2), "counting": (1.5, 2), "what": (1.5, 2), "seconds_to_60": (3.0, 1), "seconds_to_120": (1.0, 1),
        "shots_above_50": (3.0, 1), "shots_to_10": (1.0, 1), "overall": (pytest.approx(4 / 3), 3),
    }  # fmt: skip
    assert {group: values["mean", group] for group in expected} == expected
    assert len(set(LEAF_GROUPS.values())) == 26


def test_groups_without_clip_metadata_are_assigned(tmp_path: Path) -> None:
    """Questions about other sets of videos have only a question type."""
    set_groups = ["sets", "sets_0_to_5", "msvd"]
    items = [make_question("a", "Who?", "OCR"), make_question("m", "Who runs?")._replace(groups=set_groups)]
    write_table(Annotations([], items).to_tables()[1], tmp_path / "items.parquet", ITEMS)
    grouped_items = read_analysed_items("mmbench_video", tmp_path / "items.parquet", [])
    assert grouped_items["groups"].to_list() == [["mmbench_video", "fp_s", "ocr", "who"], [*set_groups, "who"]]
    assert "texts" not in grouped_items.columns
