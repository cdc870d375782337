"""Which questions can be asked and judged."""

from reprise.benchmarks.rows import Item


def is_complete(item: Item) -> bool:
    """Whether an item has a question and an answer."""
    return bool(item.texts["question"].strip() and item.answer.strip())
