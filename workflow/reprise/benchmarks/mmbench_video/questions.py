"""What MMBench-Video asks: all questions of a video at once, or each alone; and multiple choice about images."""

import json
from collections.abc import Iterator, Sequence

from reprise.benchmarks.asking import EachClip, EachItem, Question
from reprise.benchmarks.mmbench_video.images.questions import FORMS as IMAGE_FORMS
from reprise.benchmarks.mmbench_video.taxonomy import SET_OPTIONS, is_complete
from reprise.benchmarks.rows import Item


def unpacked(item: Item) -> Iterator[Question]:
    """The question."""
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


def choice_of_set(item: Item) -> Iterator[Question]:
    """The options of a question about another set's video, in their order."""
    options = {letter: item.texts[letter] for letter in SET_OPTIONS if letter in item.texts}
    shown = "".join(f"{letter}. {text}\n" for letter, text in options.items())
    yield Question("choice", _values(item) | {"options": shown}, list(options), list(options.values()), item.answer)


def _values(item: Item) -> dict[str, str]:
    spoken = item.texts["subtitles"]
    return {**item.texts, "subtitles": f"\nSubtitle: {spoken}" if spoken else ""}


FORMS = {
    "unpacked": EachItem(unpacked, is_complete),
    "packed": EachClip(packed, is_complete),
    "set_choice": EachItem(choice_of_set),
    **IMAGE_FORMS,
}
