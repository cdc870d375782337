"""The texts of an item, and the two captions that a question is about."""

from collections.abc import Mapping, Sequence


def caption_pair(item: Mapping[str, object]) -> tuple[str, str] | None:
    """The positive and the negative caption of a question, where its text and its answer tell them."""
    texts = texts_of(item)
    if item["answer"] not in ("A", "B") or "A" not in texts:
        return None
    return (texts["A"], texts["B"]) if item["answer"] == "A" else (texts["B"], texts["A"])


def texts_of(item: Mapping[str, object]) -> dict[str, str]:
    texts: Sequence[Mapping[str, str]] = item["texts"]  # type: ignore[assignment]
    return {text["name"]: text["text"] for text in texts}
