"""What TemporalBench asks."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import Prompt, fill
from reprise.benchmarks.temporalbench.captions import texts_of
from reprise.benchmarks.temporalbench.option_sets import LETTERS, OPTION_SETS, option_texts
from reprise.benchmarks.temporalbench.taxonomy import BY_SIMILARITY
from reprise.core.log import log


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """The released question as it is; each of its captions alone; or a question about four captions."""
    if form in BY_SIMILARITY:
        return [request for item in items.iter_rows(named=True) for request in _similarities(item, prompt)]
    asked = []
    for item in items.iter_rows(named=True):
        texts = texts_of(item)
        options: Sequence[str] = ("A", "B")
        shown = [texts[letter] for letter in options if letter in texts]
        expected = item["answer"]
        if form in OPTION_SETS:
            options, shown = LETTERS, option_texts(item["item_id"], form, texts)
            expected = options[shown.index(item["answer"])]
            texts = {f"caption_{letter.lower()}": text for letter, text in zip(options, shown, strict=True)}
        elif form == "caption":
            options, shown = (), []
        asked.append(
            {
                "request_id": f"{item['item_id']}#{form}",
                "item_id": item["item_id"],
                "clip_id": item["clip_id"],
                "role": form,
                "system": fill(prompt.system, texts),
                "prompt": fill(prompt.user, texts),
                "options": options,
                "option_texts": shown,
                "expected": expected,
            }
        )
    return asked


def _similarities(item: Mapping[str, Any], prompt: Prompt) -> list[dict[str, object]]:
    """Both captions of a question, each to be compared with the video; none where its text does not show them."""
    texts = texts_of(item)
    if not {"A", "B"} <= texts.keys():
        log.info(f"{item['item_id']}: its text shows no captions A and B, so it cannot be asked by similarity")
        return []
    return [
        {
            "request_id": f"{item['item_id']}#{letter}",
            "item_id": item["item_id"],
            "clip_id": item["clip_id"],
            "role": letter,
            "system": fill(prompt.system, {"caption": texts[letter]}),
            "prompt": fill(prompt.user, {"caption": texts[letter]}),
            "options": ["match"],
            "option_texts": [],
            "expected": "match" if letter == item["answer"] else "",
        }
        for letter in ("A", "B")
    ]
