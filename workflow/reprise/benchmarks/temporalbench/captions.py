"""The two captions that a question is about."""

from reprise.benchmarks.rows import Item


def caption_pair(item: Item) -> tuple[str, str] | None:
    """The positive and the negative caption, if the question's text and its answer show them."""
    if item.answer not in ("A", "B") or "A" not in item.texts:
        return None
    return item.texts[item.answer], item.texts["B" if item.answer == "A" else "A"]
