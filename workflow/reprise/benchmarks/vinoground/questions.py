"""What Vinoground asks: four questions, or four similarities, about a pair."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import Prompt, fill
from reprise.benchmarks.vinoground.taxonomy import HALVES, LETTERS


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """The four questions of a pair (roles `text_pos`, ...), or its four similarities (roles `<video>_<caption>`)."""
    asked: list[dict[str, object]] = []
    for item in items.iter_rows(named=True):
        texts, groups = ({entry["name"]: entry["text"] for entry in item[part]} for part in ("texts", "groups"))
        half = groups["half"]
        if form == "questions" and texts["question"]:
            shown = [texts["a"], texts["b"]] if item["answer"] and texts["a"] and texts["b"] else []
            options = {"options": list(LETTERS), "option_texts": shown, "expected": item["answer"]}
            asked.append(_request(item, f"{item['task']}_{half}", prompt, {"question": texts["question"]}, options))
        elif form == "similarity" and item["task"] == "text":
            for caption in filter(texts.get, HALVES):
                options = {"options": ["match"], "option_texts": [], "expected": "match" if caption == half else ""}
                asked.append(_request(item, f"{half}_{caption}", prompt, {"caption": texts[caption]}, options))
    return asked


def _request(
    item: Mapping[str, Any], role: str, prompt: Prompt, values: Mapping[str, str], options: Mapping[str, object]
) -> dict[str, object]:
    return {
        "request_id": f"{item['item_id']}#{role}",
        "item_id": item["item_id"],
        "clip_id": item["clip_id"],
        "role": role,
        "system": fill(prompt.system, values),
        "prompt": fill(prompt.user, values),
        **options,
    }
