"""What a language model wrote: the parts that a prompt asks for, or the name of what is wrong with the reply."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from reprise.construction.sheets import has_control

REFUSALS = re.compile(
    r"^\W*(?:i['’]?m sorry|i am sorry|sorry,|i can(?:not|['’]t)\b|i['’]?m (?:not able|unable)|i am (?:not able|unable)|"
    r"as an ai\b|as a language model)",
    re.IGNORECASE,
)
FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)
QUOTES = ('""', "“”", "„“", "„”", "”“", "””", "‟”", "«»", "»«", "‹›", "「」", "『』", "''", "‘’", "‚‘", "`´", "``")
"""pairs of quotes: how a text begins, and how it ends"""
LONGEST_SHOWN = 80
REPEATED_CHARS = 60
LINE = re.compile(r"^[^\S\n]*(?:\d+[^\S\n]*[.):]|[-*•])\s*(\S.*)$", re.MULTILINE)
LIST_PROBLEMS = ("empty", "refusal", "prompt_repeated", "broken_json", "no_list", "unprintable")
PROBLEMS = ("empty", "refusal", "prompt_repeated", "broken_json", "no_caption", "several_captions", "unprintable")


class UnusableError(Exception):
    """A reply cannot be used: the name of its problem, and what was found."""

    def __init__(self, problem: str, why: str) -> None:
        super().__init__(f"{problem}: {why}")
        self.problem, self.why = problem, why


def read_parts(reply: str, labels: Sequence[str], prompt: str) -> dict[str, str]:
    """The text after each label, `Fluent Caption: ...`, or of a JSON object with these names."""
    text = opened(reply, prompt)
    parts = _from_json(text, labels) if text.startswith("{") else _from_lines(text, labels)
    _refuse_control(text, parts.values())
    return parts


def read_list(reply: str, prompt: str) -> list[str]:
    """The lines of a numbered list, or the texts of a JSON list."""
    text = opened(reply, prompt)
    is_json = text.startswith("[")
    listed = _json(text) if is_json else LINE.findall(text)
    others = [one for one in listed if not isinstance(one, str)]
    if others:
        raise UnusableError("no_list", f"{shown(json.dumps(others[0]))} is no text")
    lines = [unquoted(line) for line in listed]
    if not any(lines):
        wanted = "text" if is_json else "line '1. ...'"
        raise UnusableError("no_list", f"no {wanted} in {shown(text)}")
    _refuse_control(text, lines)
    return lines


def opened(reply: str, prompt: str) -> str:
    """A reply without its fence, and without a problem that any reply may have."""
    text = reply.strip()
    fenced = FENCE.match(text)
    text = fenced[1].strip() if fenced else text
    if not text:
        raise UnusableError("empty", "the reply is empty")
    if REFUSALS.match(text):
        raise UnusableError("refusal", shown(text))
    beginning = " ".join(prompt.split())[:REPEATED_CHARS]
    if len(beginning) >= REPEATED_CHARS // 2 and beginning in " ".join(text.split()):
        raise UnusableError("prompt_repeated", shown(text))
    return text


def _json(text: str, pairs: type | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise UnusableError("broken_json", f"{error}: {shown(text)}") from error


def _refuse_control(text: str, found: Iterable[str]) -> None:
    if any(map(has_control, found)):
        raise UnusableError("unprintable", f"control characters in {shown(text)}")


def _from_json(text: str, labels: Sequence[str]) -> dict[str, str]:
    pairs = [(str(key).strip().lower(), one) for key, one in _json(text, list)]
    named = dict(pairs)
    if any([key for key, _ in pairs].count(label.lower()) > 1 for label in labels):
        raise UnusableError("several_captions", f"a name stands twice in {shown(text)}")
    missing = [label for label in labels if not isinstance(named.get(label.lower()), str)]
    if missing:
        raise UnusableError("no_caption", f"no text '{missing[0]}' in {shown(text)}")
    return {label: unquoted(named[label.lower()]) for label in labels}


def _from_lines(text: str, labels: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for label in labels:
        pattern = rf"^(?:[^\w\n]|_)*{re.escape(label)}[*_]*\s*:[*_]*\s*(.+)$"
        matches = re.findall(pattern, text, re.IGNORECASE | re.MULTILINE)
        if not matches:
            raise UnusableError("no_caption", f"no line '{label}: ...' in {shown(text)}")
        if len(set(matches)) > 1:
            raise UnusableError("several_captions", f"{len(matches)} lines '{label}: ...'")
        found[label] = unquoted(matches[0])
        if not found[label]:
            raise UnusableError("no_caption", f"nothing after '{label}:'")
    return found


def unquoted(text: str) -> str:
    """A text on one line, without the quotes of any language around the whole of it."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] + line[-1] in QUOTES:
        line = line[1:-1].strip()
    return line


def shown(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}..."
