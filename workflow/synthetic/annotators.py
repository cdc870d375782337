"""What people would write about the toy world's videos: a collection, questions with their mistakes, and verdicts.

    python -m synthetic.annotators FOLDER

The mistakes are those that the filters and the review are for; the truth is in the scripts of the videos.
"""

import ast
import csv
import io
import sys
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path

from construction.mmbench_video.making import COLLECTION, COLUMNS, VIDEO_COLUMNS
from reprise.core.files import write_text

from synthetic.toyworld.generate import SOURCE_SLOTS, Dice
from synthetic.toyworld.mmbench_video import MAKERS, QUESTIONS_PER_VIDEO, rows, videos
from synthetic.toyworld.script import SLOT_SECONDS

VIDEOS = 6
CATEGORIES = ("Animation", "Geometry")
PEOPLE = ("annotator-1", "annotator-2")
DRAWS = 64
"""of each kind of question; what is asked of a clip in none of them is not known"""
COUNTED = "How many different shapes appear?"
Row = dict[str, str]


def _of_name(video: str) -> tuple[str, str, str]:
    """Source, start and end in a clip's id."""
    source, _, span = video.removeprefix("v_").partition("_seg_")
    start, end = span.split("_")
    return source, start, end


def collection() -> list[Row]:
    """The videos that people found: some fit the collection, four do not."""
    seconds = str(SOURCE_SLOTS * SLOT_SECONDS)
    found = [
        dict(zip(VIDEO_COLUMNS, (video, source, CATEGORIES[place % 2], seconds, start, end), strict=True))
        for place, video in enumerate(islice(videos(), VIDEOS))
        for source, start, end in [_of_name(video)]
    ]
    others = [
        ("toy-short", "toy-short", "Animation", "12", "0", "12"),
        ("toy-long", "toy-long", "Animation", "900", "10", "410"),
        ("toy-other", "toy-other", "Animatoin", "40", "0", "10"),
        ("toy-unread", "toy-unread", "Geometry", "about 40", "0", "10"),
    ]
    return [*found, *(dict(zip(VIDEO_COLUMNS, one, strict=True)) for one in others), found[0]]


def questions() -> dict[str, list[Row]]:
    """By annotator: right ones, of all abilities that these clips can be asked about; then mistakes of each kind."""
    found: dict[str, list[Row]] = {one: [] for one in PEOPLE}
    for place, (_, video, _, question, answer, leaves, _) in enumerate(rows()[: VIDEOS * QUESTIONS_PER_VIDEO]):
        who = PEOPLE[place // QUESTIONS_PER_VIDEO % 2]
        found[who].append(_row(video, question, answer, "; ".join(ast.literal_eval(leaves)), who))
    first, second = (list(found[who]) for who in PEOPLE)
    one, other = first[0], second[0]
    counted = {row["video"] for row in (*first, *second) if row["question"] == COUNTED}
    unasked = next(row for row in first if row["video"] not in counted)
    found[PEOPLE[0]] += [
        one | {"question": "Who acts at 0:04 in the video?"},
        one | {"question": "What happens at the 3rd second?"},
        one | {"question": "And then?"},
        one | {"question": "What is this clip about?", "dimensions": "Video Topics"},
        one | {"question": "What is this clip about?", "dimensions": ""},
        one | {"question": "What is this clip about?", "answer": ""},
        one | {"video": "toy-nowhere"},
        one | {"video": "toy-short"},
    ]
    found[PEOPLE[1]] += [
        one | {"annotator": PEOPLE[1]},
        unasked | {"question": COUNTED, "answer": "9 shapes appear.",
                     "dimensions": "Object Recognition; Counting", "annotator": PEOPLE[1]},
        first[-1] | {"question": "What words are written in the video?", "answer": "No words are written.",
                     "dimensions": "Counting", "annotator": PEOPLE[1]},
        other | {"question": "How does the video end?", "annotator": ""},
        other | {"question": "How does the video end?", "start_s": "8", "end_s": "20"},
        other | {"question": "How does the video end?", "start_s": "8"},
    ]  # fmt: skip
    return found


def _row(video: str, question: str, answer: str, dimensions: str, annotator: str) -> Row:
    return dict(zip(COLUMNS, (video, question, answer, dimensions, annotator, "", ""), strict=True))


@cache
def truths(video: str) -> Mapping[str, tuple[str, frozenset[str]]]:
    """Question -> its answer and its abilities, of all that the toy world can ask about a clip."""
    script = videos()[video]
    found = {}
    for maker, leaves in MAKERS:
        for draw in range(DRAWS):
            made = maker(script, Dice(draw))
            if made:
                found[made[0]] = (made[1], frozenset(leaves))
    return found


def verdict(task: Mapping[str, str]) -> str:
    """What one says of a question who knows the script of its video; nothing of what the toy world does not ask."""
    answer, leaves = truths(task["video"]).get(task["question"], ("", frozenset()))
    if not answer:
        return ""
    if task["answer"] != answer:
        return "answer is wrong"
    return "correct" if frozenset(task["dimensions"].split("; ")) == leaves else "ability is wrong"


def write(folder: Path) -> None:
    """Write the collection and the files of the annotators."""
    write_text(folder / COLLECTION, _csv(collection()))
    for who, written in questions().items():
        write_text(folder / "questions" / f"{who}.csv", _csv(written))


def _csv(found: list[Row]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return buffer.getvalue()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
