"""Separate the thought from the answer of a model that thinks before it answers."""

import re

THOUGHT_START, THOUGHT_END = "<think>", "</think>"
OPEN_THOUGHT_PATTERN = re.compile(rf"\A\s*{THOUGHT_START}")


def has_open_thought(prompt: str) -> bool:
    """Return whether a prompt ends inside a thought, which some chat templates open themselves."""
    return prompt.rstrip().endswith(THOUGHT_START)


def strip_thought(text: str, *, opens_thought: bool) -> str | None:
    """Return the text after the thought, or the whole text if there is none; None if the thought did not end.

    Args:
        opens_thought: Whether the prompt has opened a thought, so that the text begins inside it.
    """
    if THOUGHT_END in text:
        return text.partition(THOUGHT_END)[2].lstrip()
    return None if opens_thought or OPEN_THOUGHT_PATTERN.match(text) else text
