"""What MMBench-Video asks: all questions of a video at once, or each alone; and multiple choice about images."""

import json
from collections.abc import Iterator, Sequence

from reprise.benchmarks.asking import EachClip, EachItem, Question
from reprise.benchmarks.mmbench_video.complete import is_complete
from reprise.benchmarks.mmbench_video.images.questions import FORMS as IMAGE_FORMS
from reprise.benchmarks.rows import Item


def unpacked(item: Item) -> Iterator[Question]:
    """The question."""
    yield Question("unpacked", _values(item), expected=item.answer)


def packed(items: Sequence[Item]) -> Question:
    """All questions of a video, by index."""
    questions = {item.item_id: item.texts["question"] for item in items}
    answers = {item.item_id: item.answer for item in items}
    values = _values(items[0]) | {"questions": json.dumps(questions, ensure_ascii=False)}
    return Question("packed", values, expected=json.dumps(answers, ensure_ascii=False))


def _values(item: Item) -> dict[str, str]:
    spoken = item.texts["subtitles"]
    return {**item.texts, "subtitles": f"\nSubtitle: {spoken}" if spoken else ""}


FORMS = {"unpacked": EachItem(unpacked, is_complete), "packed": EachClip(packed, is_complete), **IMAGE_FORMS}
