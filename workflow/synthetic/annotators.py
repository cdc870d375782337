"""Simulated annotators of the toy world: a video collection, questions with typical mistakes, and verdicts.

    python -m synthetic.annotators FOLDER

The filters and the review are expected to catch the mistakes. The scripts of the videos hold the truth.
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
"""The number of random questions of each kind that define the known questions of a clip."""
COUNTED = "How many different shapes appear?"
Row = dict[str, str]


def _of_name(video: str) -> tuple[str, str, str]:
    """Parse source, start and end from a clip's id."""
    source, _, span = video.removeprefix("v_").partition("_seg_")
    start, end = span.split("_")
    return source, start, end


def collection() -> list[Row]:
    """Return the collected videos: some that fit the collection, four that do not, and a duplicate."""
    seconds = str(SOURCE_SLOTS * SLOT_SECONDS)
    fitting = [
        dict(zip(VIDEO_COLUMNS, (video, source, CATEGORIES[number % 2], seconds, start, end), strict=True))
        for number, video in enumerate(islice(videos(), VIDEOS))
        for source, start, end in [_of_name(video)]
    ]
    misfits = [
        ("toy-short", "toy-short", "Animation", "12", "0", "12"),
        ("toy-long", "toy-long", "Animation", "900", "10", "410"),
        ("toy-other", "toy-other", "Animatoin", "40", "0", "10"),
        ("toy-unread", "toy-unread", "Geometry", "about 40", "0", "10"),
    ]
    return [*fitting, *(dict(zip(VIDEO_COLUMNS, cells, strict=True)) for cells in misfits), fitting[0]]


def questions() -> dict[str, list[Row]]:
    """Return the questions of each annotator: correct ones of all available abilities, then mistakes of each kind."""
    questions_of: dict[str, list[Row]] = {person: [] for person in PEOPLE}
    for number, (_, video, _, question, answer, leaves, _) in enumerate(rows()[: VIDEOS * QUESTIONS_PER_VIDEO]):
        person = PEOPLE[number // QUESTIONS_PER_VIDEO % 2]
        questions_of[person].append(_row(video, question, answer, "; ".join(ast.literal_eval(leaves)), person))
    first, second = (list(questions_of[person]) for person in PEOPLE)
    template, other_template = first[0], second[0]
    counted_videos = {row["video"] for row in (*first, *second) if row["question"] == COUNTED}
    uncounted = next(row for row in first if row["video"] not in counted_videos)
    questions_of[PEOPLE[0]] += [
        template | {"question": "Who acts at 0:04 in the video?"},
        template | {"question": "What happens at the 3rd second?"},
        template | {"question": "And then?"},
        template | {"question": "What is this clip about?", "dimensions": "Video Topics"},
        template | {"question": "What is this clip about?", "dimensions": ""},
        template | {"question": "What is this clip about?", "answer": ""},
        template | {"video": "toy-nowhere"},
        template | {"video": "toy-short"},
    ]
    questions_of[PEOPLE[1]] += [
        template | {"annotator": PEOPLE[1]},
        uncounted | {"question": COUNTED, "answer": "9 shapes appear.",
                     "dimensions": "Object Recognition; Counting", "annotator": PEOPLE[1]},
        first[-1] | {"question": "What words are written in the video?", "answer": "No words are written.",
                     "dimensions": "Counting", "annotator": PEOPLE[1]},
        other_template | {"question": "How does the video end?", "annotator": ""},
        other_template | {"question": "How does the video end?", "start_s": "8", "end_s": "20"},
        other_template | {"question": "How does the video end?", "start_s": "8"},
    ]  # fmt: skip
    return questions_of


def _row(video: str, question: str, answer: str, dimensions: str, annotator: str) -> Row:
    return dict(zip(COLUMNS, (video, question, answer, dimensions, annotator, "", ""), strict=True))


@cache
def truths(video: str) -> Mapping[str, tuple[str, frozenset[str]]]:
    """Return the answer and the abilities of every question that the toy world can ask about a clip."""
    script = videos()[video]
    truth_of = {}
    for maker, leaves in MAKERS:
        for seed in range(DRAWS):
            question = maker(script, Dice(seed))
            if question:
                truth_of[question[0]] = (question[1], frozenset(leaves))
    return truth_of


def verdict(task: Mapping[str, str]) -> str:
    """Judge a question by the script of its video; return an empty text for questions unknown to the toy world."""
    answer, leaves = truths(task["video"]).get(task["question"], ("", frozenset()))
    if not answer:
        return ""
    if task["answer"] != answer:
        return "answer is wrong"
    return "correct" if frozenset(task["dimensions"].split("; ")) == leaves else "ability is wrong"


def write(folder: Path) -> None:
    """Write the collection and the files of the annotators."""
    write_text(folder / COLLECTION, _csv(collection()))
    for person, person_rows in questions().items():
        write_text(folder / "questions" / f"{person}.csv", _csv(person_rows))


def _csv(table_rows: list[Row]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(table_rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table_rows)
    return buffer.getvalue()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
