"""What VELOCITI asks: each caption alone, or both in both orders."""

import polars as pl

from reprise.benchmarks.prompts import Prompt, fill


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """`entail` and `similarity` ask about each caption alone, `mc` about both captions in both orders."""
    asked = []
    for item in items.iter_rows(named=True):
        texts = {text["name"]: text["text"] for text in item["texts"]}
        positive, negative = texts["positive"], texts["negative"]
        if not (positive.strip() and negative.strip()):
            continue
        if form == "entail":
            fillings = [
                ("pos", {"caption": positive}, ["Yes", "No"], "Yes"),
                ("neg", {"caption": negative}, ["Yes", "No"], "No"),
            ]
        elif form == "similarity":
            fillings = [
                ("pos", {"caption": positive}, ["match"], "match"),
                ("neg", {"caption": negative}, ["match"], ""),
            ]
        else:
            fillings = [
                ("a", {"caption_a": positive, "caption_b": negative}, ["A", "B"], "A"),
                ("b", {"caption_a": negative, "caption_b": positive}, ["A", "B"], "B"),
            ]
        for role, values, options, expected in fillings:
            asked.append(
                {
                    "request_id": f"{item['item_id']}#{role}",
                    "item_id": item["item_id"],
                    "clip_id": item["clip_id"],
                    "role": role,
                    "system": fill(prompt.system, values),
                    "prompt": fill(prompt.user, values),
                    "options": options,
                    "option_texts": [values["caption_a"], values["caption_b"]] if form == "mc" else [],
                    "expected": expected,
                }
            )
    return asked
