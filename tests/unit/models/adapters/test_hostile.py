"""Test servers and proxies that violate HTTP or their API.

No answer belongs to another request or is incomplete; transient failures are retried; the server's message is kept.
"""

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
from tests.unit.models.raw_server import Connection, RawServer, encode_reply, serve_replies
from tests.unit.models.vendor_servers import VENDORS, prompt_of, query_vendor, text_only_answers

REQUEST_COUNT = 12


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def is_answer_request(request: ReceivedRequest) -> bool:
    """Return whether a request is for an answer, not for metadata of the server."""
    return ("messages" in request.body and "/tokenize" not in request.path) or "contents" in request.body


def build_reply(vendor: str, request: ReceivedRequest, **changes: Any) -> dict[str, Any]:
    """Return a reply with the prompt's last word."""
    if not is_answer_request(request):
        return {"data": []}
    prompt = prompt_of(request) if vendor == "gemini" else request.prompt
    return VENDORS[vendor].build_body(request, prompt.split()[-1], **changes)


# --- answers that belong to another request --------------------------------------------------------------------------


def send_twice(vendor: str, connection: Connection) -> None:
    while (request := connection.read()) is not None:
        connection.send(2 * encode_reply(build_reply(vendor, request)))


def send_twice_with_delay(vendor: str, connection: Connection) -> None:
    """Send the reply again when the client may consider the connection idle."""
    while (request := connection.read()) is not None:
        content = encode_reply(build_reply(vendor, request))
        connection.send(content)
        time.sleep(0.01)
        connection.send(content)


def send_previous_again(vendor: str, connection: Connection) -> None:
    """Send the previous reply again before each reply; no unread data precedes the request."""
    previous_content = b""
    while (request := connection.read()) is not None:
        content = encode_reply(build_reply(vendor, request))
        connection.send(previous_content + content)
        previous_content = content


def send_twice_in_chunks(vendor: str, connection: Connection) -> None:
    while (request := connection.read()) is not None:
        content = json.dumps(build_reply(vendor, request)).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.send(2 * (head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)))


def send_foreign_reply(vendor: str, connection: Connection) -> None:
    """Send a second reply that belongs to no request."""
    while (request := connection.read()) is not None:
        foreign_reply = encode_reply(build_reply(vendor, request)).replace(b"say", b"SAY")
        connection.send(encode_reply(build_reply(vendor, request)) + foreign_reply)


@pytest.mark.parametrize(
    "serve", [send_twice, send_twice_with_delay, send_previous_again, send_twice_in_chunks, send_foreign_reply]
)
def test_a_repeated_reply_answers_no_other_request(vendor: str, serve: Callable[..., None]) -> None:
    with RawServer(lambda connection: serve(vendor, connection)) as server:
        answers = text_only_answers(vendor, server.url, REQUEST_COUNT, concurrency=2)
    assert [answer.text for answer in answers] == [str(index) for index in range(REQUEST_COUNT)], [
        answer.message for answer in answers
    ]
    assert server.connection_count == len(server.requests), "no connection serves two requests"
    assert all(request.headers["connection"] == "close" for request in server.requests)


# --- incomplete answers ----------------------------------------------------------------------------------------------


def openai_tool_call() -> dict[str, Any]:
    return {"message": {"tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}


INCOMPLETE_ANSWERS: dict[str, list[tuple[dict[str, Any], str, str]]] = {
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
    ("vendor_name", "changes", "outcome", "expected_words"),
    [(vendor_name, *case) for vendor_name, cases in INCOMPLETE_ANSWERS.items() for case in cases],
)
@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
def test_an_incomplete_answer_is_not_an_answer(
    vendor_name: str, changes: dict[str, Any], outcome: str, expected_words: str
) -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        reply_changes = {"text": "The answer is", **changes} if vendor_name == "openai" else changes
        body = VENDORS[vendor_name].build_body(request, **({} if vendor_name == "gemini" else reply_changes))
        if vendor_name == "gemini":  # the SDK cannot build a reason that it does not know
            body["candidates"][0]["finishReason"] = reply_changes["finish_reason"]
        return ServerReply(body)

    answer, received = query_vendor(vendor_name, respond, retries=1)
    assert (answer.error, answer.text) == (outcome, "") and expected_words in answer.message
    is_retried = outcome in ("server_error", "rate_limited")
    assert len(received) == 1 + is_retried


@pytest.mark.parametrize("reason", ["stop", "STOP", "eos", "eos_token", "length", "end_turn", None])
def test_finish_reasons_of_other_servers_are_complete_answers(reason: str | None) -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        body = completion(request, "B", finish_reason=reason)
        if reason is None:
            del body["choices"][0]["finish_reason"]
        return ServerReply(body)

    assert query_vendor("openai", respond)[0].text == "B"


def test_several_candidates_are_malformed() -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        body = completion(request)
        return ServerReply(body | {"choices": [{**body["choices"][0], "index": index} for index in (1, 0)]})

    answer, _ = query_vendor("openai", respond)
    assert answer.error == "malformed" and "not 2" in answer.message
    two_candidates = {
        "candidates": 2 * [{"content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}],
        "modelVersion": "toy-1",
    }
    answer, _ = query_vendor("gemini", lambda _: ServerReply(two_candidates))
    assert answer.error == "malformed" and "2 candidates instead of 1" in answer.message


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
    first_reply = iter([ServerReply(body)])
    answer, received = query_vendor(
        vendor, lambda request: next(first_reply, None) or VENDORS[vendor].respond(request), retries=1
    )
    assert (answer.text, answer.error, len(received)) == ("this", "", 2)
    answer, received = query_vendor(vendor, lambda _: ServerReply(body))
    assert (
        answer.error in ("server_error", "rate_limited")
        and "Engine overloaded" in answer.message
        and len(received) == 1
    )


def test_an_error_next_to_an_answer_discards_the_answer(vendor: str) -> None:
    def respond(request: ReceivedRequest) -> ServerReply:
        return ServerReply({**build_reply(vendor, request), "error": {"code": 502, "message": "stream broke"}})

    answer, received = query_vendor(vendor, respond, retries=1)
    assert (answer.error, answer.text, len(received)) == ("server_error", "", 2) and "stream broke" in answer.message
    answer, _ = query_vendor(vendor, lambda request: ServerReply({**build_reply(vendor, request), "error": None}))
    assert answer.text == "this", "an empty field reports nothing"


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
    answer, received = query_vendor("openai", lambda _: ServerReply({"error": error}), retries=3)
    assert answer.error == outcome and len(received) == 1


# --- invalid HTTP and invalid replies --------------------------------------------------------------------------------

INVALID_HTTP: dict[str, Callable[[bytes], bytes]] = {
    "another protocol": lambda body: b"hello there\r\n\r\n",
    "an invalid status": lambda body: b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
    "headers without end": lambda body: b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    "an invalid length": lambda body: encode_reply(body, content_length="abc"),
    "two lengths": lambda body: encode_reply(body, content_length="5\r\nContent-Length: 900"),
    "an invalid chunk": lambda body: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("case", INVALID_HTTP)
def test_invalid_http_is_retried_and_named(vendor: str, case: str) -> None:
    answer_requests: list[ReceivedRequest] = []

    def make_reply(request: ReceivedRequest, fault_count: int) -> bytes:
        body = json.dumps(build_reply(vendor, request)).encode()
        if not is_answer_request(request):
            return encode_reply(body)
        answer_requests.append(request)
        return INVALID_HTTP[case](body) if len(answer_requests) <= fault_count else encode_reply(body)

    with RawServer(serve_replies(lambda request: make_reply(request, 1))) as server:
        (answer,) = text_only_answers(vendor, server.url, 1, retries=1)
    assert (answer.text, answer.error) == ("0", "")
    with RawServer(serve_replies(lambda request: make_reply(request, 9))) as server:
        (answer,) = text_only_answers(vendor, server.url, 1)
    assert answer.error == "network" and "the server or a proxy sent invalid HTTP: " in answer.message
    assert "Error" not in answer.message, "the message names no exception class of a library"


INVALID_REPLIES: dict[str, Callable[[bytes], bytes]] = {
    "a page": lambda body: encode_reply(b"<html><body>Busy</body></html>", content_type="text/html"),
    "nothing": lambda body: encode_reply(b""),
    "no content": lambda body: encode_reply(b"", 204),
    "a truncated reply": lambda body: encode_reply(body[:-20]),
    "a length that is too short": lambda body: encode_reply(body, content_length="20"),
    "a length that is too long": lambda body: encode_reply(body, content_length=str(len(body) + 9)),
    "another encoding": lambda body: encode_reply(body.decode().replace("toy", "t\xe9y").encode("latin-1")),
    "UTF-16": lambda body: encode_reply(body.decode().encode("utf-16")),
    "a list": lambda body: encode_reply(b"[]"),
    "null": lambda body: encode_reply(b"null"),
    "a number": lambda body: encode_reply(b"503"),
    "a text": lambda body: encode_reply(b'"Engine overloaded"'),
    "two errors": lambda body: encode_reply(b'[{"error": {"code": 503}}, {"error": {"code": 503}}]'),
    "no answers": lambda body: encode_reply({"model": "toy-1", "choices": [], "content": None, "candidates": []}),
    "an empty feedback": lambda body: encode_reply({"model": "toy-1", "choices": None, "promptFeedback": {}}),
    "invalid gzip": lambda body: encode_reply(body, content_encoding="gzip"),
    "truncated gzip": lambda body: encode_reply(gzip.compress(body)[:-9], content_encoding="gzip"),
    "too deep": lambda body: encode_reply(b"[" * 400_000),
    "an empty object": lambda body: encode_reply(b"{}"),
}


@pytest.mark.parametrize("case", INVALID_REPLIES)
def test_an_invalid_reply_is_retried_and_named(vendor: str, case: str) -> None:
    answer_requests: list[ReceivedRequest] = []

    def serve(connection: Connection) -> None:
        while (request := connection.read()) is not None:
            body = json.dumps(build_reply(vendor, request)).encode()
            if is_answer_request(request):
                answer_requests.append(request)
            connection.send(INVALID_REPLIES[case](body) if is_answer_request(request) else encode_reply(body))
            if "too long" in case:
                return

    with RawServer(serve) as server:
        (answer,) = text_only_answers(vendor, server.url, 1, retries=1)
    assert answer.error in ("malformed", "network") and answer.message
    assert len(answer_requests) == 2
    if case == "a page":
        assert "Busy" in answer.message, "the message quotes the server"


UNUSUAL_REPLIES: dict[str, Callable[[bytes], bytes]] = {
    "an early hint": lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + encode_reply(body),
    "a byte order mark": lambda body: encode_reply(b"\xef\xbb\xbf" + body),
    "two members of gzip": lambda body: encode_reply(
        gzip.compress(body[:30]) + gzip.compress(body[30:]), content_encoding="gzip"
    ),
    "a bare deflate": lambda body: encode_reply(zlib.compress(body, wbits=-15), content_encoding="deflate"),
    "surrounding whitespace": lambda body: encode_reply(b"\n" * 99 + body + b" \r\n"),
    "another declared charset": lambda body: encode_reply(body, content_type="text/plain; charset=utf-16"),
}


@pytest.mark.parametrize("case", UNUSUAL_REPLIES)
def test_an_unusual_but_valid_reply_is_accepted(vendor: str, case: str) -> None:
    with RawServer(
        serve_replies(lambda request: UNUSUAL_REPLIES[case](json.dumps(build_reply(vendor, request)).encode()))
    ) as server:
        (answer,) = text_only_answers(vendor, server.url, 1)
    assert (answer.text, answer.error) == ("0", "")


# --- the server's message, and the wait that it requests -------------------------------------------------------------


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
    answer, _ = query_vendor(vendor, lambda _: server_reply)
    assert answer.error == "server_error" and answer.message.startswith("HTTP 500: ") and "cuda kaput" in answer.message
    assert "style" not in answer.message and len(answer.message) <= 303


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_is_retried_after_the_date_that_the_server_gives(vendor: str, status: int) -> None:
    times: list[float] = []

    def respond(request: ReceivedRequest) -> ServerReply:
        times.append(time.monotonic())
        if len(times) > 1:
            return VENDORS[vendor].respond(request)
        date = formatdate(time.time() + 3, usegmt=True)  # dates have whole seconds
        return ServerReply({"error": {"message": "later"}}, status, {"Retry-After": date})

    answer, _ = query_vendor(vendor, respond, retries=1)
    assert answer.text == "this" and times[1] - times[0] >= 1.9


def test_a_wait_that_is_too_long_is_named(vendor: str) -> None:
    rate_limit_reply = ServerReply(
        {"error": {"message": "later"}}, 429, {"Retry-After": formatdate(time.time() + 7200, usegmt=True)}
    )
    answer, received = query_vendor(vendor, lambda _: rate_limit_reply, retries=5)
    assert answer.error == "rate_limited" and len(received) == 1
    assert answer.message.startswith("later; it asks to wait 7") and answer.message.endswith(" s")


def test_a_dropped_connection_is_retried(vendor: str) -> None:
    lock, drops_left = threading.Lock(), [3]

    def serve(connection: Connection) -> None:
        while (request := connection.read()) is not None:
            with lock:
                drops_left[0] -= is_answer_request(request)
                if is_answer_request(request) and drops_left[0] >= 0:
                    return
            connection.send(encode_reply(build_reply(vendor, request)))

    with RawServer(serve) as server:
        (answer,) = text_only_answers(vendor, server.url, 1, retries=3)
    assert (answer.text, answer.error) == ("0", "")


def test_the_key_is_not_sent_to_a_redirect_target(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "sk-test-0123456789abcdefghij")
    with ChatServer() as other_server:
        for status in (301, 302, 303, 307, 308):
            redirect_url = f"{other_server.url}/x"
            answer, _ = query_vendor(vendor, lambda _, to=(status, redirect_url): ServerReply({}, to[0], {"Location": to[1]}), key="VENDOR_API_KEY")  # fmt: skip
            assert answer.error == "bad_request" and "does not follow" in answer.message
        assert other_server.received == other_server.metadata_requests == []
