"""What each reply and each error of a vendor means; and servers that are not trusted: replies without end, that unpack to
gigabytes, that drip, and that lead elsewhere."""

import gzip
import json
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.genai import types
from PIL import Image as Picture
from reprise.core.errors import UserError
from reprise.media.decoder import read_frames
from reprise.models.remote.adapter import MAX_REPLY_BYTES

from tests.unit.models.chat_server import (
    FRAME_TOKENS,
    MODEL,
    TEXT_TOKENS,
    ChatServer,
    ReceivedRequest,
    ServerReply,
    error,
)
from tests.unit.models.vendor_servers import VENDORS, answer, anthropic_error, gemini_error, thought
from tests.unit.requests import shown


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_frames_are_those_of_the_plan_and_lossless(vendor: str, video: Path) -> None:
    indices = (3, 40, 40, 17)
    found, received = answer(vendor, VENDORS[vendor].respond, clip=shown(video, indices))
    sent = [np.asarray(Picture.open(BytesIO(image))) for image in VENDORS[vendor].images(received[-1])]
    assert np.array_equal(np.stack(sent), read_frames(video, indices))
    assert (found.text, found.frames_shown, found.served_model) == ("this", 4, MODEL)
    assert (found.tokens_in, found.tokens_out) == (TEXT_TOKENS + 4 * FRAME_TOKENS, 1)


def cases(table: dict[str, list[Any]]) -> list[Any]:
    """Return the rows of all vendors."""
    return [(vendor, *row) for vendor, rows in table.items() for row in rows]


NO_ANSWER: dict[str, list[Any]] = {
    "openai": [
        ({"text": "<think>Let me", "finish_reason": "length"}, "still_thinking", "settings.max_tokens"),
        ({"text": "<think>No words</think> \n"}, "empty", "finish_reason: stop"),
        ({"text": None, "message": {"refusal": "I cannot say."}}, "refused", "I cannot say."),
        ({"text": "So", "finish_reason": "content_filter"}, "content_filter", "content_filter"),
        ({"model": "toy-2"}, "other_model", "'toy-2' answered, not 'toy-1'"),
        ({"text": "lone \ud800"}, "malformed", "invalid chat completion"),
    ],
    "anthropic": [
        ({"model": "toy-2"}, "other_model", "'toy-2' answered, not 'toy-1'"),
        ({"stop_reason": "refusal", "text": "this"}, "refused", "this"),
        ({"stop_reason": "max_tokens", "content": [thought("Hm")]}, "still_thinking", "settings.max_tokens"),
        ({"stop_reason": "model_context_window_exceeded"}, "beyond_context", "exceeded"),
        ({"text": " \n"}, "empty", "end_turn"),
    ],
    "gemini": [
        ({"model_version": None}, "other_model", "'' answered, not 'toy-1'"),
        ({"finish_reason": types.FinishReason.SAFETY, "parts": []}, "content_filter", "SAFETY"),
        ({"finish_reason": types.FinishReason.MAX_TOKENS, "parts": []}, "still_thinking", "settings.max_tokens"),
        ({"text": " "}, "empty", "STOP"),
    ],
}


@pytest.mark.parametrize(("by", "reply", "outcome", "words"), cases(NO_ANSWER))
def test_missing_answers_have_a_named_reason(by: str, reply: dict[str, Any], outcome: str, words: str) -> None:
    found, _ = answer(by, lambda received: ServerReply(VENDORS[by].reply(received, **reply)))
    assert found.error == outcome and words in found.message and found.text == ""


ERRORS: dict[str, list[Any]] = {
    "openai": [
        (error(429, "rate_limit_exceeded"), "rate_limited"),
        (error(500), "server_error"),
        (error(400, message="This model's maximum context length is 4096 tokens."), "beyond_context"),
        (error(403, "content_policy_violation"), "content_filter"),
        (error(400, message="At most 5 images"), "bad_request"),
    ],
    "anthropic": [
        (anthropic_error(429, "rate_limit_error", retry_after="3600"), "rate_limited"),
        (anthropic_error(529, "overloaded_error"), "server_error"),
        (anthropic_error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8"), "beyond_context"),
        (anthropic_error(400, "invalid_request_error"), "bad_request"),
    ],
    "gemini": [
        (gemini_error(429, details=[{"retryDelay": "3600s"}]), "rate_limited"),
        (gemini_error(503, "UNAVAILABLE", "overloaded"), "server_error"),
        (gemini_error(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum"), "beyond_context"),
        (gemini_error(400, "INVALID_ARGUMENT"), "bad_request"),
    ],
}


OF_ALL = [
    (ServerReply(b"<html>", 502), "server_error"),
    (ServerReply(b"<html>busy</html>"), "malformed"),
    (ServerReply(b"", delay=5), "timeout"),
    (ServerReply(b"{", is_endless=True), "timeout"),  # the deadline is of a whole reply
    (ServerReply({"choices": "many words"}, is_truncated=True), "network"),
]


@pytest.mark.parametrize(("by", "server_reply", "outcome"), cases({by: [*ERRORS[by], *OF_ALL] for by in VENDORS}))
def test_an_error_of_the_server_has_a_name(by: str, server_reply: ServerReply, outcome: str) -> None:
    found, received = answer(by, lambda _: server_reply, timeout_s=1.5)
    assert found.error == outcome and len(received) == 1


MISTAKES: dict[str, list[Any]] = {
    "openai": [
        (error(401, "invalid_api_key"), "rejects the key"),
        (error(429, "insufficient_quota"), "has no credit left"),
        (error(403, "unsupported_country_region_territory"), "not available in this region"),
        (ServerReply(b"Not Found", 404), "does not know the model or the address"),
    ],
    "anthropic": [
        (anthropic_error(401, "authentication_error"), "rejects the key"),
        (anthropic_error(400, "invalid_request_error", "Your credit balance is too low"), "no credit left"),
    ],
    "gemini": [
        (gemini_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), "rejects the key"),
        (gemini_error(400, "X", "User location is not supported for the API use."), "in this region"),
        (gemini_error(429, details=[{"violations": [{"quotaId": "RequestsPerDay"}]}]), "no credit left"),
        (gemini_error(404, "NOT_FOUND", "models/toy-1 is not found"), "does not know the model"),
    ],
}


@pytest.mark.parametrize(("by", "server_reply", "words"), cases(MISTAKES))
def test_configuration_errors_end_the_job(by: str, server_reply: ServerReply, words: str) -> None:
    with pytest.raises(UserError, match=rf"(?s)the server .*{words}.*model 'toy-1'.*Answers so far are kept"):
        answer(by, lambda _: server_reply)


# --- how far a reply is read -------------------------------------------------------------------------------------------
BOMB = gzip.compress(bytes(64 * MAX_REPLY_BYTES))
REFUSED: dict[str, tuple[ServerReply, str]] = {
    "without end": (ServerReply(bytes(2 * MAX_REPLY_BYTES), is_endless=True), "a reply of more than 1,000,000 bytes"),
    "a bomb": (ServerReply(BOMB, headers={"Content-Encoding": "gzip"}), "a reply of more than 1,000,000 bytes when it is unpacked"),
    "another packing": (ServerReply(b"{}", headers={"Content-Encoding": "br"}), "a reply that is packed by 'br'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_reply_is_read_no_further_than_its_largest_size(case: str, vendor: str) -> None:
    server_reply, words = REFUSED[case]
    found, received = answer(vendor, lambda _: server_reply, retries=2)
    assert found.error == "malformed" and words in found.message
    assert len(received) == 1, "it is not asked for again"


def test_a_redirect_is_a_failure_that_names_where_it_points(vendor: str) -> None:
    with ChatServer() as elsewhere:
        place = elsewhere.url.replace("/v1", "/x")
        found, received = answer(
            vendor, lambda _: ServerReply({}, 307, {"Location": f"{place}?key=sk-secret"}), retries=2
        )
        assert elsewhere.received == [] and len(received) == 1
    assert found.error == "bad_request" and "sk-secret" not in found.message
    assert f"HTTP 307: the server redirects to {place}, which Reprise does not follow" in found.message


def test_a_packed_reply_is_read(vendor: str) -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        packed = zlib.compress(json.dumps(VENDORS[vendor].reply(received)).encode())
        return ServerReply(packed, headers={"Content-Encoding": "deflate"})

    found, received = answer(vendor, respond)
    assert not found.error and found.text
    assert received[0].headers["accept-encoding"] == "gzip, deflate"
