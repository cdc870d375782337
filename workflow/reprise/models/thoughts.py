"""Models that think before they answer: where the thought ends and the answer begins."""

import re

OPEN, CLOSE = "<think>", "</think>"
OPENED = re.compile(rf"\A\s*{OPEN}")


def opens_thought(prompt: str) -> bool:
    """Return whether a prompt ends inside a thought, which some chat templates open themselves."""
    return prompt.rstrip().endswith(OPEN)


def behind_thought(text: str, *, is_open: bool) -> str | None:
    """Return the text after the thought, or the whole text if there is none; None if the thought did not end."""
    if CLOSE in text:
        return text.partition(CLOSE)[2].lstrip()
    return None if is_open or OPENED.match(text) else text
