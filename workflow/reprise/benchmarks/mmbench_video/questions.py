"""What MMBench-Video asks: all questions of a video at once, or each alone; and about images."""

import json
from collections.abc import Mapping

import polars as pl

from reprise.benchmarks.mmbench_video.complete import complete_items, values_of
from reprise.benchmarks.mmbench_video.images.questions import requests as image_requests
from reprise.benchmarks.mmbench_video.images.taxonomy import FORM_OF
from reprise.benchmarks.prompts import Prompt, fill


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """`packed` asks all questions of a video at once, by index; `unpacked` asks each alone; and images."""
    if form in FORM_OF.values():
        return image_requests(items, form, prompt)
    items = complete_items(items)
    groups = items.partition_by("clip_id", maintain_order=True)
    if form == "packed":
        return [_packed_request(group.to_dicts(), prompt) for group in groups]
    return [_request(item, item["item_id"], form, values_of(item), item["answer"], prompt) for item in items.to_dicts()]


def _packed_request(items: list[dict[str, object]], prompt: Prompt) -> dict[str, object]:
    questions = {str(item["item_id"]): values_of(item)["question"] for item in items}
    answers = {str(item["item_id"]): item["answer"] for item in items}
    values = values_of(items[0]) | {"questions": json.dumps(questions, ensure_ascii=False)}
    expected = json.dumps(answers, ensure_ascii=False)
    return _request(items[0], str(items[0]["clip_id"]), "packed", values, expected, prompt)


def _request(
    item: Mapping[str, object], asked_of: str, role: str, values: Mapping[str, str], expected: object, prompt: Prompt
) -> dict[str, object]:
    return {
        "request_id": f"{asked_of}#{role}",
        "item_id": item["item_id"],
        "clip_id": item["clip_id"],
        "role": role,
        "system": fill(prompt.system, values),
        "prompt": fill(prompt.user, values),
        "options": [],
        "option_texts": [],
        "expected": expected,
    }
