"""Packed answers of MMBench-Video: one reply to all questions of a video, split to them by index."""

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

PAIR = re.compile(r"""(["'])(\w+)\1\s*:\s*(["'])(.*?)(?<!\\)\3\s*(?=[,}\n]|\Z)""", re.DOTALL)


def split_as_authors(text: str, indices: Sequence[str]) -> dict[str, str]:
    """The reference harness: the one JSON object of the reply, else its `key: value` lines if it has one brace."""
    objects = _json_objects(text.strip())
    found = objects[0] if len(objects) == 1 else _lines_after_brace(text.strip())
    return {index: _as_text(found[index]) for index in indices if found.get(index) is not None}


def _json_objects(text: str) -> list[dict[Any, object]]:
    """Every JSON object in a text, outermost ones only."""
    found: list[dict[Any, object]] = []
    place, decoder = text.find("{"), json.JSONDecoder()
    while place != -1:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            found.append(value)
        place = text.find("{", end)
    return found


def _lines_after_brace(text: str) -> dict[Any, object]:
    """`'7': 'an answer',` line by line; what follows a second `: ` is lost, as in the harness."""
    if text.count("{") != 1:
        return {}
    found: dict[Any, object] = {}
    for line in text[text.find("{") + 1 :].strip().split("\n"):
        parts = line.strip().split(": ")
        if len(parts) > 1:
            key, value = (part.strip().strip(",\"'") for part in parts[:2])
            if key and value:
                found[key] = value
    return found


def split_robustly(text: str, indices: Sequence[str]) -> dict[str, str]:
    """JSON, or a Python literal as the prompt's own example is one, else whole pairs; by index or by I1, I2, ....

    A reply without a brace answers the only question of a video, as the prompt allows, and nothing otherwise.
    """
    if "{" not in text:
        return {indices[0]: text} if len(indices) == 1 and text.strip() else {}
    merged = {key: value for found in _json_objects(text) for key, value in found.items()}
    for found in (merged, *_literals(text), _whole_pairs(text)):
        named = {str(key).strip(): value for key, value in found.items()}
        numbered = {index: f"I{place}" for place, index in enumerate(indices, start=1)}
        for names in ({index: index for index in indices}, numbered):
            texts = {i: _as_text(named[name]) for i, name in names.items() if named.get(name) is not None}
            if texts:
                return texts
    return {}


def _literals(text: str) -> list[dict[Any, object]]:
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = ast.literal_eval(match[0]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [value] if isinstance(value, dict) else []


def _whole_pairs(text: str) -> dict[Any, object]:
    """Every finished `"key": "value"` of a reply that was cut off or mistyped."""
    return {key: value for _, key, _, value in PAIR.findall(text)}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


PACKED_READERS = {"authors": split_as_authors, "robust": split_robustly}
