"""Servers and proxies that break the rules of HTTP or of their interface: no answer is another question's or a part, what
may pass is tried again, and the server's own words are kept."""

import gzip
import json
import threading
import time
import zlib
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from anthropic.types import ToolUseBlock
from google.genai import types

from tests.unit.models.chat_server import ChatServer, ReceivedRequest, ServerReply, completion
from tests.unit.models.raw_server import Connection, RawServer, replying, response
from tests.unit.models.vendor_servers import VENDORS, answer, prompt_of, text_only_answers

QUESTIONS = 12


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def is_question(request: ReceivedRequest) -> bool:
    """Return whether a request is for an answer, not for metadata of the server."""
    return ("messages" in request.body and "/tokenize" not in request.path) or "contents" in request.body


def reply(vendor: str, request: ReceivedRequest, **changes: Any) -> dict[str, Any]:
    """Return a reply with the prompt's last word."""
    if not is_question(request):
        return {"data": []}
    prompt = prompt_of(request) if vendor == "gemini" else request.prompt
    return VENDORS[vendor].reply(request, prompt.split()[-1], **changes)


# --- answers that belong to another question -------------------------------------------------------------------------


def doubled(vendor: str, connection: Connection) -> None:
    while (request := connection.read()) is not None:
        connection.send(2 * response(reply(vendor, request)))


def doubled_late(vendor: str, connection: Connection) -> None:
    """Send the copy when the client may consider the connection idle."""
    while (request := connection.read()) is not None:
        content = response(reply(vendor, request))
        connection.send(content)
        time.sleep(0.01)
        connection.send(content)


def one_behind(vendor: str, connection: Connection) -> None:
    """Send the copy with the next request, so that no data was unread before."""
    copy = b""
    while (request := connection.read()) is not None:
        content = response(reply(vendor, request))
        connection.send(copy + content)
        copy = content


def doubled_in_chunks(vendor: str, connection: Connection) -> None:
    while (request := connection.read()) is not None:
        content = json.dumps(reply(vendor, request)).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.send(2 * (head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)))


def of_another(vendor: str, connection: Connection) -> None:
    """Send a further reply that belongs to no request."""
    while (request := connection.read()) is not None:
        other = response(reply(vendor, request)).replace(b"say", b"SAY")
        connection.send(response(reply(vendor, request)) + other)


@pytest.mark.parametrize("serve", [doubled, doubled_late, one_behind, doubled_in_chunks, of_another])
def test_a_reply_that_comes_twice_answers_no_other_question(vendor: str, serve: Callable[..., None]) -> None:
    with RawServer(lambda connection: serve(vendor, connection)) as server:
        found = text_only_answers(vendor, server.url, QUESTIONS, concurrency=2)
    assert [one.text for one in found] == [str(at) for at in range(QUESTIONS)], [one.message for one in found]
    assert server.connections == len(server.requests), "no connection serves two requests"
    assert all(request.headers["connection"] == "close" for request in server.requests)


# --- parts of answers ------------------------------------------------------------------------------------------------


def openai_tool_call() -> dict[str, Any]:
    return {"message": {"tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}


PARTS: dict[str, list[tuple[dict[str, Any], str, str]]] = {
    "openai": [
        ({"finish_reason": "error"}, "server_error", "finish_reason: error"),
        ({"finish_reason": "abort"}, "server_error", "finish_reason: abort"),
        ({"finish_reason": "insufficient_system_resource"}, "server_error", "insufficient_system_resource"),
        ({"finish_reason": "error", "error": {"code": 502, "message": "node lost"}}, "server_error", "node lost"),
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limited", "slow down"),
        ({"error": "node lost"}, "server_error", "node lost"),
        ({"finish_reason": "tool_calls", "text": None}, "unfinished", "finish_reason: tool_calls"),
        ({"finish_reason": None}, "unfinished", "finish_reason: none"),
        ({"finish_reason": "paused"}, "unfinished", "finish_reason: paused"),
        (openai_tool_call(), "unfinished", "calls a tool"),
        ({"finish_reason": "content_filter: RECITATION"}, "content_filter", "RECITATION"),
        ({"finish_reason": {"type": "stop"}}, "malformed", "finish_reason"),
        ({"text": [{"type": "text", "text": "list"}]}, "malformed", "message.content"),
        ({"usage": {"prompt_tokens": 10**12}}, "malformed", "prompt_tokens"),
    ],
    "anthropic": [
        ({"stop_reason": "error"}, "server_error", "stop_reason: error"),
        ({"stop_reason": "abort"}, "server_error", "stop_reason: abort"),
        ({"stop_reason": "pause_turn"}, "unfinished", "pause_turn"),
        ({"stop_reason": "tool_use", "content": [ToolUseBlock(type="tool_use", id="x", name="f", input={})]},
         "unfinished", "tool_use"),
        ({"stop_reason": None}, "unfinished", "stop_reason: none"),
    ],
    "gemini": [
        ({"finish_reason": "ERROR"}, "server_error", "finish_reason: ERROR"),
        ({"finish_reason": "OTHER"}, "unfinished", "finish_reason: OTHER"),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, "unfinished", "MALFORMED_FUNCTION_CALL"),
        ({"finish_reason": "NEW_ONE"}, "unfinished", "NEW_ONE"),
        ({"finish_reason": None}, "unfinished", "finish_reason: none"),
        ({"finish_reason": types.FinishReason.RECITATION}, "content_filter", "RECITATION"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("by", "changes", "outcome", "words"), [(by, *case) for by, cases in PARTS.items() for case in cases]
)
@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
def test_an_incomplete_answer_is_not_an_answer(by: str, changes: dict[str, Any], outcome: str, words: str) -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        own = {"text": "The answer is", **changes} if by == "openai" else changes
        made = VENDORS[by].reply(request, **({} if by == "gemini" else own))
        if by == "gemini":  # a reason that the SDK does not know cannot be made by it
            made["candidates"][0]["finishReason"] = own["finish_reason"]
        return ServerReply(made)

    found, received = answer(by, respond, retries=1)
    assert (found.error, found.text) == (outcome, "") and words in found.message
    is_tried_again = outcome in ("server_error", "rate_limited")
    assert len(received) == 1 + is_tried_again


@pytest.mark.parametrize("reason", ["stop", "STOP", "eos", "eos_token", "length", "end_turn", None])
def test_an_end_that_servers_name_otherwise_is_one(reason: str | None) -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        made = completion(request, "B", finish_reason=reason)
        if reason is None:
            del made["choices"][0]["finish_reason"]
        return ServerReply(made)

    assert answer("openai", respond)[0].text == "B"


def test_several_candidates_are_malformed() -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        made = completion(request)
        return ServerReply(made | {"choices": [{**made["choices"][0], "index": at} for at in (1, 0)]})

    found, _ = answer("openai", respond)
    assert found.error == "malformed" and "not 2" in found.message
    two = {"candidates": 2 * [{"content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}], "modelVersion": "toy-1"}
    found, _ = answer("gemini", lambda _: ServerReply(two))
    assert found.error == "malformed" and "2 candidates instead of 1" in found.message


# --- errors in replies whose status is a success ---------------------------------------------------------------------

OVERLOADED: list[Any] = [
    {"error": {"message": "Engine overloaded", "type": "overloaded_error", "code": 503}},
    {"error": {"message": "Engine overloaded", "code": 429}},
    {"error": {"message": "Engine overloaded", "status": "UNAVAILABLE"}},
    {"error": "Engine overloaded", "error_type": "overloaded"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Engine overloaded"}},
    {"object": "error", "message": "Engine overloaded", "type": "ServiceUnavailableError", "code": 503},
    {"code": 503, "msg": "Engine overloaded"},
    {"detail": "Engine overloaded"},
    [{"error": {"code": 503, "message": "Engine overloaded", "status": "UNAVAILABLE"}}],
]  # fmt: skip


@pytest.mark.parametrize("body", OVERLOADED)
def test_an_overloaded_server_is_retried_whatever_its_status(vendor: str, body: Any) -> None:
    left = iter([ServerReply(body)])
    found, received = answer(vendor, lambda request: next(left, None) or VENDORS[vendor].respond(request), retries=1)
    assert (found.text, found.error, len(received)) == ("this", "", 2)
    found, received = answer(vendor, lambda _: ServerReply(body))
    assert (
        found.error in ("server_error", "rate_limited") and "Engine overloaded" in found.message and len(received) == 1
    )


def test_an_error_beside_an_answer_leaves_none(vendor: str) -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        return ServerReply({**reply(vendor, request), "error": {"code": 502, "message": "stream broke"}})

    found, received = answer(vendor, respond, retries=1)
    assert (found.error, found.text, len(received)) == ("server_error", "", 2) and "stream broke" in found.message
    found, _ = answer(vendor, lambda request: ServerReply({**reply(vendor, request), "error": None}))
    assert found.text == "this", "an empty field reports nothing"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"message": "too long", "code": "context_length_exceeded"}, "beyond_context"),
        ({"message": "no", "code": "content_filter"}, "content_filter"),
        ({"message": "no such field", "type": "invalid_request_error"}, "bad_request"),
        ({"message": "no such field", "code": 422}, "bad_request"),
    ],
)
def test_an_error_of_the_request_is_not_retried(error: dict[str, Any], outcome: str) -> None:
    found, received = answer("openai", lambda _: ServerReply({"error": error}), retries=3)
    assert found.error == outcome and len(received) == 1


# --- what is no HTTP, and what is no reply ---------------------------------------------------------------------------

PROTOCOL: dict[str, Callable[[bytes], bytes]] = {
    "another protocol": lambda body: b"hello there\r\n\r\n",
    "a status that is none": lambda body: b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
    "headers without end": lambda body: b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    "a length that is none": lambda body: response(body, content_length="abc"),
    "two lengths": lambda body: response(body, content_length="5\r\nContent-Length: 900"),
    "a chunk that is none": lambda body: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("case", PROTOCOL)
def test_invalid_http_is_retried_and_named(vendor: str, case: str) -> None:
    questions: list[ReceivedRequest] = []

    def make(request: ReceivedRequest, tries: int) -> bytes:
        body = json.dumps(reply(vendor, request)).encode()
        if not is_question(request):
            return response(body)
        questions.append(request)
        return PROTOCOL[case](body) if len(questions) <= tries else response(body)

    with RawServer(replying(lambda request: make(request, 1))) as server:
        (found,) = text_only_answers(vendor, server.url, 1, retries=1)
    assert (found.text, found.error) == ("0", "")
    with RawServer(replying(lambda request: make(request, 9))) as server:
        (found,) = text_only_answers(vendor, server.url, 1)
    assert found.error == "network" and "the server or a proxy sent invalid HTTP: " in found.message
    assert "Error" not in found.message, "no class of a library"


NO_REPLY: dict[str, Callable[[bytes], bytes]] = {
    "a page": lambda body: response(b"<html><body>Busy</body></html>", content_type="text/html"),
    "nothing": lambda body: response(b""),
    "no content": lambda body: response(b"", 204),
    "a truncated reply": lambda body: response(body[:-20]),
    "a length that is too short": lambda body: response(body, content_length="20"),
    "a length that is too long": lambda body: response(body, content_length=str(len(body) + 9)),
    "another encoding": lambda body: response(body.decode().replace("toy", "t\xe9y").encode("latin-1")),
    "UTF-16": lambda body: response(body.decode().encode("utf-16")),
    "a list": lambda body: response(b"[]"),
    "null": lambda body: response(b"null"),
    "a number": lambda body: response(b"503"),
    "a text": lambda body: response(b'"Engine overloaded"'),
    "two errors": lambda body: response(b'[{"error": {"code": 503}}, {"error": {"code": 503}}]'),
    "no answers": lambda body: response({"model": "toy-1", "choices": [], "content": None, "candidates": []}),
    "an empty feedback": lambda body: response({"model": "toy-1", "choices": None, "promptFeedback": {}}),
    "gzip that is none": lambda body: response(body, content_encoding="gzip"),
    "gzip that is cut": lambda body: response(gzip.compress(body)[:-9], content_encoding="gzip"),
    "too deep": lambda body: response(b"[" * 400_000),
    "an empty object": lambda body: response(b"{}"),
}


@pytest.mark.parametrize("case", NO_REPLY)
def test_an_invalid_reply_is_retried_and_named(vendor: str, case: str) -> None:
    questions: list[ReceivedRequest] = []

    def serve(connection: Connection) -> None:
        while (request := connection.read()) is not None:
            body = json.dumps(reply(vendor, request)).encode()
            if is_question(request):
                questions.append(request)
            connection.send(NO_REPLY[case](body) if is_question(request) else response(body))
            if "too long" in case:
                return

    with RawServer(serve) as server:
        (found,) = text_only_answers(vendor, server.url, 1, retries=1)
    assert found.error in ("malformed", "network") and found.message
    assert len(questions) == 2
    if case == "a page":
        assert "Busy" in found.message, "the server's own words"


READ: dict[str, Callable[[bytes], bytes]] = {
    "a hint before": lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + response(body),
    "a byte order mark": lambda body: response(b"\xef\xbb\xbf" + body),
    "two members of gzip": lambda body: response(
        gzip.compress(body[:30]) + gzip.compress(body[30:]), content_encoding="gzip"
    ),
    "a bare deflate": lambda body: response(zlib.compress(body, wbits=-15), content_encoding="deflate"),
    "space around it": lambda body: response(b"\n" * 99 + body + b" \r\n"),
    "another charset that is named": lambda body: response(body, content_type="text/plain; charset=utf-16"),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_unusual_and_right_is_read(vendor: str, case: str) -> None:
    with RawServer(replying(lambda request: READ[case](json.dumps(reply(vendor, request)).encode()))) as server:
        (found,) = text_only_answers(vendor, server.url, 1)
    assert (found.text, found.error) == ("0", "")


# --- the server's words, and how long it asks to wait ----------------------------------------------------------------


@pytest.mark.parametrize(
    "server_reply",
    [
        ServerReply({"error": "cuda kaput"}, 500),
        ServerReply({"error": {"message": "cuda kaput"}}, 500),
        ServerReply({"error": {"msg": "cuda kaput", "code": 7}}, 500),
        ServerReply({"detail": [{"loc": ["body"], "msg": "cuda kaput"}]}, 500),
        ServerReply({"message": "cuda kaput"}, 500),
        ServerReply(b"cuda kaput", 500, {"Content-Type": "text/plain"}),
        ServerReply(b"<html><style>a {}</style><h1>cuda kaput</h1></html>", 500, {"Content-Type": "text/html"}),
        ServerReply({"error": {"message": "Provider error", "metadata": {"raw": "cuda kaput"}}}, 500),
        ServerReply(b"cuda kaput " + b"[" * 300_000, 500),
    ],
)
def test_the_servers_message_is_kept(vendor: str, server_reply: ServerReply) -> None:
    found, _ = answer(vendor, lambda _: server_reply)
    assert found.error == "server_error" and found.message.startswith("HTTP 500: ") and "cuda kaput" in found.message
    assert "style" not in found.message and len(found.message) <= 303


@pytest.mark.parametrize("status", [429, 503])
def test_a_date_to_wait_for_is_waited_for(vendor: str, status: int) -> None:
    times: list[float] = []

    def respond(request: ReceivedRequest) -> ServerReply:
        times.append(time.monotonic())
        if len(times) > 1:
            return VENDORS[vendor].respond(request)
        date = formatdate(time.time() + 3, usegmt=True)  # dates are of whole seconds
        return ServerReply({"error": {"message": "later"}}, status, {"Retry-After": date})

    found, _ = answer(vendor, respond, retries=1)
    assert found.text == "this" and times[1] - times[0] >= 1.9


def test_a_wait_that_is_too_long_is_named(vendor: str) -> None:
    later = ServerReply(
        {"error": {"message": "later"}}, 429, {"Retry-After": formatdate(time.time() + 7200, usegmt=True)}
    )
    found, received = answer(vendor, lambda _: later, retries=5)
    assert found.error == "rate_limited" and len(received) == 1
    assert found.message.startswith("later; it asks to wait 7") and found.message.endswith(" s")


def test_a_connection_that_is_dropped_at_once_is_tried_again(vendor: str) -> None:
    lock, left = threading.Lock(), [3]

    def serve(connection: Connection) -> None:
        while (request := connection.read()) is not None:
            with lock:
                left[0] -= is_question(request)
                if is_question(request) and left[0] >= 0:
                    return
            connection.send(response(reply(vendor, request)))

    with RawServer(serve) as server:
        (found,) = text_only_answers(vendor, server.url, 1, retries=3)
    assert (found.text, found.error) == ("0", "")


def test_the_key_goes_nowhere_else(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "sk-test-0123456789abcdefghij")
    with ChatServer() as elsewhere:
        for status in (301, 302, 303, 307, 308):
            place = f"{elsewhere.url}/x"
            found, _ = answer(vendor, lambda _, to=(status, place): ServerReply({}, to[0], {"Location": to[1]}), key="VENDOR_API_KEY")  # fmt: skip
            assert found.error == "bad_request" and "does not follow" in found.message
        assert elsewhere.received == elsewhere.metadata_requests == []
