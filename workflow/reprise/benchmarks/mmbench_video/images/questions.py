"""What is asked about an image: the options in every rotation, or as they are."""

from collections.abc import Mapping

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import CIRCULAR, option_texts, texts_of
from reprise.benchmarks.prompts import Prompt, fill


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """One request a rotation of an item's options; `choice` asks only for the order in which they are released."""
    return [
        _request(item, turn, prompt)
        for item in items.iter_rows(named=True)
        for turn in range(len(option_texts(item)) if form == CIRCULAR else 1)
    ]


def _request(item: Mapping[str, object], turn: int, prompt: Prompt) -> dict[str, object]:
    """The option that was at place i + turn stands at place i; the letters stay."""
    options = option_texts(item)
    letters = list(options)
    moved = [options[letters[(place + turn) % len(letters)]] for place in range(len(letters))]
    expected = letters[(letters.index(str(item["answer"])) - turn) % len(letters)] if item["answer"] else ""
    texts = texts_of(item)
    values = {
        "question": texts["question"],
        "hint": f"Hint: {texts['hint']}\n" if texts["hint"] else "",
        "options": "".join(f"{letter}. {text}\n" for letter, text in zip(letters, moved, strict=True)),
    }
    return {
        "request_id": f"{item['item_id']}#rotation{turn}",
        "item_id": item["item_id"],
        "clip_id": item["clip_id"],
        "role": f"rotation{turn}",
        "system": fill(prompt.system, values),
        "prompt": fill(prompt.user, values),
        "options": letters,
        "option_texts": moved,
        "expected": expected,
    }
