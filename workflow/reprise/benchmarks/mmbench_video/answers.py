"""Split MMBench-Video's replies into one answer per question, for a judge."""

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


def unpack(items: pl.DataFrame, responses: pl.DataFrame, extractor: str) -> list[FreeFormAnswer]:
    """Split each reply into the answers to its video's questions."""
    by_clip = {row["clip_id"]: row for row in responses.iter_rows(named=True)}
    answered_items = to_items(items.filter(pl.col("clip_id").is_in(list(by_clip))))
    items_by_clip = group_by_key(filter(is_complete, answered_items), lambda item: item.clip_id)
    split_reply = split_as_authors if extractor == "authors" else split_robustly
    answers = []
    for clip_id, members in items_by_clip.items():
        indices = [item.item_id for item in members]
        reply, error = by_clip[clip_id]["text"], by_clip[clip_id]["error"]
        texts = {} if error else split_reply(reply, indices)
        for index in indices:
            unreadable = "" if index in texts else UNREADABLE
            answers.append(FreeFormAnswer(index, "packed", texts.get(index, ""), error or unreadable))
    return answers


def split_as_authors(text: str, indices: Sequence[str]) -> dict[str, str]:
    """Split a reply as the reference harness does: by its only JSON object, or else by `key: value` lines.

    The lines count only if the reply has a single opening brace. Text after a second `: ` in a line is lost.
    """
    objects, (_, *bodies) = _json_objects(text), text.split("{")
    answers: dict[Any, object] = {}
    if len(objects) == 1:
        answers = objects[0]
    elif len(bodies) == 1:
        for line in bodies[0].strip().split("\n"):
            key, value, *_ = (part.strip().strip(",\"'") for part in (*line.strip().split(": "), ""))
            if key and value:
                answers[key] = value
    return {index: _as_text(answers[index]) for index in indices if answers.get(index) is not None}


def split_robustly(text: str, indices: Sequence[str]) -> dict[str, str]:
    """Split a reply that is JSON, a Python literal like the prompt's own example, or a truncated list of pairs.

    The keys are the questions' indices, or I1, I2, and so on. A reply without a brace answers the video's only
    question, as the prompt allows; if the video has several, such a reply has no answers.
    """
    if "{" not in text:
        return {indices[0]: text} if len(indices) == 1 and text.strip() else {}
    merged = {key: value for mapping in _json_objects(text) for key, value in mapping.items()}
    pairs = {key: value for _, key, _, value in KEY_VALUE_PAIR.findall(text)}
    for mapping in (merged, _literal(text), pairs):
        by_name = {str(key).strip(): value for key, value in mapping.items()}
        numbered_names = {index: f"I{position}" for position, index in enumerate(indices, start=1)}
        for name_by_index in ({index: index for index in indices}, numbered_names):
            texts = {i: _as_text(by_name[name]) for i, name in name_by_index.items() if by_name.get(name) is not None}
            if texts:
                return texts
    return {}


def _json_objects(text: str) -> list[dict[Any, object]]:
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


def _literal(text: str) -> dict[Any, object]:
    """Return the Python dictionary literal in a text, without evaluating any code."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = ast.literal_eval(match[0]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _as_text(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


ANSWERS = {"unpacked": select_all_answers, "packed": unpack}
