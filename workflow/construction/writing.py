"""Rounds of requests to a writer model, until each reply is usable, and the parsing of its replies."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from reprise.benchmarks.prompts import Prompt, fill
from reprise.core.plain import cut

from construction.filters import KEPT, Row
from construction.sheets import has_control

REFUSALS = re.compile(
    r"^\W*(?:i['’]?m sorry|i am sorry|sorry,|i can(?:not|['’]t)\b|i['’]?m (?:not able|unable)|i am (?:not able|unable)|"
    r"as an ai\b|as a language model)",
    re.IGNORECASE,
)
FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)
QUOTES = ('""', "“”", "„“", "„”", "”“", "””", "‟”", "«»", "»«", "‹›", "「」", "『』", "''", "‘’", "‚‘", "`´", "``")
"""The opening and closing quotes that may surround a text."""
LONGEST_SHOWN = 80
REPEATED_CHARS = 60
LINE = re.compile(r"^[^\S\n]*(?:\d+[^\S\n]*[.):]|[-*•])\s*(\S.*)$", re.MULTILINE)
FEEDBACK = "\n\nYour last reply was:\n{reply}\n\nIt cannot be used ({problem}: {why}). Write it again."
FAILED = "failed"


class UnusableError(Exception):
    def __init__(self, problem: str, why: str) -> None:
        super().__init__(f"{problem}: {why}")
        self.problem, self.why = problem, why


class Reading(NamedTuple):
    """A parsed reply: the text, or the name of its problem and the reason."""

    reply: str = ""
    text: str = ""
    target: str = ""
    problem: str = ""
    why: str = ""


Read = Callable[[Row, str, str, Mapping[str, str]], tuple[str, str]]
"""A parser: (text to write, reply, prompt, texts written so far by id) -> (text of the reply, its target)."""


class Rounds:
    """The parsed replies of all rounds so far. A text may first be requested in a later round, once it is known."""

    def __init__(
        self, texts: Sequence[Row], replies: Iterable[pl.DataFrame], prompts: Mapping[str, Prompt], read: Read
    ) -> None:
        self._replies = [{row["item_id"]: row for row in table.iter_rows(named=True)} for table in replies]
        self._texts, self._prompts, self._read = texts, prompts, read
        self.written: dict[str, str] = {}
        self._readings: dict[str, list[Reading]] = {}
        for text in sorted(
            texts, key=lambda text: bool(text["instead_of"])
        ):  # first the texts that others must not repeat
            readings = self._readings[text["text_id"]] = list(self._of(text))
            if readings and not readings[-1].problem:
                self.written[text["text_id"]] = readings[-1].text

    def _of(self, text: Row) -> Iterator[Reading]:
        """Yield the parsed replies for a text up to the first usable or failed one."""
        prompt = self._prompts[text["kind"]]
        for row in (replies[text["text_id"]] for replies in self._replies if text["text_id"] in replies):
            if row["error"]:
                yield Reading(row["text"], problem=FAILED, why=f"{row['error']}: {row['message']}")
                return
            try:
                yield Reading(row["text"], *self._read(text, row["text"], prompt.system or prompt.user, self.written))
                return
            except UnusableError as error:
                yield Reading(row["text"], problem=error.problem, why=error.why)

    def requests(self, max_tokens: int) -> list[Row]:
        """Return the requests of the next round; a failed request is not repeated in other words."""
        number = len(self._replies) + 1
        rows = []
        for text in self._texts:
            name = text["text_id"]
            last = next(reversed(self._readings[name]), None)
            if last and last.problem in ("", FAILED):
                continue
            values = {entry["name"]: entry["text"] for entry in text["values"]}
            values["feedback"] = fill(FEEDBACK, last._asdict()) if last else ""
            prompt = self._prompts[text["kind"]]
            system, user = fill(prompt.system, values), fill(prompt.user, values)
            rows.append(request(name, number, system, user, max_tokens) | {"request_id": f"{name}#{number}"})
        return rows

    def table(self) -> list[Row]:
        """Return a row per text with all its replies; the last reply's problem drops a text without a usable one."""
        rows = []
        for text in self._texts:
            readings = self._readings[text["text_id"]]
            last = readings[-1] if readings else Reading(problem=FAILED, why="it was not asked for")
            rows.append({
                "text_id": text["text_id"], "kind": text["kind"], "rounds": len(readings), "text": last.text,
                "target": last.target, "replies": [reading.reply for reading in readings],
                "problems": [f"{reading.problem}: {reading.why}" for reading in readings if reading.problem],
                **({"filter": last.problem, "why": last.why} if last.problem else KEPT),
            })  # fmt: skip
        return rows


def request(name: str, number: int, system: str, prompt: str, max_tokens: int) -> Row:
    return {
        "request_id": name, "item_id": name, "clip_id": name, "role": str(number), "ask": "write", "system": system,
        "prompt": prompt, "options": [], "option_texts": [], "expected": "", "max_tokens": max_tokens,
    }  # fmt: skip


# These parsers return the parts of a reply that a prompt asks for, or raise `UnusableError` with a named problem.


def read_parts(reply: str, labels: Sequence[str], prompt: str) -> dict[str, str]:
    """Return the text after each label, such as `Fluent Caption: ...`, or the JSON object's texts of these names."""
    text = opened(reply, prompt)
    is_json = text.startswith("{")
    pairs = [(str(key).strip().lower(), content) for key, content in _json(text, list)] if is_json else []
    parts = {}
    for label in labels:
        pattern = rf"^(?:[^\w\n]|_)*{re.escape(label)}[*_]*\s*:[*_]*\s*(.+)$"
        lines = re.findall(pattern, text, re.IGNORECASE | re.MULTILINE)
        matches = [content for key, content in pairs if key == label.lower()] if is_json else list(dict.fromkeys(lines))
        if len(matches) > 1:
            reason = f"a name stands twice in {shown(text)}" if is_json else f"{len(lines)} lines '{label}: ...'"
            raise UnusableError("several_captions", reason)
        if not matches or not isinstance(matches[0], str):
            expected = f"text '{label}'" if is_json else f"line '{label}: ...'"
            raise UnusableError("no_caption", f"no {expected} in {shown(text)}")
        parts[label] = unquoted(matches[0])
        if not parts[label]:
            raise UnusableError("no_caption", f"nothing after '{label}:'")
    _refuse_control(text, parts.values())
    return parts


def read_list(reply: str, prompt: str) -> list[str]:
    text = opened(reply, prompt)
    is_json = text.startswith("[")
    entries = _json(text) if is_json else LINE.findall(text)
    invalid = [entry for entry in entries if not isinstance(entry, str)]
    if invalid:
        raise UnusableError("no_list", f"{shown(json.dumps(invalid[0]))} is no text")
    lines = [unquoted(line) for line in entries]
    if not any(lines):
        expected = "text" if is_json else "line '1. ...'"
        raise UnusableError("no_list", f"no {expected} in {shown(text)}")
    _refuse_control(text, lines)
    return lines


def opened(reply: str, prompt: str) -> str:
    """Return a reply without its code fence; refuse a reply that is empty, a refusal or a repetition of the prompt."""
    text = reply.strip()
    if fenced := FENCE.match(text):
        text = fenced[1].strip()
    if not text:
        raise UnusableError("empty", "the reply is empty")
    if REFUSALS.match(text):
        raise UnusableError("refusal", shown(text))
    beginning = " ".join(prompt.split())[:REPEATED_CHARS]
    if len(beginning) >= REPEATED_CHARS // 2 and beginning in " ".join(text.split()):
        raise UnusableError("prompt_repeated", shown(text))
    return text


def _json(text: str, pair_type: type | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=pair_type)
    except (ValueError, RecursionError) as error:
        raise UnusableError("broken_json", f"{error}: {shown(text)}") from error


def _refuse_control(text: str, parts: Iterable[str]) -> None:
    if any(map(has_control, parts)):
        raise UnusableError("unprintable", f"control characters in {shown(text)}")


def unquoted(text: str) -> str:
    """Return a text on one line, without quotes of any language around the whole text."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] + line[-1] in QUOTES:
        line = line[1:-1].strip()
    return line


def shown(text: str) -> str:
    return cut(" ".join(text.split()), LONGEST_SHOWN)
