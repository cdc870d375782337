"""What TemporalBench asks: the released questions, each of their captions alone, or a question about four captions."""

from collections.abc import Iterator
from functools import partial

from reprise.benchmarks.asking import EachItem, Question
from reprise.benchmarks.rows import Item
from reprise.benchmarks.temporalbench.option_sets import LETTERS, OPTION_SETS, lettered
from reprise.core.log import log

CAPTIONS = ("A", "B")


def released(role: str, item: Item) -> Iterator[Question]:
    shown = [item.texts[letter] for letter in CAPTIONS if letter in item.texts]
    yield Question(role, item.texts, CAPTIONS, shown, item.answer)


def description(item: Item) -> Iterator[Question]:
    yield Question("caption", item.texts, expected=item.answer)


def similarities(item: Item) -> Iterator[Question]:
    """Both captions of a question, each to be compared with the video; none where its text does not show them."""
    if not set(CAPTIONS) <= item.texts.keys():
        log.info(f"{item.item_id}: its text shows no captions A and B, so it cannot be asked by similarity")
        return
    for letter in CAPTIONS:
        expected = "match" if letter == item.answer else ""
        yield Question(letter, {"caption": item.texts[letter]}, ["match"], expected=expected)


def four_captions(role: str, item: Item) -> Iterator[Question]:
    shown = [item.texts[name] for name in lettered(item.item_id, role).values()]
    values = {f"caption_{letter.lower()}": text for letter, text in zip(LETTERS, shown, strict=True)}
    yield Question(role, values, LETTERS, shown, LETTERS[shown.index(item.answer)])


FORMS = {
    "short": EachItem(partial(released, "short")),
    "long": EachItem(partial(released, "long")),
    "short_similarity": EachItem(similarities),
    "long_similarity": EachItem(similarities),
    "caption": EachItem(description),
    **{name: EachItem(partial(four_captions, name)) for name in OPTION_SETS},
}
