"""Rounds of requests to a writer model until each text has a usable reply, and the parsing of replies."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from reprise.benchmarks.prompts import Prompt, fill_template
from reprise.core.plain import truncate

from construction.filters import KEPT, Row
from construction.sheets import has_control_characters

# Beginnings of replies in which a model refuses to write.
REFUSALS = re.compile(
    r"^\W*(?:i['’]?m sorry|i am sorry|sorry,|i can(?:not|['’]t)\b|i['’]?m (?:not able|unable)|i am (?:not able|unable)|"
    r"as an ai\b|as a language model)",
    re.IGNORECASE,
)
CODE_FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)
QUOTES = ('""', "“”", "„“", "„”", "”“", "””", "‟”", "«»", "»«", "‹›", "「」", "『』", "''", "‘’", "‚‘", "`´", "``")
"""The opening and closing quotes that may surround a text."""
MAX_EXCERPT_CHARS = 80  # characters of a reply that a message quotes
PROMPT_START_CHARS = 60  # a reply that contains this many characters from the start of the prompt repeats the prompt
LIST_LINE = re.compile(r"^[^\S\n]*(?:\d+[^\S\n]*[.):]|[-*•])\s*(\S.*)$", re.MULTILINE)
FEEDBACK = "\n\nYour last reply was:\n{reply}\n\nIt cannot be used ({problem}: {why}). Write it again."
FAILED = "failed"  # the problem of a request without a reply


class UnusableReplyError(Exception):
    """A reply cannot be used; `problem` is the name of a filter, and `why` the reason."""

    def __init__(self, problem: str, why: str) -> None:
        super().__init__(f"{problem}: {why}")
        self.problem, self.why = problem, why


class ParsedReply(NamedTuple):
    """A parsed reply: the text, or the name of its problem and the reason."""

    reply: str = ""  # the raw reply
    text: str = ""
    target: str = ""  # the writer's replacement of the verb or the manner, if requested
    problem: str = ""
    why: str = ""


ReplyParser = Callable[[Row, str, str, Mapping[str, str]], tuple[str, str]]
"""A parser: (row of the text, reply, prompt, written text by id) -> (text of the reply, replacement of the verb or
manner)."""


class Rounds:
    """The parsed replies of all rounds so far. A text may enter in a later round, because it depends on replies."""

    def __init__(
        self, texts: Sequence[Row], replies: Iterable[pl.DataFrame], prompts: Mapping[str, Prompt], parse: ReplyParser
    ) -> None:
        # a dictionary per round: text id -> row of the reply
        self._replies = [{row["item_id"]: row for row in table.iter_rows(named=True)} for table in replies]
        self._texts, self._prompts, self._parse = texts, prompts, parse
        self.text_by_id: dict[str, str] = {}
        self._parsed_replies: dict[str, list[ParsedReply]] = {}
        # A text with `instead_of` must not repeat the text with this id, so it is parsed after the others.
        for text in sorted(texts, key=lambda text: bool(text["instead_of"])):
            parsed = list(self._parse_replies(text))
            self._parsed_replies[text["text_id"]] = parsed
            if parsed and not parsed[-1].problem:
                self.text_by_id[text["text_id"]] = parsed[-1].text

    def _parse_replies(self, text: Row) -> Iterator[ParsedReply]:
        """Yield the parsed replies for a text up to the first usable or failed one."""
        prompt = self._prompts[text["kind"]]
        for replies in self._replies:
            row = replies.get(text["text_id"])
            if row is None:
                continue
            if row["error"]:
                yield ParsedReply(row["text"], problem=FAILED, why=f"{row['error']}: {row['message']}")
                return
            try:
                yield ParsedReply(
                    row["text"], *self._parse(text, row["text"], prompt.system or prompt.user, self.text_by_id)
                )
                return
            except UnusableReplyError as error:
                yield ParsedReply(row["text"], problem=error.problem, why=error.why)

    def next_requests(self, max_tokens: int) -> list[Row]:
        """Return the requests of the next round. Failed requests are left to the retries of their own round."""
        round_number = len(self._replies) + 1
        rows = []
        for text in self._texts:
            text_id = text["text_id"]
            parsed = self._parsed_replies[text_id]
            last = parsed[-1] if parsed else None
            if last and last.problem in ("", FAILED):
                continue
            values = {entry["name"]: entry["text"] for entry in text["values"]}
            values["feedback"] = fill_template(FEEDBACK, last._asdict()) if last else ""
            prompt = self._prompts[text["kind"]]
            system, user = fill_template(prompt.system, values), fill_template(prompt.user, values)
            rows.append(
                writing_request(text_id, round_number, system, user, max_tokens)
                | {"request_id": f"{text_id}#{round_number}"}
            )
        return rows

    def table_rows(self) -> list[Row]:
        """Return a row per text with all its replies. The last reply's problem drops a text without a usable reply."""
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


def writing_request(item_id: str, round_number: int, system: str, prompt: str, max_tokens: int) -> Row:
    """Return a request to a writer. It has no clip, and the number of the round is its role."""
    return {
        "request_id": item_id, "item_id": item_id, "clip_id": item_id, "role": str(round_number),
        "request_type": "write",
        "system": system, "prompt": prompt, "options": [], "option_texts": [], "expected": "", "max_tokens": max_tokens,
    }  # fmt: skip


# The parsers below return the requested parts of a reply, or raise `UnusableReplyError` with a named problem.


def parse_parts(reply: str, labels: Sequence[str], prompt: str) -> dict[str, str]:
    """Return the text of each label, from a line such as `Fluent Caption: ...` or from a JSON object with this key."""
    text = unwrap_reply(reply, prompt)
    is_json = text.startswith("{")
    # The JSON object is a list of pairs, in which a repeated key is visible.
    json_pairs = [(str(key).strip().lower(), content) for key, content in _parse_json(text, list)] if is_json else []
    parts = {}
    for label in labels:
        pattern = rf"^(?:[^\w\n]|_)*{re.escape(label)}[*_]*\s*:[*_]*\s*(.+)$"
        lines = re.findall(pattern, text, re.IGNORECASE | re.MULTILINE)
        matches = (
            [content for key, content in json_pairs if key == label.lower()] if is_json else list(dict.fromkeys(lines))
        )
        if len(matches) > 1:
            reason = f"a name stands twice in {excerpt(text)}" if is_json else f"{len(lines)} lines '{label}: ...'"
            raise UnusableReplyError("several_captions", reason)
        if not matches or not isinstance(matches[0], str):
            expected = f"text '{label}'" if is_json else f"line '{label}: ...'"
            raise UnusableReplyError("no_caption", f"no {expected} in {excerpt(text)}")
        parts[label] = unquote(matches[0])
        if not parts[label]:
            raise UnusableReplyError("no_caption", f"nothing after '{label}:'")
    _reject_control_characters(text, parts.values())
    return parts


def parse_list(reply: str, prompt: str) -> list[str]:
    """Return the entries of a numbered or bulleted list, or of a JSON array of texts."""
    text = unwrap_reply(reply, prompt)
    is_json = text.startswith("[")
    entries = _parse_json(text) if is_json else LIST_LINE.findall(text)
    invalid = [entry for entry in entries if not isinstance(entry, str)]
    if invalid:
        raise UnusableReplyError("no_list", f"{excerpt(json.dumps(invalid[0]))} is no text")
    lines = [unquote(line) for line in entries]
    if not any(lines):
        expected = "text" if is_json else "line '1. ...'"
        raise UnusableReplyError("no_list", f"no {expected} in {excerpt(text)}")
    _reject_control_characters(text, lines)
    return lines


def unwrap_reply(reply: str, prompt: str) -> str:
    """Return a reply without its code fence. Reject a reply that is empty, a refusal or a repetition of the prompt."""
    text = reply.strip()
    if fenced := CODE_FENCE.match(text):
        text = fenced[1].strip()
    if not text:
        raise UnusableReplyError("empty", "the reply is empty")
    if REFUSALS.match(text):
        raise UnusableReplyError("refusal", excerpt(text))
    beginning = " ".join(prompt.split())[:PROMPT_START_CHARS]
    if len(beginning) >= PROMPT_START_CHARS // 2 and beginning in " ".join(text.split()):
        raise UnusableReplyError("prompt_repeated", excerpt(text))
    return text


def _parse_json(text: str, pair_type: type | None = None) -> Any:
    """Parse JSON; `pair_type` is called with the pairs of each object instead of building a dictionary."""
    try:
        return json.loads(text, object_pairs_hook=pair_type)
    except (ValueError, RecursionError) as error:
        raise UnusableReplyError("broken_json", f"{error}: {excerpt(text)}") from error


def _reject_control_characters(text: str, parts: Iterable[str]) -> None:
    if any(map(has_control_characters, parts)):
        raise UnusableReplyError("unprintable", f"control characters in {excerpt(text)}")


def unquote(text: str) -> str:
    """Return a text on one line, without the quotes of any language that surround it."""
    line = " ".join(text.split())
    while len(line) > 1 and line[0] + line[-1] in QUOTES:
        line = line[1:-1].strip()
    return line


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, for a message."""
    return truncate(" ".join(text.split()), MAX_EXCERPT_CHARS)
