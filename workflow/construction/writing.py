"""Rounds of requests to a writer model, until each reply is usable, and the parsing of its replies."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from reprise.benchmarks.prompts import Prompt, fill_template
from reprise.core.plain import truncate

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
LONGEST_EXCERPT = 80
REPEATED_CHARS = 60
LINE = re.compile(r"^[^\S\n]*(?:\d+[^\S\n]*[.):]|[-*•])\s*(\S.*)$", re.MULTILINE)
FEEDBACK = "\n\nYour last reply was:\n{reply}\n\nIt cannot be used ({problem}: {why}). Write it again."
FAILED = "failed"


class UnusableReplyError(Exception):
    def __init__(self, problem: str, why: str) -> None:
        super().__init__(f"{problem}: {why}")
        self.problem, self.why = problem, why


class ParsedReply(NamedTuple):
    """A parsed reply: the text, or the name of its problem and the reason."""

    reply: str = ""
    text: str = ""
    target: str = ""
    problem: str = ""
    why: str = ""


ReplyParser = Callable[[Row, str, str, Mapping[str, str]], tuple[str, str]]
"""A parser: (text to write, reply, prompt, texts written so far by id) -> (text of the reply, its target)."""


class Rounds:
    """The parsed replies of all rounds so far. Some texts are known, and requested, only in a later round."""

    def __init__(
        self, texts: Sequence[Row], replies: Iterable[pl.DataFrame], prompts: Mapping[str, Prompt], parse: ReplyParser
    ) -> None:
        self._replies = [{row["item_id"]: row for row in table.iter_rows(named=True)} for table in replies]
        self._texts, self._prompts, self._parse = texts, prompts, parse
        self.written: dict[str, str] = {}
        self._parsed_replies: dict[str, list[ParsedReply]] = {}
        # Texts that others must not repeat come first.
        for text in sorted(texts, key=lambda text: bool(text["instead_of"])):
            parsed = self._parsed_replies[text["text_id"]] = list(self._parse_replies(text))
            if parsed and not parsed[-1].problem:
                self.written[text["text_id"]] = parsed[-1].text

    def _parse_replies(self, text: Row) -> Iterator[ParsedReply]:
        """Yield the parsed replies for a text up to the first usable or failed one."""
        prompt = self._prompts[text["kind"]]
        for row in (replies[text["text_id"]] for replies in self._replies if text["text_id"] in replies):
            if row["error"]:
                yield ParsedReply(row["text"], problem=FAILED, why=f"{row['error']}: {row['message']}")
                return
            try:
                yield ParsedReply(
                    row["text"], *self._parse(text, row["text"], prompt.system or prompt.user, self.written)
                )
                return
            except UnusableReplyError as error:
                yield ParsedReply(row["text"], problem=error.problem, why=error.why)

    def requests(self, max_tokens: int) -> list[Row]:
        """Return the requests of the next round; a failed request is not repeated in other words."""
        number = len(self._replies) + 1
        rows = []
        for text in self._texts:
            name = text["text_id"]
            last = next(reversed(self._parsed_replies[name]), None)
            if last and last.problem in ("", FAILED):
                continue
            values = {entry["name"]: entry["text"] for entry in text["values"]}
            values["feedback"] = fill_template(FEEDBACK, last._asdict()) if last else ""
            prompt = self._prompts[text["kind"]]
            system, user = fill_template(prompt.system, values), fill_template(prompt.user, values)
            rows.append(writing_request(name, number, system, user, max_tokens) | {"request_id": f"{name}#{number}"})
        return rows

    def table(self) -> list[Row]:
        """Return a row per text with all its replies; the last reply's problem drops a text without a usable one."""
        rows = []
        for text in self._texts:
            parsed = self._parsed_replies[text["text_id"]]
            last = parsed[-1] if parsed else ParsedReply(problem=FAILED, why="it was not requested")
            rows.append({
                "text_id": text["text_id"], "kind": text["kind"], "rounds": len(parsed), "text": last.text,
                "target": last.target, "replies": [reply.reply for reply in parsed],
                "problems": [f"{reply.problem}: {reply.why}" for reply in parsed if reply.problem],
                **({"filter": last.problem, "why": last.why} if last.problem else KEPT),
            })  # fmt: skip
        return rows


def writing_request(name: str, number: int, system: str, prompt: str, max_tokens: int) -> Row:
    return {
        "request_id": name, "item_id": name, "clip_id": name, "role": str(number), "ask": "write", "system": system,
        "prompt": prompt, "options": [], "option_texts": [], "expected": "", "max_tokens": max_tokens,
    }  # fmt: skip


# These parsers return the parts of a reply that a prompt requests, or raise `UnusableReplyError` with a named problem.


def parse_parts(reply: str, labels: Sequence[str], prompt: str) -> dict[str, str]:
    """Return the text after each label, such as `Fluent Caption: ...`, or the JSON object's texts of these names."""
    text = unwrap_reply(reply, prompt)
    is_json = text.startswith("{")
    pairs = [(str(key).strip().lower(), content) for key, content in _json(text, list)] if is_json else []
    parts = {}
    for label in labels:
        pattern = rf"^(?:[^\w\n]|_)*{re.escape(label)}[*_]*\s*:[*_]*\s*(.+)$"
        lines = re.findall(pattern, text, re.IGNORECASE | re.MULTILINE)
        matches = [content for key, content in pairs if key == label.lower()] if is_json else list(dict.fromkeys(lines))
        if len(matches) > 1:
            reason = f"a name stands twice in {excerpt(text)}" if is_json else f"{len(lines)} lines '{label}: ...'"
            raise UnusableReplyError("several_captions", reason)
        if not matches or not isinstance(matches[0], str):
            expected = f"text '{label}'" if is_json else f"line '{label}: ...'"
            raise UnusableReplyError("no_caption", f"no {expected} in {excerpt(text)}")
        parts[label] = unquote(matches[0])
        if not parts[label]:
            raise UnusableReplyError("no_caption", f"nothing after '{label}:'")
    _refuse_control(text, parts.values())
    return parts


def parse_list(reply: str, prompt: str) -> list[str]:
    text = unwrap_reply(reply, prompt)
    is_json = text.startswith("[")
    entries = _json(text) if is_json else LINE.findall(text)
    invalid = [entry for entry in entries if not isinstance(entry, str)]
    if invalid:
        raise UnusableReplyError("no_list", f"{excerpt(json.dumps(invalid[0]))} is no text")
    lines = [unquote(line) for line in entries]
    if not any(lines):
        expected = "text" if is_json else "line '1. ...'"
        raise UnusableReplyError("no_list", f"no {expected} in {excerpt(text)}")
    _refuse_control(text, lines)
    return lines


def unwrap_reply(reply: str, prompt: str) -> str:
    """Return a reply without its code fence; refuse a reply that is empty, a refusal or a repetition of the prompt."""
    text = reply.strip()
    if fenced := FENCE.match(text):
        text = fenced[1].strip()
    if not text:
        raise UnusableReplyError("empty", "the reply is empty")
    if REFUSALS.match(text):
        raise UnusableReplyError("refusal", excerpt(text))
    beginning = " ".join(prompt.split())[:REPEATED_CHARS]
    if len(beginning) >= REPEATED_CHARS // 2 and beginning in " ".join(text.split()):
        raise UnusableReplyError("prompt_repeated", excerpt(text))
    return text


def _json(text: str, pair_type: type | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=pair_type)
    except (ValueError, RecursionError) as error:
        raise UnusableReplyError("broken_json", f"{error}: {excerpt(text)}") from error


def _refuse_control(text: str, parts: Iterable[str]) -> None:
    if any(map(has_control, parts)):
        raise UnusableReplyError("unprintable", f"control characters in {excerpt(text)}")


def unquote(text: str) -> str:
    """Return a text on one line, without quotes of any language around the whole text."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] + line[-1] in QUOTES:
        line = line[1:-1].strip()
    return line


def excerpt(text: str) -> str:
    return truncate(" ".join(text.split()), LONGEST_EXCERPT)
