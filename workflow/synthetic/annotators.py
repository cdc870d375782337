"""Simulate annotators of the toy world: a video collection, questions with typical mistakes, and verdicts.

    python -m synthetic.annotators FOLDER

The filters and the review should catch the mistakes. The scripts of the videos contain the true answers.
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
from synthetic.toyworld.mmbench_video import MAKERS, QUESTIONS_PER_VIDEO, build_rows, select_videos
from synthetic.toyworld.script import SLOT_SECONDS

VIDEOS = 6  # valid videos of the collection
CATEGORIES = ("Animation", "Geometry")
PEOPLE = ("annotator-1", "annotator-2")
SAMPLES_PER_KIND = 64
"""Number of random questions of each kind that are sampled to collect the possible questions about a clip."""
COUNTING_QUESTION = "How many different shapes appear?"
Row = dict[str, str]


def _parse_clip_id(video: str) -> tuple[str, str, str]:
    """Parse source, start and end from a clip's id."""
    source, _, span = video.removeprefix("v_").partition("_seg_")
    start, end = span.split("_")
    return source, start, end


def collection() -> list[Row]:
    """Return the rows of collected videos: some that meet the criteria, four that do not, and a duplicate."""
    seconds = str(SOURCE_SLOTS * SLOT_SECONDS)
    valid_rows = []
    for number, video in enumerate(islice(select_videos(), VIDEOS)):
        source, start, end = _parse_clip_id(video)
        cells = (video, source, CATEGORIES[number % len(CATEGORIES)], seconds, start, end)
        valid_rows.append(dict(zip(VIDEO_COLUMNS, cells, strict=True)))
    invalid_rows = [
        ("toy-short", "toy-short", "Animation", "12", "0", "12"),
        ("toy-long", "toy-long", "Animation", "900", "10", "410"),
        ("toy-other", "toy-other", "Animatoin", "40", "0", "10"),
        ("toy-unread", "toy-unread", "Geometry", "about 40", "0", "10"),
    ]
    return [*valid_rows, *(dict(zip(VIDEO_COLUMNS, cells, strict=True)) for cells in invalid_rows), valid_rows[0]]


def questions() -> dict[str, list[Row]]:
    """Return the questions of each annotator: correct ones of all available abilities, then mistakes of each kind."""
    questions_by_annotator: dict[str, list[Row]] = {person: [] for person in PEOPLE}
    for number, released_row in enumerate(build_rows()[: VIDEOS * QUESTIONS_PER_VIDEO]):
        _, video, _, question, answer, abilities, _ = released_row  # in the order of the columns of the release
        video_number = number // QUESTIONS_PER_VIDEO
        person = PEOPLE[video_number % len(PEOPLE)]
        questions_by_annotator[person].append(
            _row(video, question, answer, "; ".join(ast.literal_eval(abilities)), person)
        )
    first, second = (list(questions_by_annotator[person]) for person in PEOPLE)
    template, other_template = first[0], second[0]
    videos_with_counting = {row["video"] for row in (*first, *second) if row["question"] == COUNTING_QUESTION}
    row_without_counting = next(row for row in first if row["video"] not in videos_with_counting)
    # Two timestamps, a short question, an unknown ability, no ability, no answer, an unknown video, a dropped video.
    questions_by_annotator[PEOPLE[0]] += [
        template | {"question": "Who acts at 0:04 in the video?"},
        template | {"question": "What happens at the 3rd second?"},
        template | {"question": "And then?"},
        template | {"question": "What is this clip about?", "dimensions": "Video Topics"},
        template | {"question": "What is this clip about?", "dimensions": ""},
        template | {"question": "What is this clip about?", "answer": ""},
        template | {"video": "toy-nowhere"},
        template | {"video": "toy-short"},
    ]
    # A duplicate, a wrong answer, a wrong ability, no annotator, a span beyond the clip, and a span without an end.
    questions_by_annotator[PEOPLE[1]] += [
        template | {"annotator": PEOPLE[1]},
        row_without_counting | {"question": COUNTING_QUESTION, "answer": "9 shapes appear.",
                     "dimensions": "Object Recognition; Counting", "annotator": PEOPLE[1]},
        first[-1] | {"question": "What words are written in the video?", "answer": "No words are written.",
                     "dimensions": "Counting", "annotator": PEOPLE[1]},
        other_template | {"question": "How does the video end?", "annotator": ""},
        other_template | {"question": "How does the video end?", "start_s": "8", "end_s": "20"},
        other_template | {"question": "How does the video end?", "start_s": "8"},
    ]  # fmt: skip
    return questions_by_annotator


def _row(video: str, question: str, answer: str, dimensions: str, annotator: str) -> Row:
    """Return the row of a question in an annotator's file, without a span."""
    return dict(zip(COLUMNS, (video, question, answer, dimensions, annotator, "", ""), strict=True))


@cache
def find_true_answers(video: str) -> Mapping[str, tuple[str, frozenset[str]]]:
    """Return the true answer and the abilities of every possible question about a clip, by the text of the question."""
    script = select_videos()[video]
    answer_by_question = {}
    for maker, abilities in MAKERS:
        for seed in range(SAMPLES_PER_KIND):
            if question_and_answer := maker(script, Dice(seed)):
                question, answer = question_and_answer
                answer_by_question[question] = (answer, frozenset(abilities))
    return answer_by_question


def verdict(task: Mapping[str, str]) -> str:
    """Return the verdict on a question by the script of its video, or an empty text if the question is unknown."""
    answer, abilities = find_true_answers(task["video"]).get(task["question"], ("", frozenset()))
    if not answer:
        return ""
    if task["answer"] != answer:
        return "answer is wrong"
    return "correct" if frozenset(task["dimensions"].split("; ")) == abilities else "ability is wrong"


def write(folder: Path) -> None:
    """Write the collection and the files of the annotators."""
    write_text(folder / COLLECTION, _csv(collection()))
    for person, person_rows in questions().items():
        write_text(folder / "questions" / f"{person}.csv", _csv(person_rows))


def _csv(table_rows: list[Row]) -> str:
    """Return rows of equal columns as csv."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(table_rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table_rows)
    return buffer.getvalue()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
