"""What a language model wrote: the parts that a prompt asks for, or the name of what is wrong with the reply."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

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


class Parts(NamedTuple):
    """The parts of a reply by their labels; or a named problem, and what was found."""

    found: dict[str, str]
    problem: str = ""
    why: str = ""


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, each name as often as it stands there."""


class Listed(NamedTuple):
    """The lines of a list; or a named problem, and what was found."""

    found: list[str]
    problem: str = ""
    why: str = ""


def read_parts(reply: str, labels: Sequence[str], prompt: str) -> Parts:
    """The text after each label, `Fluent Caption: ...`, or the same as a JSON object; a problem if one is missing."""
    text, problem, why = opened(reply, prompt)
    if problem:
        return Parts({}, problem, why)
    parts = _from_json(text, labels) if text.startswith("{") else _from_lines(text, labels)
    if any(has_control(part) for part in parts.found.values()):
        return Parts({}, "unprintable", f"control characters in {shown(text)}")
    return parts


def read_list(reply: str, prompt: str) -> Listed:
    """The lines of a numbered list, or the texts of a JSON list; a problem if there are none."""
    text, problem, why = opened(reply, prompt)
    if problem:
        return Listed([], problem, why)
    listed = _list_from_json(text) if text.startswith("[") else _list_from_lines(text)
    if any(has_control(line) for line in listed.found):
        return Listed([], "unprintable", f"control characters in {shown(text)}")
    return listed


def opened(reply: str, prompt: str) -> tuple[str, str, str]:
    """A reply without its fence; or a problem that any reply may have, and what was found."""
    text = reply.strip()
    fenced = FENCE.match(text)
    text = fenced[1].strip() if fenced else text
    if not text:
        return text, "empty", "the reply is empty"
    if REFUSALS.match(text):
        return text, "refusal", shown(text)
    if _repeats(text, prompt):
        return text, "prompt_repeated", shown(text)
    return text, "", ""


def _repeats(text: str, prompt: str) -> bool:
    """Whether a reply holds the beginning of the prompt, however it is spaced."""
    beginning = " ".join(prompt.split())[:REPEATED_CHARS]
    return len(beginning) >= REPEATED_CHARS // 2 and beginning in " ".join(text.split())


def _from_json(text: str, labels: Sequence[str]) -> Parts:
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        return Parts({}, "broken_json", f"{error}: {shown(text)}")
    pairs = [(str(key).strip().lower(), one) for key, one in value] if isinstance(value, _Pairs) else []
    named = dict(pairs)
    if any([key for key, _ in pairs].count(label.lower()) > 1 for label in labels):
        return Parts({}, "several_captions", f"a name stands twice in {shown(text)}")
    missing = [label for label in labels if not isinstance(named.get(label.lower()), str)]
    if missing:
        return Parts({}, "no_caption", f"no text '{missing[0]}' in {shown(text)}")
    return Parts({label: unquoted(named[label.lower()]) for label in labels})


def _list_from_json(text: str) -> Listed:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Listed([], "broken_json", f"{error}: {shown(text)}")
    others = [one for one in value if not isinstance(one, str)]
    if others:
        return Listed([], "no_list", f"{shown(json.dumps(others[0]))} is no text")
    found = [unquoted(one) for one in value]
    return Listed(found) if any(found) else Listed([], "no_list", f"no text in {shown(text)}")


def _list_from_lines(text: str) -> Listed:
    found = [unquoted(line) for line in LINE.findall(text)]
    return Listed(found) if any(found) else Listed([], "no_list", f"no line '1. ...' in {shown(text)}")


def _from_lines(text: str, labels: Sequence[str]) -> Parts:
    found: dict[str, str] = {}
    for label in labels:
        pattern = rf"^(?:[^\w\n]|_)*{re.escape(label)}[*_]*\s*:[*_]*\s*(.+)$"
        matches = re.findall(pattern, text, re.IGNORECASE | re.MULTILINE)
        if not matches:
            return Parts({}, "no_caption", f"no line '{label}: ...' in {shown(text)}")
        if len(set(matches)) > 1:
            return Parts({}, "several_captions", f"{len(matches)} lines '{label}: ...'")
        found[label] = unquoted(matches[0])
        if not found[label]:
            return Parts({}, "no_caption", f"nothing after '{label}:'")
    return Parts(found)


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
