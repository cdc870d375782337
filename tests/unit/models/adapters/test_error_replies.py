"""Test replies that look like answers but contain errors, tool calls or empty scores: none is kept as an answer."""

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.models.chat_server import ReceivedRequest, ServerReply, completion, reply_correctly
from tests.unit.models.vendor_servers import VENDORS, query_vendor
from tests.unit.requests import make_request

ERROR = {"code": 502, "message": "stream broke"}
Parts = list[dict[str, Any]]


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def parts_of(vendor: str, body: dict[str, Any]) -> Parts:
    """Return the body of a reply, its answer, and the message in it."""
    if vendor == "anthropic":
        return [body, body["content"][0]]
    (reply_answer,) = body["choices" if vendor == "openai" else "candidates"]
    return [body, reply_answer, reply_answer["message" if vendor == "openai" else "content"]]


def reply_with_change(vendor: str, change: Callable[[Parts], None]) -> Callable[[ReceivedRequest], ServerReply]:
    def respond(received: ReceivedRequest) -> ServerReply:
        body = VENDORS[vendor].respond(received).body
        assert isinstance(body, dict)
        change(parts_of(vendor, body))
        return ServerReply(body)

    return respond


@pytest.mark.parametrize("error", [ERROR, [ERROR], "stream broke"])
@pytest.mark.parametrize("name", ["error", "errors"])
@pytest.mark.parametrize("level", [0, 1, -1])
def test_an_error_at_any_level_of_a_reply_discards_the_answer(vendor: str, level: int, name: str, error: Any) -> None:
    answer, received = query_vendor(
        vendor, reply_with_change(vendor, lambda parts: parts[level].update({name: error})), retries=1
    )
    assert (answer.error, answer.text, len(received)) == ("server_error", "", 2) and "stream broke" in answer.message


@pytest.mark.parametrize("empty_error", [{"code": None, "message": None}, {}, [], None, "", False])
def test_an_empty_error_field_is_ignored(vendor: str, empty_error: Any) -> None:
    answer, _ = query_vendor(
        vendor, reply_with_change(vendor, lambda parts: [part.update(error=empty_error) for part in parts] and None)
    )
    assert answer.text == "this"


def test_a_failed_content_filter_does_not_discard_the_answer() -> None:
    """Azure reports this error in addition to the whole answer."""
    results = {"error": {"code": "content_filter_error", "message": "The contents are not filtered"}}
    respond = reply_with_change("openai", lambda parts: parts[1].update(content_filter_results=results))
    assert query_vendor("openai", respond)[0].text == "this"


@pytest.mark.parametrize(
    ("vendor_name", "change"),
    [
        ("openai", lambda parts: parts[2].update(function_call={"name": "f", "arguments": "{}"})),
        ("anthropic", lambda parts: parts[0]["content"].append({"type": "tool_use", "id": "x", "name": "f", "input": {}})),
        ("gemini", lambda parts: parts[2]["parts"].append({"functionCall": {"name": "f", "args": {}}})),
    ],
)  # fmt: skip
def test_a_text_before_a_tool_call_is_not_an_answer(vendor_name: str, change: Callable[[Parts], None]) -> None:
    answer, _ = query_vendor(vendor_name, reply_with_change(vendor_name, change))
    assert answer.error == "unfinished" and "calls a" in answer.message


@pytest.mark.parametrize("reason", ["network_error", "INTERNAL_ERROR", "failed", "timed_out", "deadline_exceeded"])
@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
def test_vendor_specific_failure_reasons_are_retried(vendor: str, reason: str) -> None:
    name = {"openai": "finish_reason", "anthropic": "stop_reason", "gemini": "finishReason"}[vendor]
    level = 0 if vendor == "anthropic" else 1
    answer, received = query_vendor(
        vendor, reply_with_change(vendor, lambda parts: parts[level].update({name: reason})), retries=1
    )
    assert (answer.error, len(received)) == ("server_error", 2)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "server_error", "code": "node_not_found", "message": "busy"},
        {"code": "invalid_response_from_upstream", "message": "busy"},
        {"type": "internal_error", "code": "bad_request_to_worker", "message": "busy"},
    ],
)
def test_a_server_error_with_a_misleading_code_is_retried(vendor: str, error: dict[str, str]) -> None:
    answer, received = query_vendor(vendor, lambda _: ServerReply({"error": error}), retries=1)
    assert (answer.error, len(received)) == ("server_error", 2)


@pytest.mark.parametrize(
    "server_reply",
    [
        ServerReply(b"busy", 503, {"Content-Encoding": "br"}),
        ServerReply(b"busy", 503, {"Content-Encoding": "gzip"}),
        ServerReply(gzip.compress(b"busy" * 99)[:-9], 503, {"Content-Encoding": "gzip"}),
        ServerReply(b"busy" * 300_000, 503),
        ServerReply(b"Request failed during generation", 424),
        ServerReply(b"locked", 423),
    ],
)
def test_an_unreadable_error_is_classified_by_its_status(vendor: str, server_reply: ServerReply) -> None:
    answer, received = query_vendor(vendor, lambda _: server_reply, retries=1)
    assert (answer.error, len(received)) == ("server_error", 2) and f"HTTP {server_reply.status}" in answer.message


# --- scores -----------------------------------------------------------------------------------------------------------

SCORE = make_request("is it?", "score", ("Yes", "No"))


def query_score(logprobs: tuple[float, float], **message: Any) -> Any:
    def respond(received: ReceivedRequest) -> ServerReply:
        if "logprob_token_ids" not in received.body:
            return reply_correctly(received)
        pairs = zip(received.body["logprob_token_ids"], logprobs, strict=True)
        top = [{"token": f"token_id:{token}", "logprob": logprob} for token, logprob in pairs]
        first = {"token": "token_id:3", "logprob": -3.0, "top_logprobs": top}
        return ServerReply(completion(received, logprobs={"content": [first]}, message=message))

    return query_vendor("openai", respond, SCORE, scores="logprob_token_ids")[0]


def test_options_without_any_probability_have_no_scores() -> None:
    for logprobs in ((-9999.0, -9999.0), (float("-inf"), float("-inf"))):
        answer = query_score(logprobs)
        assert (answer.error, answer.scores) == ("no_scores", ()) and "above 0" in answer.message
    assert query_score((-9999.0, -1.0)).scores[0] == 0


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "reasoning_details", "thinking"])
def test_a_score_after_a_thought_is_not_a_score(name: str) -> None:
    assert query_score((-1.0, -2.0), **{name: "Let me see."}).error == "no_scores"
    assert query_score((-1.0, -2.0), **{name: None}).error == ""
