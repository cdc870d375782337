"""Build Vinoground's questions: two about captions and two about segments, or four similarity queries."""

from collections.abc import Iterator

from reprise.benchmarks.asking import EachItem, Question
from reprise.benchmarks.rows import Item
from reprise.benchmarks.vinoground.taxonomy import HALF, HALVES, LETTERS


def four_questions(item: Item) -> Iterator[Question]:
    """Yield the question of an item, one of its pair's four (roles `text_pos`, ...)."""
    texts = item.texts
    if texts["question"]:
        option_texts = [texts["a"], texts["b"]] if item.answer and texts["a"] and texts["b"] else []
        role = f"{item.task}_{item.tag(HALF)}"
        yield Question(role, {"question": texts["question"]}, LETTERS, option_texts, item.answer)


def four_similarities(item: Item) -> Iterator[Question]:
    """Yield a similarity query for one video of a pair and each caption (roles `<video>_<caption>`)."""
    if item.task == "text":
        half = item.tag(HALF)
        for caption in filter(item.texts.get, HALVES):
            expected = "match" if caption == half else ""
            yield Question(f"{half}_{caption}", {"caption": item.texts[caption]}, ["match"], expected=expected)


FORMS = {"questions": EachItem(four_questions), "similarity": EachItem(four_similarities)}
