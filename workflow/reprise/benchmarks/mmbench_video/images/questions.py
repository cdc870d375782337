"""What is asked about an image: the options in every rotation, or as they are released."""

from collections.abc import Iterator

from reprise.benchmarks.asking import EachItem, Question
from reprise.benchmarks.mmbench_video.images.taxonomy import option_texts
from reprise.benchmarks.rows import Item


def every_rotation(item: Item) -> Iterator[Question]:
    """One question for every option, with that option first."""
    return (_rotation(item, turn) for turn in range(len(option_texts(item))))


def as_released(item: Item) -> Iterator[Question]:
    """Once."""
    yield _rotation(item, 0)


def _rotation(item: Item, turn: int) -> Question:
    """Moves the option at place i + turn to place i; the letters stay."""
    options = option_texts(item)
    letters = list(options)
    moved = [options[letters[(place + turn) % len(letters)]] for place in range(len(letters))]
    values = {
        "question": item.texts["question"],
        "hint": f"Hint: {item.texts['hint']}\n" if item.texts["hint"] else "",
        "options": "".join(f"{letter}. {text}\n" for letter, text in zip(letters, moved, strict=True)),
    }
    expected = letters[(letters.index(item.answer) - turn) % len(letters)] if item.answer else ""
    return Question(f"rotation{turn}", values, letters, moved, expected)


FORMS = {"circular": EachItem(every_rotation), "choice": EachItem(as_released)}
