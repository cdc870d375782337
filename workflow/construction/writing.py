"""What a language model is asked, in rounds until a reply can be used, and how its replies are read."""

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
"""pairs of quotes: how a text begins, and how it ends"""
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
    """A reply as it was read: the text, or the name of its problem and what was found."""

    reply: str = ""
    text: str = ""
    target: str = ""
    problem: str = ""
    why: str = ""


Read = Callable[[Row, str, str, Mapping[str, str]], tuple[str, str]]
"""a text to be written, a reply, what was shown, and the texts that are written already, by id -> what the reply says,
and its target"""


class Rounds:
    """The replies of all rounds so far, read. A text may be asked for from a later round on, once it is known."""

    def __init__(
        self, texts: Sequence[Row], given: Iterable[pl.DataFrame], prompts: Mapping[str, Prompt], read: Read
    ) -> None:
        self._replies = [{row["item_id"]: row for row in table.iter_rows(named=True)} for table in given]
        self._texts, self._prompts, self._read = texts, prompts, read
        self.written: dict[str, str] = {}
        self._readings: dict[str, list[Reading]] = {}
        for text in sorted(texts, key=lambda text: bool(text["instead_of"])):  # what others must not repeat first
            found = self._readings[text["text_id"]] = list(self._of(text))
            if found and not found[-1].problem:
                self.written[text["text_id"]] = found[-1].text

    def _of(self, text: Row) -> Iterator[Reading]:
        """The replies about a text, until one can be used or failed."""
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
        """What is asked in the next round; a question that failed is not asked in other words."""
        number = len(self._replies) + 1
        rows = []
        for text in self._texts:
            name = text["text_id"]
            last = next(reversed(self._readings[name]), None)
            if last and last.problem in ("", FAILED):
                continue
            values = {one["name"]: one["text"] for one in text["values"]}
            values["feedback"] = fill(FEEDBACK, last._asdict()) if last else ""
            prompt = self._prompts[text["kind"]]
            system, user = fill(prompt.system, values), fill(prompt.user, values)
            rows.append(request(name, number, system, user, max_tokens) | {"request_id": f"{name}#{number}"})
        return rows

    def table(self) -> list[Row]:
        """Every text with all of its replies; one without a usable reply is dropped, by the last one's problem."""
        rows = []
        for text in self._texts:
            found = self._readings[text["text_id"]]
            last = found[-1] if found else Reading(problem=FAILED, why="it was not asked for")
            rows.append({
                "text_id": text["text_id"], "kind": text["kind"], "rounds": len(found), "text": last.text,
                "target": last.target, "replies": [one.reply for one in found],
                "problems": [f"{one.problem}: {one.why}" for one in found if one.problem],
                **({"filter": last.problem, "why": last.why} if last.problem else KEPT),
            })  # fmt: skip
        return rows


def request(name: str, number: int, system: str, prompt: str, max_tokens: int) -> Row:
    return {
        "request_id": name, "item_id": name, "clip_id": name, "role": str(number), "ask": "write", "system": system,
        "prompt": prompt, "options": [], "option_texts": [], "expected": "", "max_tokens": max_tokens,
    }  # fmt: skip


# What a reply says: the parts that a prompt asks for, or the name of what is wrong with it.


def read_parts(reply: str, labels: Sequence[str], prompt: str) -> dict[str, str]:
    """The text after each label, `Fluent Caption: ...`, or of a JSON object with these names."""
    text = opened(reply, prompt)
    is_json = text.startswith("{")
    pairs = [(str(key).strip().lower(), one) for key, one in _json(text, list)] if is_json else []
    found = {}
    for label in labels:
        pattern = rf"^(?:[^\w\n]|_)*{re.escape(label)}[*_]*\s*:[*_]*\s*(.+)$"
        lines = re.findall(pattern, text, re.IGNORECASE | re.MULTILINE)
        said = [one for key, one in pairs if key == label.lower()] if is_json else list(dict.fromkeys(lines))
        if len(said) > 1:
            what = f"a name stands twice in {shown(text)}" if is_json else f"{len(lines)} lines '{label}: ...'"
            raise UnusableError("several_captions", what)
        if not said or not isinstance(said[0], str):
            wanted = f"text '{label}'" if is_json else f"line '{label}: ...'"
            raise UnusableError("no_caption", f"no {wanted} in {shown(text)}")
        found[label] = unquoted(said[0])
        if not found[label]:
            raise UnusableError("no_caption", f"nothing after '{label}:'")
    _refuse_control(text, found.values())
    return found


def read_list(reply: str, prompt: str) -> list[str]:
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


def _json(text: str, pairs: type | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise UnusableError("broken_json", f"{error}: {shown(text)}") from error


def _refuse_control(text: str, found: Iterable[str]) -> None:
    if any(map(has_control, found)):
        raise UnusableError("unprintable", f"control characters in {shown(text)}")


def unquoted(text: str) -> str:
    """A text on one line, without the quotes of any language around the whole of it."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] + line[-1] in QUOTES:
        line = line[1:-1].strip()
    return line


def shown(text: str) -> str:
    return cut(" ".join(text.split()), LONGEST_SHOWN)
