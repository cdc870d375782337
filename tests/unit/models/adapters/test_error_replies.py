"""Errors, calls and empty scores inside replies that look like answers: none of them is kept as an answer."""

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.models.chat_server import ReceivedRequest, ServerReply, completion, reply_correctly
from tests.unit.models.vendor_servers import VENDORS, answer
from tests.unit.requests import request

ERROR = {"code": 502, "message": "stream broke"}
Parts = list[dict[str, Any]]


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def parts_of(vendor: str, body: dict[str, Any]) -> Parts:
    """Return a reply and the parts of its answer."""
    if vendor == "anthropic":
        return [body, body["content"][0]]
    (answer,) = body["choices" if vendor == "openai" else "candidates"]
    return [body, answer, answer["message" if vendor == "openai" else "content"]]


def changed(vendor: str, change: Callable[[Parts], None]) -> Callable[[ReceivedRequest], ServerReply]:
    def respond(received: ReceivedRequest) -> ServerReply:
        body = VENDORS[vendor].respond(received).body
        assert isinstance(body, dict)
        change(parts_of(vendor, body))
        return ServerReply(body)

    return respond


@pytest.mark.parametrize("error", [ERROR, [ERROR], "stream broke"])
@pytest.mark.parametrize("name", ["error", "errors"])
@pytest.mark.parametrize("level", [0, 1, -1])
def test_an_error_at_any_level_of_an_answer_leaves_none(vendor: str, level: int, name: str, error: Any) -> None:
    found, received = answer(vendor, changed(vendor, lambda parts: parts[level].update({name: error})), retries=1)
    assert (found.error, found.text, len(received)) == ("server_error", "", 2) and "stream broke" in found.message


@pytest.mark.parametrize("empty", [{"code": None, "message": None}, {}, [], None, "", False])
def test_an_empty_error_is_none(vendor: str, empty: Any) -> None:
    found, _ = answer(vendor, changed(vendor, lambda parts: [part.update(error=empty) for part in parts] and None))
    assert found.text == "this"


def test_a_filter_that_failed_leaves_the_answer() -> None:
    """As Azure reports it, in addition to the whole answer."""
    results = {"error": {"code": "content_filter_error", "message": "The contents are not filtered"}}
    respond = changed("openai", lambda parts: parts[1].update(content_filter_results=results))
    assert answer("openai", respond)[0].text == "this"


@pytest.mark.parametrize(
    ("by", "change"),
    [
        ("openai", lambda parts: parts[2].update(function_call={"name": "f", "arguments": "{}"})),
        ("anthropic", lambda parts: parts[0]["content"].append({"type": "tool_use", "id": "x", "name": "f", "input": {}})),
        ("gemini", lambda parts: parts[2]["parts"].append({"functionCall": {"name": "f", "args": {}}})),
    ],
)  # fmt: skip
def test_a_text_before_a_call_is_no_answer(by: str, change: Callable[[Parts], None]) -> None:
    found, _ = answer(by, changed(by, change))
    assert found.error == "unfinished" and "calls a" in found.message


@pytest.mark.parametrize("reason", ["network_error", "INTERNAL_ERROR", "failed", "timed_out", "deadline_exceeded"])
@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
def test_vendor_specific_failure_reasons_are_retried(vendor: str, reason: str) -> None:
    name = {"openai": "finish_reason", "anthropic": "stop_reason", "gemini": "finishReason"}[vendor]
    level = 0 if vendor == "anthropic" else 1
    found, received = answer(vendor, changed(vendor, lambda parts: parts[level].update({name: reason})), retries=1)
    assert (found.error, len(received)) == ("server_error", 2)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "server_error", "code": "node_not_found", "message": "busy"},
        {"code": "invalid_response_from_upstream", "message": "busy"},
        {"type": "internal_error", "code": "bad_request_to_worker", "message": "busy"},
    ],
)
def test_an_error_of_the_server_is_none_of_the_question(vendor: str, error: dict[str, str]) -> None:
    found, received = answer(vendor, lambda _: ServerReply({"error": error}), retries=1)
    assert (found.error, len(received)) == ("server_error", 2)


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
def test_an_error_that_cannot_be_read_is_what_its_status_says(vendor: str, server_reply: ServerReply) -> None:
    found, received = answer(vendor, lambda _: server_reply, retries=1)
    assert (found.error, len(received)) == ("server_error", 2) and f"HTTP {server_reply.status}" in found.message


# --- scores -----------------------------------------------------------------------------------------------------------

SCORE = request("is it?", "score", ("Yes", "No"))


def score(logprobs: tuple[float, float], **message: Any) -> Any:
    def respond(received: ReceivedRequest) -> ServerReply:
        if "logprob_token_ids" not in received.body:
            return reply_correctly(received)
        pairs = zip(received.body["logprob_token_ids"], logprobs, strict=True)
        top = [{"token": f"token_id:{token}", "logprob": logprob} for token, logprob in pairs]
        first = {"token": "token_id:3", "logprob": -3.0, "top_logprobs": top}
        return ServerReply(completion(received, logprobs={"content": [first]}, message=message))

    return answer("openai", respond, SCORE, scores="logprob_token_ids")[0]


def test_options_without_any_probability_are_no_tie() -> None:
    for logprobs in ((-9999.0, -9999.0), (float("-inf"), float("-inf"))):
        found = score(logprobs)
        assert (found.error, found.scores) == ("no_scores", ()) and "above 0" in found.message
    assert score((-9999.0, -1.0)).scores[0] == 0


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "reasoning_details", "thinking"])
def test_a_score_after_a_thought_is_not_a_score(name: str) -> None:
    assert score((-1.0, -2.0), **{name: "Let me see."}).error == "no_scores"
    assert score((-1.0, -2.0), **{name: None}).error == ""
