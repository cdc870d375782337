"""Errors that servers report, either by the HTTP status or inside a reply with a successful status."""

import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from reprise.core.plain import extract_page_text, plain, truncate

MESSAGE_NAMES = ("message", "detail", "msg", "error_msg", "error_message", "error_description", "reason")
STATUS_NAMES = ("code", "status", "status_code", "http_status")
CODE_NAMES = ("code", "type", "status", "error_type", "error_code")
# Top-level fields in which a successful reply holds its result.
RESULT_NAMES = frozenset({"choices", "candidates", "promptFeedback", "content", "tokens", "file"})
# An error inside a reply with HTTP 200 stands for the status whose pattern matches its code. An error that matches no
# pattern counts as a failure of the server.
STATUS_PATTERNS = (
    (500, re.compile(r"server_?error|internal|overload|unavailable|upstream|time_?d?_?out", re.I)),
    (401, re.compile(r"authentication|unauthenticated|unauthorized|invalid_api_key", re.I)),
    (402, re.compile(r"billing|insufficient_quota|insufficient_balance|payment", re.I)),
    (403, re.compile(r"permission|forbidden", re.I)),
    (404, re.compile(r"not_?found", re.I)),
    (429, re.compile(r"rate_?limit|resource_exhausted|too_?many_?requests", re.I)),
    (400, re.compile(r"invalid|bad_?request|validation|context_length|unprocessable|too_large|unsupported", re.I)),
)
MAX_MESSAGE_CHARACTERS = 500


class ErrorReply(Exception):
    """A reply that reports an error, with its status, headers and content."""

    def __init__(self, sent_status: int, headers: Mapping[str, str], content: bytes, *, has_result: bool) -> None:
        """Parse the error that a reply reports.

        Args:
            has_result: Whether the reply also holds an answer, which may have been billed.
        """
        self.headers, self.text, self.has_result = headers, content.decode(errors="replace"), has_result
        body = parse_json_object(content)
        self.details = next(_errors_in(body), body)
        self.codes = {str(self.details[name]) for name in CODE_NAMES if self.details.get(name)}
        self.message = self._message(sent_status)
        is_error = sent_status >= 400
        self.status = sent_status if is_error else self._implied_status() if 200 <= sent_status < 300 else 500
        self.title = f"HTTP {sent_status}" if is_error else f"an error in a reply with HTTP {sent_status}"
        super().__init__(f"{self.title}: {self.message}")

    def _message(self, status: int) -> str:
        """Return the server's message on one line of bounded length."""
        details, text = self.details, ""
        message = next((details[name] for name in MESSAGE_NAMES if details.get(name)), None)
        if message is not None:
            text = message if isinstance(message, str) else json.dumps(message)
        metadata = details.get("metadata")
        if isinstance(metadata, dict) and metadata.get("raw"):  # a router passes on the provider's message
            text = f"{text}: {metadata['raw']}"
        text = plain(text) or extract_page_text(self.text)
        if not text and status in HTTPStatus.__members__.values():
            text = HTTPStatus(status).phrase
        return truncate(text, MAX_MESSAGE_CHARACTERS) or "the server gave no reason"

    def _implied_status(self) -> int:
        for name in STATUS_NAMES:
            value = str(self.details.get(name))
            if re.fullmatch("[45][0-9]{2}", value):
                return int(value)
        codes = " ".join(sorted(self.codes))
        return next((status for status, pattern in STATUS_PATTERNS if pattern.search(codes)), 500)


def parse_json_object(content: bytes) -> dict[str, Any]:
    """Return the JSON object of a reply, also from a list of length one; an empty dictionary for anything else."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    return body if isinstance(body, dict) else {}


def has_error(content: bytes) -> bool:
    """Return whether a reply with a successful status reports an error instead of, beside or within its result."""
    return next(_errors_in(parse_json_object(content)), None) is not None


def has_result(content: bytes) -> bool:
    return not RESULT_NAMES.isdisjoint(name for name, value in parse_json_object(content).items() if value)


def _errors_in(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the errors that a reply reports, each with its code and message."""
    if {"name", "state"} <= body.keys():  # an uploaded file reports its own error
        return
    for part in _parts_of(body):
        for name in ("error", "errors"):
            error = part.get(name)
            while isinstance(error, list) and len(error) == 1:
                error = error[0]
            siblings = {key: value for key, value in body.items() if key != name} if part is body else {}
            if isinstance(error, dict):
                if any(error.values()):
                    yield error
            elif error:
                yield siblings | ({"message": error} if isinstance(error, str) else {})
    is_bare_error = RESULT_NAMES.isdisjoint(body) and any(body.get(name) for name in MESSAGE_NAMES)
    if "error" in (body.get("object"), body.get("type")) or is_bare_error:
        yield dict(body)


def _parts_of(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a reply, its answers and their contents.

    Other parts are left out: content filters report errors of their own there.
    """
    yield body
    for name in ("choices", "candidates", "content"):
        answers = body.get(name)
        for answer in answers if isinstance(answers, list) else ():
            if isinstance(answer, dict):
                yield answer
                yield from (answer[name] for name in ("message", "content") if isinstance(answer.get(name), dict))
