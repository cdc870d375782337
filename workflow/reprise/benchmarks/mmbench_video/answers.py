"""MMBench-Video's answers as a judge sees them: one per question, even if one reply answers several."""

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.asking import UNREADABLE, FreeAnswer, answers_as_given
from reprise.benchmarks.mmbench_video.taxonomy import is_complete
from reprise.benchmarks.rows import grouped, items_of

PAIR = re.compile(r"""(["'])(\w+)\1\s*:\s*(["'])(.*?)(?<!\\)\3\s*(?=[,}\n]|\Z)""", re.DOTALL)


def unpack(items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[FreeAnswer]:
    """Each reply, split into the answers to its video's questions."""
    by_clip = {row["clip_id"]: row for row in responses.iter_rows(named=True)}
    of_clips = items_of(items.filter(pl.col("clip_id").is_in(list(by_clip))))
    asked = grouped(filter(is_complete, of_clips), lambda item: item.clip_id)
    split = split_as_authors if reader == "authors" else split_robustly
    found = []
    for clip_id, members in asked.items():
        indices = [item.item_id for item in members]
        reply, error = by_clip[clip_id]["text"], by_clip[clip_id]["error"]
        texts = {} if error else split(reply, indices)
        for index in indices:
            unread = "" if index in texts else UNREADABLE
            found.append(FreeAnswer(index, "packed", texts.get(index, ""), error or unread))
    return found


def split_as_authors(text: str, indices: Sequence[str]) -> dict[str, str]:
    """The reference harness: the one JSON object of the reply, else its `key: value` lines if it has one brace.

    What follows a second `: ` of a line is lost, as in the harness.
    """
    objects, (_, *behind) = _json_objects(text), text.split("{")
    found: dict[Any, object] = {}
    if len(objects) == 1:
        found = objects[0]
    elif len(behind) == 1:
        for line in behind[0].strip().split("\n"):
            key, value, *_ = (part.strip().strip(",\"'") for part in (*line.strip().split(": "), ""))
            if key and value:
                found[key] = value
    return {index: _as_text(found[index]) for index in indices if found.get(index) is not None}


def split_robustly(text: str, indices: Sequence[str]) -> dict[str, str]:
    """JSON, or a Python literal as the prompt's own example is one, else the pairs of a reply that was cut off.

    The names are indices, or I1, I2, .... A reply without a brace answers the only question of a video, as the prompt
    allows, and nothing otherwise.
    """
    if "{" not in text:
        return {indices[0]: text} if len(indices) == 1 and text.strip() else {}
    merged = {key: value for found in _json_objects(text) for key, value in found.items()}
    pairs = {key: value for _, key, _, value in PAIR.findall(text)}
    for found in (merged, _literal(text), pairs):
        named = {str(key).strip(): value for key, value in found.items()}
        numbered = {index: f"I{place}" for place, index in enumerate(indices, start=1)}
        for names in ({index: index for index in indices}, numbered):
            texts = {i: _as_text(named[name]) for i, name in names.items() if named.get(name) is not None}
            if texts:
                return texts
    return {}


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


def _literal(text: str) -> dict[Any, object]:
    """The dictionary of Python in a text; nothing is evaluated."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = ast.literal_eval(match[0]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


ANSWERS = {"unpacked": answers_as_given, "packed": unpack}
