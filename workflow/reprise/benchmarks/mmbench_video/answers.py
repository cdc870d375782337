"""Split MMBench-Video's replies into one answer per question, for a judge.

A packed reply answers all questions about a video at once; an unpacked reply answers one question.
"""

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.annotations import group_by_key, to_items
from reprise.benchmarks.mmbench_video.taxonomy import is_complete
from reprise.benchmarks.question_forms import UNREADABLE, FreeFormAnswer, select_all_answers

KEY_VALUE_PAIR = re.compile(r"""(["'])(\w+)\1\s*:\s*(["'])(.*?)(?<!\\)\3\s*(?=[,}\n]|\Z)""", re.DOTALL)
"""a quoted key, a colon and a quoted value; the value ends at the first unescaped quote before `,`, `}`, a line
break or the end"""


def split_packed_replies(items: pl.DataFrame, responses: pl.DataFrame, extractor: str) -> list[FreeFormAnswer]:
    """Split each reply about a video into the answers to the video's questions."""
    response_by_clip = {row["clip_id"]: row for row in responses.iter_rows(named=True)}
    answered_items = to_items(items.filter(pl.col("clip_id").is_in(list(response_by_clip))))
    items_by_clip = group_by_key(filter(is_complete, answered_items), lambda item: item.clip_id)
    split_reply = split_as_authors if extractor == "authors" else split_robustly
    answers = []
    for clip_id, clip_items in items_by_clip.items():
        item_ids = [item.item_id for item in clip_items]
        reply, error = response_by_clip[clip_id]["text"], response_by_clip[clip_id]["error"]
        answer_text_by_id = {} if error else split_reply(reply, item_ids)
        for item_id in item_ids:
            split_error = "" if item_id in answer_text_by_id else UNREADABLE
            answers.append(FreeFormAnswer(item_id, "packed", answer_text_by_id.get(item_id, ""), error or split_error))
    return answers


def split_as_authors(text: str, item_ids: Sequence[str]) -> dict[str, str]:
    """Split a reply as the reference harness does: by its only JSON object, or else by `key: value` lines.

    The lines count only if the reply has a single opening brace. Text after a second `: ` in a line is lost.
    """
    objects = _find_json_objects(text)
    answers: dict[Any, object] = {}
    if len(objects) == 1:
        answers = objects[0]
    elif text.count("{") == 1:
        for line in text.partition("{")[2].strip().split("\n"):
            parts = [part.strip().strip(",\"'") for part in line.strip().split(": ")]
            if len(parts) >= 2 and parts[0] and parts[1]:
                answers[parts[0]] = parts[1]
    return {item_id: _to_text(answers[item_id]) for item_id in item_ids if answers.get(item_id) is not None}


def split_robustly(text: str, item_ids: Sequence[str]) -> dict[str, str]:
    """Split a reply that is JSON, a Python literal like the prompt's own example, or a truncated list of pairs.

    The keys are the questions' indices, or I1, I2, and so on. A reply without a brace answers the video's only
    question, as the prompt allows; if the video has several, such a reply has no answers.
    """
    if "{" not in text:
        return {item_ids[0]: text} if len(item_ids) == 1 and text.strip() else {}
    json_answers = {key: value for json_object in _find_json_objects(text) for key, value in json_object.items()}
    quoted_pairs = {key: value for _, key, _, value in KEY_VALUE_PAIR.findall(text)}
    numbered_keys = {item_id: f"I{number}" for number, item_id in enumerate(item_ids, start=1)}
    for answers in (json_answers, _parse_dict_literal(text), quoted_pairs):
        answer_by_key = {str(key).strip(): value for key, value in answers.items()}
        for key_by_id in ({item_id: item_id for item_id in item_ids}, numbered_keys):
            value_by_id = {item_id: answer_by_key.get(key) for item_id, key in key_by_id.items()}
            texts = {item_id: _to_text(value) for item_id, value in value_by_id.items() if value is not None}
            if texts:
                return texts
    return {}


def _find_json_objects(text: str) -> list[dict[Any, object]]:
    """Return every outermost JSON object in a text."""
    objects: list[dict[Any, object]] = []
    start, decoder = text.find("{"), json.JSONDecoder()
    while start != -1:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            objects.append(value)
        start = text.find("{", end)
    return objects


def _parse_dict_literal(text: str) -> dict[Any, object]:
    """Return the Python dictionary literal in a text, without evaluating any code."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = ast.literal_eval(match[0]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _to_text(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


ANSWERS = {"unpacked": select_all_answers, "packed": split_packed_replies}
