"""Models that think before they answer: where the thought ends, and what is read behind it."""

import re

OPEN, CLOSE = "<think>", "</think>"
OPENED = re.compile(rf"\A\s*{OPEN}")


def opens_thought(prompt: str) -> bool:
    """Whether a prompt ends within a thought, as some chat templates begin it themselves."""
    return prompt.rstrip().endswith(OPEN)


def behind_thought(text: str, *, is_open: bool) -> str | None:
    """What a model wrote behind its thought, or all of it; None where a thought did not end."""
    if CLOSE in text:
        return text.partition(CLOSE)[2].lstrip()
    return None if is_open or OPENED.match(text) else text
