"""lmms-eval's logs of samples (`--log_samples`): the answers in them, and what the harness did otherwise than this run.

A line holds the harness's metric, in which the entry of the release stands; the prompt in `input`; the answer in
`filtered_resps`; and `resps` only where filters or several attempts made that another than what the model wrote.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.rows import Item
from reprise.external import FAILED_ELSEWHERE
from reprise.external.answers import (
    NO_FIELD,
    NO_TRUTH,
    NOT_A_TEXT,
    OTHER_FRAMES,
    OTHER_PROMPT,
    SEVERAL,
    ImportedAnswers,
    Place,
    Problem,
    read_entries,
    response_as_answer,
)
from reprise.external.matching import Questions, Said, object_of, plain_text
from reprise.models.base import Answer

# What can be different from a run here; a table counts them by these words.
EMPTY = "empty answer, which lmms-eval also writes after an error"
FILTERED = "changed by the harness's filters, what the model wrote is read"
FEWER_TOKENS = "answers limited to fewer tokens than here"
CUT = "captions that look cut off"
LIMITED = "asked in part (--limit)"
NO_SETTINGS = "the harness's settings are not readable"

# What the harness writes in place of an answer that an API did not give.
FAILED = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED")
MARK = b'"filtered_resps"'
NAME = re.compile(r"(?P<date>.*?)_?samples_(?P<task>.+)\.jsonl")
# The argument that says how many frames a clip has, by the harness's classes of models.
FRAMES = ("max_frames_num", "max_num_frames", "max_frame_num", "num_frames", "nframes", "frames_num", "video_frames")
# No more words fit into the harness's 16 tokens of a caption.
MOST_WORDS, END = 16, (".", "!", "?", '"', "'", ")")


class Task(NamedTuple):
    """How the logs of a benchmark name their questions."""

    benchmark: str
    identify: Callable[[Mapping[str, Any]], Said]  # a line -> its question
    video: Callable[[Item], str]  # an item -> its video, as `identify` names it


def is_log(path: Path) -> bool:
    return MARK in path.read_bytes()


def settings_beside(files: Sequence[Path]) -> list[Path]:
    """`<date>_results.json`, which the harness writes next to the samples of the same run."""
    named = [(path, match["date"]) for path in files if (match := NAME.fullmatch(path.name))]
    found = [path.with_name(f"{date}_results.json") for path, date in named if date]
    return sorted({path for path in found if path.is_file()})


def read_log(path: Path, imported: ImportedAnswers, items: pl.DataFrame, requests: pl.DataFrame, task: Task) -> None:
    asked = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    questions = Questions(items.filter(pl.col("item_id").is_in(asked.keys())), task.video)
    for line, entry in read_entries(path, imported):
        said = task.identify(entry)
        place = Place(path, line, said.id)
        item = questions.match(said, place, imported)
        if item is None:
            continue
        answer, problems = _answer(entry)
        question, prompt = asked[item], entry.get("input")
        if isinstance(prompt, str) and plain_text(prompt) != plain_text(question["prompt"]):
            problems.append(OTHER_PROMPT)
        if not question["expected"].strip():
            problems.append(NO_TRUTH)
        imported.note(place, *problems)
        imported.add(question["request_id"], answer, place)
    questions.need_a_match(task.benchmark)


def _answer(entry: Mapping[str, Any]) -> tuple[Answer, list[str]]:
    """What the model wrote first, and what is unusual about it."""
    if "filtered_resps" not in entry:
        return Answer(error="no_text"), [NO_FIELD]
    attempts, problems = _flat(entry["filtered_resps"]), []
    if "resps" in entry:
        written = _flat(entry["resps"])
        problems += [FILTERED] if written[:1] != attempts[:1] else []
        problems += [SEVERAL] if any(one != written[0] for one in written[1:]) else []
        attempts = written
    answer, problem = response_as_answer(attempts[:1], "text")
    if answer.text.startswith(FAILED):
        return Answer(error=FAILED_ELSEWHERE), problems
    if not answer.error and not answer.text:
        problems.append(EMPTY)
    return answer, [*problems, *([NOT_A_TEXT] if problem else [])]


def _flat(values: object) -> list[object]:
    """The attempts at one question, in whatever depth of lists."""
    while isinstance(values, list) and len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    return values if isinstance(values, list) else [values]


# What the harness did otherwise, as far as its files say


def deviations(
    files: Sequence[Path], requests: pl.DataFrame, answers: Mapping[str, Answer], frames: int | None
) -> list[Problem]:
    """What is different of all answers, each named once, at the file that says so."""
    found = [one for path in files if path.suffix == ".json" for one in _of_settings(path, files, requests, frames)]
    is_logged = any(path.suffix == ".jsonl" and is_log(path) for path in files)
    if is_logged and FEWER_TOKENS not in {one.problem for one in found}:
        found += _cut_captions(files, requests, answers)
    return found


def _of_settings(path: Path, files: Sequence[Path], requests: pl.DataFrame, frames: int | None) -> list[Problem]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        return [Problem(str(path), None, "", NO_SETTINGS)]
    run = object_of(settings, "config")
    found = []
    given = run.get("model_args")  # an object, or `a=1,b=2`
    if isinstance(given, str):
        given = {name.strip(): value.strip() for name, _, value in (one.partition("=") for one in given.split(","))}
    arguments = given if isinstance(given, dict) else {}
    shown = {name: str(value) for name, value in arguments.items() if name in FRAMES}
    found += [(OTHER_FRAMES, f"{name}={value}") for name, value in shown.items() if frames and value != str(frames)]
    most = int(requests["max_tokens"].max() or 0)  # type: ignore[arg-type]
    for task in {match["task"] for one in files if (match := NAME.fullmatch(one.name))}:
        limit = object_of(object_of(object_of(settings, "configs"), task), "generation_kwargs").get("max_new_tokens")
        if isinstance(limit, int) and limit < most:
            found.append((FEWER_TOKENS, f"{task}: {limit}, here {most}"))
    if run.get("limit") is not None:
        found.append((LIMITED, f"limit={run['limit']}"))
    return [Problem(str(path), None, detail, problem) for problem, detail in found]


def _cut_captions(files: Sequence[Path], requests: pl.DataFrame, answers: Mapping[str, Answer]) -> list[Problem]:
    """Captions of a log whose settings are not there: all short, and most of them without an end."""
    free = set(requests.filter(pl.col("options").list.len() == 0)["request_id"])
    texts = [one.text.strip() for request, one in answers.items() if request in free and one.text.strip()]
    unfinished = [text for text in texts if not text.endswith(END)]
    if not texts or any(len(text.split()) > MOST_WORDS for text in texts) or 2 * len(unfinished) < len(texts):
        return []
    return [Problem(str(files[0]), None, f"{len(unfinished)} of {len(texts)}", CUT)]
