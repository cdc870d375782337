"""What Vinoground asks: two questions about captions and two about segments, or four similarities."""

from collections.abc import Iterator

from reprise.benchmarks.asking import EachItem, Question
from reprise.benchmarks.rows import Item
from reprise.benchmarks.vinoground.taxonomy import HALF, HALVES, LETTERS


def four_questions(item: Item) -> Iterator[Question]:
    """One of a pair's questions (roles `text_pos`, ...)."""
    texts = item.texts
    if texts["question"]:
        shown = [texts["a"], texts["b"]] if item.answer and texts["a"] and texts["b"] else []
        role = f"{item.task}_{item.tag(HALF)}"
        yield Question(role, {"question": texts["question"]}, LETTERS, shown, item.answer)


def four_similarities(item: Item) -> Iterator[Question]:
    """One of a pair's videos with each of its captions (roles `<video>_<caption>`)."""
    if item.task == "text":
        half = item.tag(HALF)
        for caption in filter(item.texts.get, HALVES):
            expected = "match" if caption == half else ""
            yield Question(f"{half}_{caption}", {"caption": item.texts[caption]}, ["match"], expected=expected)


FORMS = {"questions": EachItem(four_questions), "similarity": EachItem(four_similarities)}
