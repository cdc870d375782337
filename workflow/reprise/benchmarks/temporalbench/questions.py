"""Build TemporalBench's questions: the released questions, one per caption, or one about four captions."""

from collections.abc import Iterator
from functools import partial

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.question_forms import PerItemForm, Question
from reprise.benchmarks.temporalbench.option_sets import CAPTION_NAMES_BY_SET, LETTERS, assign_letters
from reprise.core.log import log

CAPTIONS = ("A", "B")


def build_released(role: str, item: Item) -> Iterator[Question]:
    """Yield the released question about an item."""
    option_texts = [item.texts[letter] for letter in CAPTIONS if letter in item.texts]
    yield Question(role, item.texts, CAPTIONS, option_texts, item.answer)


def build_description(item: Item) -> Iterator[Question]:
    """Yield the request for a caption of the video."""
    yield Question("caption", item.texts, expected=item.answer)


def build_similarities(item: Item) -> Iterator[Question]:
    """Yield one similarity request for each caption of a question; nothing if its text has no captions."""
    if not set(CAPTIONS) <= item.texts.keys():
        log.info(f"{item.item_id}: no captions A and B in its text, so no similarity request is sent")
        return
    for letter in CAPTIONS:
        expected = "match" if letter == item.answer else ""
        yield Question(letter, {"caption": item.texts[letter]}, ["match"], expected=expected)


def build_four_captions(role: str, item: Item) -> Iterator[Question]:
    """Yield the multiple-choice question about four captions."""
    option_texts = [item.texts[name] for name in assign_letters(item.item_id, role).values()]
    values = {f"caption_{letter.lower()}": text for letter, text in zip(LETTERS, option_texts, strict=True)}
    yield Question(role, values, LETTERS, option_texts, LETTERS[option_texts.index(item.answer)])


FORMS = {
    "short": PerItemForm(partial(build_released, "short")),
    "long": PerItemForm(partial(build_released, "long")),
    "short_similarity": PerItemForm(build_similarities),
    "long_similarity": PerItemForm(build_similarities),
    "caption": PerItemForm(build_description),
    **{name: PerItemForm(partial(build_four_captions, name)) for name in CAPTION_NAMES_BY_SET},
}
