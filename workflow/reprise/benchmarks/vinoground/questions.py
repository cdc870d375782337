"""Build Vinoground's questions: two about captions and two about segments, or four similarity requests."""

from collections.abc import Iterator

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.question_forms import PerItemForm, Question
from reprise.benchmarks.vinoground.taxonomy import HALF_TAG, HALVES, LETTERS


def build_question(item: Item) -> Iterator[Question]:
    """Yield the question of an item, which is one of the four of its pair; roles are such as `text_pos`."""
    texts = item.texts
    if texts["question"]:
        option_texts = [texts["a"], texts["b"]] if item.answer and texts["a"] and texts["b"] else []
        role = f"{item.task}_{item.get_tag_text(HALF_TAG)}"
        yield Question(role, {"question": texts["question"]}, LETTERS, option_texts, item.answer)


def build_similarities(item: Item) -> Iterator[Question]:
    """Yield a similarity request for one video of a pair and each caption (roles `<video>_<caption>`)."""
    if item.task == "text":
        half = item.get_tag_text(HALF_TAG)
        captions = [caption for caption in HALVES if item.texts[caption]]
        for caption in captions:
            expected = "match" if caption == half else ""
            yield Question(f"{half}_{caption}", {"caption": item.texts[caption]}, ["match"], expected=expected)


FORMS = {"questions": PerItemForm(build_question), "similarity": PerItemForm(build_similarities)}
