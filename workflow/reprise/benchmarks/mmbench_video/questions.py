"""Build MMBench-Video's requests: one per video or one per question, and multiple choice for other data sets."""

import json
from collections.abc import Iterator, Sequence
from functools import partial

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.mmbench_video.taxonomy import SET_OPTION_LETTERS, is_complete, options_by_letter
from reprise.benchmarks.question_forms import PerClipForm, PerItemForm, Question


def build_unpacked(item: Item) -> Iterator[Question]:
    """Yield the question of one item."""
    yield Question("unpacked", _placeholder_values(item), expected=item.answer)


def build_packed(items: Sequence[Item]) -> Question:
    """Return one question that lists all questions of a video by index.

    The reference harness escapes characters beyond ASCII, so the prompt can use either spelling.
    """
    question_by_id = {item.item_id: item.texts["question"] for item in items}
    answer_by_id = {item.item_id: item.answer for item in items}
    values = _placeholder_values(items[0]) | {
        "questions": json.dumps(question_by_id, ensure_ascii=False),
        "questions_escaped": json.dumps(question_by_id),
    }
    return Question("packed", values, expected=json.dumps(answer_by_id, ensure_ascii=False))


def _placeholder_values(item: Item) -> dict[str, str]:
    """Return the item's texts, with the subtitles formatted for the prompt."""
    subtitles = item.texts["subtitles"]
    return {**item.texts, "subtitles": f"\nSubtitle: {subtitles}" if subtitles else ""}


def build_set_choice(item: Item) -> Iterator[Question]:
    """Yield the multiple-choice question about a video of another set, with the options in the released order."""
    options = {letter: item.texts[letter] for letter in SET_OPTION_LETTERS if letter in item.texts}
    values = _placeholder_values(item) | {"options": _option_lines(options)}
    yield Question("choice", values, list(options), list(options.values()), item.answer)


def build_rotations(item: Item, all_rotations: bool) -> Iterator[Question]:
    """Yield a question about an image once for every rotation of its options, or once in the released order.

    All rotations together are the CircularEval of MMBench, which counts a question as right if every rotation is right.
    In rotation `shift`, the option at position i + shift moves to position i, counted modulo the number of options; the
    letters stay.
    """
    options, hint = options_by_letter(item), item.texts.get("hint")
    letters, texts = list(options), list(options.values())
    for shift in range(len(letters) if all_rotations else 1):
        rotated_texts = texts[shift:] + texts[:shift]
        values = {
            "question": item.texts["question"],
            "hint": f"Hint: {hint}\n" if hint else "",
            "bare_hint": f"{hint}\n" if hint else "",
            "options": _option_lines(dict(zip(letters, rotated_texts, strict=True))),
        }
        expected = letters[(letters.index(item.answer) - shift) % len(letters)] if item.answer else ""
        yield Question(f"rotation{shift}", values, letters, rotated_texts, expected)


def _option_lines(options: dict[str, str]) -> str:
    """Return the options as lines of letter and text."""
    return "".join(f"{letter}. {text}\n" for letter, text in options.items())


FORMS = {
    "unpacked": PerItemForm(build_unpacked, is_complete),
    "packed": PerClipForm(build_packed, is_complete),
    "set_choice": PerItemForm(build_set_choice),
    "circular": PerItemForm(partial(build_rotations, all_rotations=True)),
    "choice": PerItemForm(partial(build_rotations, all_rotations=False)),
}
