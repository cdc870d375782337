"""Sample logs of lmms-eval (`--log_samples`): their answers, and deviations of the harness's settings from this run.

A line has the prompt in the field `input`, the scored answer in `filtered_resps`, and the entry of the release in a
field named after the metric.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.external import EXTERNAL_FAILURE
from reprise.external.answers import (
    DIFFERENT_FRAMES,
    DIFFERENT_PROMPT,
    FileLocation,
    ImportedAnswers,
    ImportProblem,
    QuestionMatcher,
    get_object,
    normalize_text,
    parse_response,
    read_entries,
)
from reprise.models.base import Answer

# Problems of logs, and deviations from this run; a table counts them by these labels.
EMPTY_ANSWER = "empty answer, which lmms-eval also writes after an error"
FEWER_TOKENS = "answers limited to fewer tokens than here"
PARTIAL_RUN = "partial run (--limit)"
UNREADABLE_SETTINGS = "the harness's settings are not readable"

# The harness writes these texts in place of an answer if an API fails.
FAILURE_PREFIXES = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED")
LOG_NAME = re.compile(r"(?P<date>.*?)_?samples_(?P<task>.+)\.jsonl")
# Argument for the number of frames per clip; its name depends on the harness's class of the model.
FRAMES_ARGUMENT = re.compile(
    r"\b(max_frames_num|max_num_frames|max_frame_num|num_frames|nframes|frames_num|video_frames)\W*[=:]\W*(\d+)"
)

LineIdentifier = Callable[[Mapping[str, Any]], tuple[str, str]]
"""A line -> the id of its item, and its question."""


def find_settings_files(files: Sequence[Path]) -> list[Path]:
    """Return the files `<date>_results.json` that the harness writes next to the samples of the same run."""
    settings_files = set()
    for path in files:
        match = LOG_NAME.fullmatch(path.name)
        if match and match["date"]:
            settings_files.add(path.with_name(f"{match['date']}_results.json"))
    return sorted(path for path in settings_files if path.is_file())


def read_log(
    path: Path,
    imported: ImportedAnswers,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    benchmark: str,
    identify: LineIdentifier,
) -> None:
    """Add the answers of a log, and its problems, to the imported answers."""
    requests_by_item = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    questions = QuestionMatcher(items.filter(pl.col("item_id").is_in(requests_by_item.keys())))
    for line_number, entry in read_entries(path, imported):
        item_id, question = identify(entry)
        location = FileLocation(path, line_number, item_id)
        if not questions.match(location, question, imported):
            continue
        responses, prompt = entry.get("filtered_resps"), entry.get("input")
        # The harness scores only the first of several responses.
        answer, problem = parse_response(responses[:1] if isinstance(responses, list) else responses, "text")
        if answer.text.startswith(FAILURE_PREFIXES):
            answer = Answer(error=EXTERNAL_FAILURE)
        elif not answer.error and not answer.text:
            problem = EMPTY_ANSWER
        request = requests_by_item[item_id]
        is_different = isinstance(prompt, str) and normalize_text(prompt) != normalize_text(request["prompt"])
        imported.add_problems(location, problem, DIFFERENT_PROMPT if is_different else "")
        imported.add_answer(request["request_id"], answer, location)
    questions.require_match(benchmark)


def find_deviations(files: Sequence[Path], requests: pl.DataFrame, frame_count: int | None) -> list[ImportProblem]:
    """Return where the settings of the harness deviate from this run: frames, length of answers, partial runs."""
    tasks = {match["task"] for path in files if (match := LOG_NAME.fullmatch(path.name))}
    max_tokens = int(requests["max_tokens"].max() or 0)  # type: ignore[arg-type]
    problems = []
    settings_files = [path for path in files if path.suffix == ".json"]
    for path in settings_files:
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            problems.append(ImportProblem(str(path), None, "", UNREADABLE_SETTINGS))
            continue
        run = get_object(settings, "config")
        # `model_args` is an object, or a text such as `a=1,b=2`.
        frame_arguments = FRAMES_ARGUMENT.findall(str(run.get("model_args")))
        mismatches = [f"{name}={value}" for name, value in frame_arguments if frame_count and int(value) != frame_count]
        problems += [ImportProblem(str(path), None, mismatch, DIFFERENT_FRAMES) for mismatch in mismatches]
        for task in sorted(tasks):
            harness_max_tokens = get_object(settings, "configs", task, "generation_kwargs").get("max_new_tokens")
            if isinstance(harness_max_tokens, int) and harness_max_tokens < max_tokens:
                detail = f"{task}: {harness_max_tokens}, here {max_tokens}"
                problems.append(ImportProblem(str(path), None, detail, FEWER_TOKENS))
        if run.get("limit") is not None:
            problems.append(ImportProblem(str(path), None, f"limit={run['limit']}", PARTIAL_RUN))
    return problems
