"""Build VELOCITI's questions: one per caption of an item, or one per order of both captions."""

from collections.abc import Iterator

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.question_forms import PerItemForm, Question

YES_NO = ("Yes", "No")
LETTERS = ("A", "B")


def has_captions(item: Item) -> bool:
    """Return whether an item has both captions."""
    return all(item.texts[name].strip() for name in ("positive", "negative"))


def build_entailment(item: Item) -> Iterator[Question]:
    """Yield a Yes/No question for each caption: whether the clip entails it."""
    yield Question("pos", {"caption": item.texts["positive"]}, YES_NO, expected="Yes")
    yield Question("neg", {"caption": item.texts["negative"]}, YES_NO, expected="No")


def build_similarity(item: Item) -> Iterator[Question]:
    """Yield a similarity request for each caption."""
    yield Question("pos", {"caption": item.texts["positive"]}, ["match"], expected="match")
    yield Question("neg", {"caption": item.texts["negative"]}, ["match"])


def build_multiple_choice(item: Item) -> Iterator[Question]:
    """Yield the choice between both captions, once for each order of the captions."""
    positive, negative = item.texts["positive"], item.texts["negative"]
    for role, expected, captions in (("a", "A", (positive, negative)), ("b", "B", (negative, positive))):
        yield Question(role, dict(zip(("caption_a", "caption_b"), captions, strict=True)), LETTERS, captions, expected)


FORMS = {
    "entail": PerItemForm(build_entailment, has_captions),
    "similarity": PerItemForm(build_similarity, has_captions),
    "mc": PerItemForm(build_multiple_choice, has_captions),
}
