"""Models that think before they answer: where the thought ends, and what is read behind it."""

import re
from typing import Any

OPEN, CLOSE = "<think>", "</think>"
OPENED = re.compile(rf"\A\s*{OPEN}")
CUT = "the thought did not end within {} tokens. Set settings.max_tokens in the model's file"


def opens_thought(prompt: str) -> bool:
    """Whether a prompt ends within a thought, as some chat templates begin it themselves."""
    return prompt.rstrip().endswith(OPEN)


def behind_thought(text: str, *, is_open: bool) -> str | None:
    """What a model wrote behind its thought, or all of it; None where a thought did not end."""
    if CLOSE in text:
        return text.partition(CLOSE)[2].lstrip()
    return None if is_open or OPENED.match(text) else text


def words_behind_thought(tokenizer: Any, new: Any, *, is_open: bool) -> str | None:
    """What tokens say behind a thought, whose marks may be special tokens; None where it did not end."""
    whole = tokenizer.decode(new)
    found = behind_thought(whole, is_open=is_open)
    if found is None or found is whole:
        return found if found is None else str(tokenizer.decode(new, skip_special_tokens=True))
    for mark in tokenizer.all_special_tokens:
        found = found.replace(mark, "")
    return found
