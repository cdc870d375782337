"""Find the errors that servers report, by the HTTP status or inside a reply with a successful status."""

import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from reprise.core.plain import extract_page_text, sanitize_line, truncate

# Fields that may contain the message of an error.
MESSAGE_FIELDS = ("message", "detail", "msg", "error_msg", "error_message", "error_description", "reason")
# Fields that may contain an HTTP status, and fields that may contain the name of an error.
STATUS_FIELDS = ("code", "status", "status_code", "http_status")
CODE_FIELDS = ("code", "type", "status", "error_type", "error_code")
# Top-level fields that contain the result of a successful reply.
RESULT_FIELDS = frozenset({"choices", "candidates", "promptFeedback", "content", "tokens", "file"})
# An error inside a reply with HTTP 200 gets the status whose pattern matches its code, and 500 if no pattern matches.
STATUS_PATTERNS = (
    (500, re.compile(r"server_?error|internal|overload|unavailable|upstream|time_?d?_?out", re.I)),
    (401, re.compile(r"authentication|unauthenticated|unauthorized|invalid_api_key", re.I)),
    (402, re.compile(r"billing|insufficient_quota|insufficient_balance|payment", re.I)),
    (403, re.compile(r"permission|forbidden", re.I)),
    (404, re.compile(r"not_?found", re.I)),
    (429, re.compile(r"rate_?limit|resource_exhausted|too_?many_?requests", re.I)),
    (400, re.compile(r"invalid|bad_?request|validation|context_length|unprocessable|too_large|unsupported", re.I)),
)
MAX_MESSAGE_CHARACTERS = 500  # of a server's message


class ErrorReply(Exception):
    """A reply that reports an error, with its status, headers and content."""

    def __init__(self, http_status: int, headers: Mapping[str, str], content: bytes, *, has_result: bool) -> None:
        """Parse the error that a reply reports.

        Args:
            has_result: Whether the reply also contains an answer, which the vendor may have billed.
        """
        self.headers, self.text, self.has_result = headers, content.decode(errors="replace"), has_result
        body = parse_json_object(content)
        self.details = next(_find_errors(body), body)
        self.codes = {str(self.details[name]) for name in CODE_FIELDS if self.details.get(name)}
        self.message = self._extract_message(http_status)
        is_error = http_status >= 400
        if is_error:
            self.status = http_status
        else:
            self.status = self._infer_status() if 200 <= http_status < 300 else 500
        self.title = f"HTTP {http_status}" if is_error else f"an error in a reply with HTTP {http_status}"
        super().__init__(f"{self.title}: {self.message}")

    def _extract_message(self, status: int) -> str:
        """Return the server's message on one line of bounded length."""
        details, text = self.details, ""
        message = next((details[name] for name in MESSAGE_FIELDS if details.get(name)), None)
        if message is not None:
            text = message if isinstance(message, str) else json.dumps(message)
        metadata = details.get("metadata")
        if isinstance(metadata, dict) and metadata.get("raw"):  # the provider's message, as a router forwards it
            text = f"{text}: {metadata['raw']}"
        text = sanitize_line(text) or extract_page_text(self.text)
        if not text and status in HTTPStatus.__members__.values():
            text = HTTPStatus(status).phrase
        return truncate(text, MAX_MESSAGE_CHARACTERS) or "the server gave no reason"

    def _infer_status(self) -> int:
        """Return the status of an error that a server sent with a successful status."""
        for name in STATUS_FIELDS:
            value = str(self.details.get(name))
            if re.fullmatch("[45][0-9]{2}", value):
                return int(value)
        codes = " ".join(sorted(self.codes))
        return next((status for status, pattern in STATUS_PATTERNS if pattern.search(codes)), 500)


def parse_json_object(content: bytes) -> dict[str, Any]:
    """Return a reply that is a JSON object, or a list of one; an empty dictionary for any other reply."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    return body if isinstance(body, dict) else {}


def has_error(content: bytes) -> bool:
    """Return whether a reply with a successful status reports an error, with or without a result."""
    return next(_find_errors(parse_json_object(content)), None) is not None


def has_result(content: bytes) -> bool:
    """Return whether a reply contains a result."""
    return not RESULT_FIELDS.isdisjoint(name for name, value in parse_json_object(content).items() if value)


def _find_errors(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the errors that a reply reports, each with its code and message."""
    if {"name", "state"} <= body.keys():  # an uploaded file reports its own error
        return
    for part in _list_parts(body):
        for name in ("error", "errors"):
            error = part.get(name)
            while isinstance(error, list) and len(error) == 1:
                error = error[0]
            siblings = {key: value for key, value in body.items() if key != name} if part is body else {}
            if isinstance(error, dict):
                if any(error.values()):
                    yield error
            elif error:  # If the error is only a text, its code is in the fields beside it.
                yield siblings | ({"message": error} if isinstance(error, str) else {})
    is_bare_error = RESULT_FIELDS.isdisjoint(body) and any(body.get(name) for name in MESSAGE_FIELDS)
    if "error" in (body.get("object"), body.get("type")) or is_bare_error:
        yield dict(body)


def _list_parts(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a reply that may contain its error: the reply itself, its answers and their messages.

    Content filters report their own errors in other parts, which are therefore omitted.
    """
    yield body
    for name in ("choices", "candidates", "content"):
        answers = body.get(name)
        for answer in answers if isinstance(answers, list) else ():
            if isinstance(answer, dict):
                yield answer
                message_parts = (answer.get("message"), answer.get("content"))
                yield from (part for part in message_parts if isinstance(part, dict))
