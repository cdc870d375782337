"""lmms-eval's logs of samples (`--log_samples`): the answers in them, and what the harness did otherwise than this run.

A line holds the harness's metric, in which the entry of the release stands; the prompt in `input`; and the answer that
it scored in `filtered_resps`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.external import FAILED_ELSEWHERE
from reprise.external.answers import (
    OTHER_FRAMES,
    OTHER_PROMPT,
    ImportedAnswers,
    Place,
    Problem,
    Questions,
    object_of,
    plain_text,
    read_entries,
    response_as_answer,
)
from reprise.models.base import Answer

# What can be different from a run here; a table counts them by these words.
EMPTY = "empty answer, which lmms-eval also writes after an error"
FEWER_TOKENS = "answers limited to fewer tokens than here"
LIMITED = "asked in part (--limit)"
NO_SETTINGS = "the harness's settings are not readable"

# What the harness writes in place of an answer that an API did not give.
FAILED = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED")
NAME = re.compile(r"(?P<date>.*?)_?samples_(?P<task>.+)\.jsonl")
# The argument that says how many frames a clip has, by the harness's classes of models.
FRAMES = re.compile(
    r"\b(max_frames_num|max_num_frames|max_frame_num|num_frames|nframes|frames_num|video_frames)\W*[=:]\W*(\d+)"
)

Identify = Callable[[Mapping[str, Any]], tuple[str, str]]
"""a line -> the id of its item, and what it says that it asks"""


def settings_beside(files: Sequence[Path]) -> list[Path]:
    """`<date>_results.json`, which the harness writes next to the samples of the same run."""
    dates = [(path, match["date"]) for path in files if (match := NAME.fullmatch(path.name)) and match["date"]]
    return sorted({one for path, date in dates if (one := path.with_name(f"{date}_results.json")).is_file()})


def read_log(
    path: Path,
    imported: ImportedAnswers,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    benchmark: str,
    identify: Identify,
) -> None:
    asked = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    questions = Questions(items.filter(pl.col("item_id").is_in(asked.keys())))
    for line, entry in read_entries(path, imported):
        item, said = identify(entry)
        place = Place(path, line, item)
        if not questions.match(place, said, imported):
            continue
        found, prompt = entry.get("filtered_resps"), entry.get("input")
        answer, problem = response_as_answer(found[:1] if isinstance(found, list) else found, "text")
        if answer.text.startswith(FAILED):
            answer = Answer(error=FAILED_ELSEWHERE)
        elif not answer.error and not answer.text:
            problem = EMPTY
        is_other = isinstance(prompt, str) and plain_text(prompt) != plain_text(asked[item]["prompt"])
        imported.note(place, problem, OTHER_PROMPT if is_other else "")
        imported.add(asked[item]["request_id"], answer, place)
    questions.need_a_match(benchmark)


def deviations(files: Sequence[Path], requests: pl.DataFrame, frames: int | None) -> list[Problem]:
    """What the harness's settings say that it did otherwise; each is named once."""
    tasks = {match["task"] for one in files if (match := NAME.fullmatch(one.name))}
    most = int(requests["max_tokens"].max() or 0)  # type: ignore[arg-type]
    found = []
    for path in (path for path in files if path.suffix == ".json"):
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            found.append(Problem(str(path), None, "", NO_SETTINGS))
            continue
        run = object_of(settings, "config")
        shown = FRAMES.findall(str(run.get("model_args")))  # an object, or `a=1,b=2`
        others = [f"{name}={value}" for name, value in shown if frames and int(value) != frames]
        found += [Problem(str(path), None, other, OTHER_FRAMES) for other in others]
        found += [
            Problem(str(path), None, f"{task}: {limit}, here {most}", FEWER_TOKENS)
            for task in sorted(tasks)
            if isinstance(limit := object_of(settings, "configs", task, "generation_kwargs").get("max_new_tokens"), int)
            and limit < most
        ]
        if run.get("limit") is not None:
            found.append(Problem(str(path), None, f"limit={run['limit']}", LIMITED))
    return found
