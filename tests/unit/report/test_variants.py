"""Test which words of an item's texts are marked, and the labels that start with them."""

import polars as pl
from reprise.core.schemas import ITEMS
from reprise.report.items import Items
from reprise.report.variants import find_variants, mark_differences

from tests.unit.rows import item_row

SINKS = "First, the star sinks slowly. Then, the star blinks."
BLINKS = "First, the star blinks. Then, the star sinks slowly."
CAPTIONS = [{"name": "A", "text": SINKS}, {"name": "B", "text": BLINKS}]


def test_the_words_that_differ_are_marked() -> None:
    marked = [segment.text for segment in mark_differences(SINKS, [BLINKS]) if segment.differs]
    assert marked == ["sinks slowly", "blinks"]
    assert "".join(segment.text for segment in mark_differences(SINKS, [BLINKS])) == SINKS
    (segment,) = mark_differences("A red square.", ["Nobody moves on this green floor"])
    assert not segment.differs, "texts that share little are no variants"


def test_the_right_text_comes_first_and_questions_are_no_variants() -> None:
    question = {"name": "question", "text": f"Which fits? A. {SINKS} B. {BLINKS}"}
    variants = find_variants([question, *CAPTIONS], "B")
    assert [(variant.name, variant.is_right) for variant in variants] == [("B", True), ("A", False)]
    halves = [{"name": "half", "text": "neg"}]
    segments = [{"name": "a", "text": "First segment"}, {"name": "b", "text": "Second segment"}]
    captions = [{"name": "pos", "text": SINKS}, {"name": "neg", "text": BLINKS}]
    names = [(variant.name, variant.is_right) for variant in find_variants([*segments, *captions], "A", halves)]
    assert names[:2] == [("neg", False), ("a", True)], "the caption that the item is about, then the right option"


def test_a_label_starts_shortly_before_the_first_difference() -> None:
    long_start = "On a brown floor with squares, the star"
    texts = [
        {"name": "positive", "text": f"{long_start} sinks."},
        {"name": "negative", "text": f"{long_start} blinks."},
    ]
    rows = [
        item_row("a", texts=texts),
        item_row("b", texts=[{"name": "question", "text": "Who\nsinks?"}], answer="A star."),
    ]
    labels = list(Items("velociti", pl.DataFrame(rows, schema=ITEMS), None).labels())
    assert labels == [["... the star ", "sinks", "."], ["Who sinks?"]]
