"""What MMBench-Video asks: all questions of a video at once, or each alone; choices of other data sets."""

import json
from collections.abc import Iterator, Sequence
from functools import partial

from reprise.benchmarks.asking import EachClip, EachItem, Question
from reprise.benchmarks.mmbench_video.taxonomy import SET_OPTIONS, is_complete, option_texts
from reprise.benchmarks.rows import Item


def unpacked(item: Item) -> Iterator[Question]:
    yield Question("unpacked", _values(item), expected=item.answer)


def packed(items: Sequence[Item]) -> Question:
    """All questions of a video, by index; the harness writes signs beyond ASCII as escapes."""
    questions = {item.item_id: item.texts["question"] for item in items}
    answers = {item.item_id: item.answer for item in items}
    values = _values(items[0]) | {
        "questions": json.dumps(questions, ensure_ascii=False),
        "questions_escaped": json.dumps(questions),
    }
    return Question("packed", values, expected=json.dumps(answers, ensure_ascii=False))


def _values(item: Item) -> dict[str, str]:
    spoken = item.texts["subtitles"]
    return {**item.texts, "subtitles": f"\nSubtitle: {spoken}" if spoken else ""}


def choice_of_set(item: Item) -> Iterator[Question]:
    """The options of a question about another set's video, in their order."""
    options = {letter: item.texts[letter] for letter in SET_OPTIONS if letter in item.texts}
    values = _values(item) | {"options": _lines(options)}
    yield Question("choice", values, list(options), list(options.values()), item.answer)


def rotations(item: Item, are_all: bool) -> Iterator[Question]:
    """A question about an image, once for every option with that option first, or once as it is released.

    The option at place i + turn moves to place i; the letters stay.
    """
    options, hint = option_texts(item), item.texts.get("hint")
    letters, texts = list(options), list(options.values())
    for turn in range(len(letters) if are_all else 1):
        moved = texts[turn:] + texts[:turn]
        values = {
            "question": item.texts["question"],
            "hint": f"Hint: {hint}\n" if hint else "",
            "bare_hint": f"{hint}\n" if hint else "",
            "options": _lines(dict(zip(letters, moved, strict=True))),
        }
        expected = letters[(letters.index(item.answer) - turn) % len(letters)] if item.answer else ""
        yield Question(f"rotation{turn}", values, letters, moved, expected)


def _lines(options: dict[str, str]) -> str:
    return "".join(f"{letter}. {text}\n" for letter, text in options.items())


FORMS = {
    "unpacked": EachItem(unpacked, is_complete),
    "packed": EachClip(packed, is_complete),
    "set_choice": EachItem(choice_of_set),
    "circular": EachItem(partial(rotations, are_all=True)),
    "choice": EachItem(partial(rotations, are_all=False)),
}
