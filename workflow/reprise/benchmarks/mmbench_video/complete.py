"""The questions that can be asked and judged, and what their prompts are filled with."""

from collections.abc import Mapping

import polars as pl


def complete_items(items: pl.DataFrame) -> pl.DataFrame:
    """The items that can be asked and judged: those with a question and an answer."""
    questions = pl.Series([values_of(item)["question"] for item in items.to_dicts()], dtype=pl.String)
    return items.filter((questions.str.strip_chars() != "") & (items["answer"].str.strip_chars() != ""))


def values_of(item: Mapping[str, object]) -> dict[str, str]:
    texts: list[dict[str, str]] = item["texts"]  # type: ignore[assignment]
    values = {text["name"]: text["text"] for text in texts}
    spoken = values["subtitles"]
    return values | {"subtitles": f"\nSubtitle: {spoken}" if spoken else ""}
