"""Sample logs of lmms-eval (`--log_samples`): their answers, and deviations of the harness's settings from this run.

A line holds the harness's metric, which contains the entry of the release, the prompt (`input`) and the scored answer
(`filtered_resps`).
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

# Deviations from a run of Reprise; a table counts them by these labels.
EMPTY = "empty answer, which lmms-eval also writes after an error"
FEWER_TOKENS = "answers limited to fewer tokens than here"
LIMITED = "asked in part (--limit)"
NO_SETTINGS = "the harness's settings are not readable"

# The harness writes these texts in place of an answer if an API fails.
FAILED = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED")
NAME = re.compile(r"(?P<date>.*?)_?samples_(?P<task>.+)\.jsonl")
# The argument for the number of frames per clip; its name depends on the model class of the harness.
FRAMES = re.compile(
    r"\b(max_frames_num|max_num_frames|max_frame_num|num_frames|nframes|frames_num|video_frames)\W*[=:]\W*(\d+)"
)

Identify = Callable[[Mapping[str, Any]], tuple[str, str]]
"""A line -> the id of its item and its question."""


def settings_beside(files: Sequence[Path]) -> list[Path]:
    """Return the files `<date>_results.json` that the harness writes next to the samples of the same run."""
    dates = [(path, match["date"]) for path in files if (match := NAME.fullmatch(path.name)) and match["date"]]
    return sorted({settings for path, date in dates if (settings := path.with_name(f"{date}_results.json")).is_file()})


def read_log(
    path: Path,
    imported: ImportedAnswers,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    benchmark: str,
    identify: Identify,
) -> None:
    requests_by_item = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    questions = Questions(items.filter(pl.col("item_id").is_in(requests_by_item.keys())))
    for line, entry in read_entries(path, imported):
        item, question = identify(entry)
        place = Place(path, line, item)
        if not questions.match(place, question, imported):
            continue
        responses, prompt = entry.get("filtered_resps"), entry.get("input")
        answer, problem = response_as_answer(responses[:1] if isinstance(responses, list) else responses, "text")
        if answer.text.startswith(FAILED):
            answer = Answer(error=FAILED_ELSEWHERE)
        elif not answer.error and not answer.text:
            problem = EMPTY
        is_other_prompt = isinstance(prompt, str) and plain_text(prompt) != plain_text(requests_by_item[item]["prompt"])
        imported.note(place, problem, OTHER_PROMPT if is_other_prompt else "")
        imported.add(requests_by_item[item]["request_id"], answer, place)
    questions.require_match(benchmark)


def deviations(files: Sequence[Path], requests: pl.DataFrame, frames: int | None) -> list[Problem]:
    """Return the deviations in the harness's settings; each is listed once."""
    tasks = {match["task"] for path in files if (match := NAME.fullmatch(path.name))}
    max_tokens = int(requests["max_tokens"].max() or 0)  # type: ignore[arg-type]
    problems = []
    for path in (path for path in files if path.suffix == ".json"):
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            problems.append(Problem(str(path), None, "", NO_SETTINGS))
            continue
        run = object_of(settings, "config")
        frame_arguments = FRAMES.findall(str(run.get("model_args")))  # an object, or `a=1,b=2`
        mismatches = [f"{name}={value}" for name, value in frame_arguments if frames and int(value) != frames]
        problems += [Problem(str(path), None, mismatch, OTHER_FRAMES) for mismatch in mismatches]
        problems += [
            Problem(str(path), None, f"{task}: {limit}, here {max_tokens}", FEWER_TOKENS)
            for task in sorted(tasks)
            if isinstance(limit := object_of(settings, "configs", task, "generation_kwargs").get("max_new_tokens"), int)
            and limit < max_tokens
        ]
        if run.get("limit") is not None:
            problems.append(Problem(str(path), None, f"limit={run['limit']}", LIMITED))
    return problems
