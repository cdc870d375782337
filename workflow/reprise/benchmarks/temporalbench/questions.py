"""Build TemporalBench's questions: the released ones, one per caption, or one about four captions."""

from collections.abc import Iterator
from functools import partial

from reprise.benchmarks.asking import EachItem, Question
from reprise.benchmarks.rows import Item
from reprise.benchmarks.temporalbench.option_sets import LETTERS, OPTION_SETS, names_by_letter
from reprise.core.log import log

CAPTIONS = ("A", "B")


def released(role: str, item: Item) -> Iterator[Question]:
    """Yield the released question about an item."""
    option_texts = [item.texts[letter] for letter in CAPTIONS if letter in item.texts]
    yield Question(role, item.texts, CAPTIONS, option_texts, item.answer)


def description(item: Item) -> Iterator[Question]:
    """Yield the request for a caption of the video."""
    yield Question("caption", item.texts, expected=item.answer)


def similarities(item: Item) -> Iterator[Question]:
    """Yield one similarity query for each caption of a question; nothing if the question's text has no captions."""
    if not set(CAPTIONS) <= item.texts.keys():
        log.info(f"{item.item_id}: its text shows no captions A and B, so it cannot be asked by similarity")
        return
    for letter in CAPTIONS:
        expected = "match" if letter == item.answer else ""
        yield Question(letter, {"caption": item.texts[letter]}, ["match"], expected=expected)


def four_captions(role: str, item: Item) -> Iterator[Question]:
    """Yield the question which of four captions is right."""
    option_texts = [item.texts[name] for name in names_by_letter(item.item_id, role).values()]
    values = {f"caption_{letter.lower()}": text for letter, text in zip(LETTERS, option_texts, strict=True)}
    yield Question(role, values, LETTERS, option_texts, LETTERS[option_texts.index(item.answer)])


FORMS = {
    "short": EachItem(partial(released, "short")),
    "long": EachItem(partial(released, "long")),
    "short_similarity": EachItem(similarities),
    "long_similarity": EachItem(similarities),
    "caption": EachItem(description),
    **{name: EachItem(partial(four_captions, name)) for name in OPTION_SETS},
}
