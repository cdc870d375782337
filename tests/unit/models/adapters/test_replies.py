"""Test the outcome of each reply and error of a vendor, and replies of untrusted servers.

Untrusted replies are endless, unpack to gigabytes, arrive byte by byte, or redirect to another server.
"""

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
from tests.unit.models.vendor_servers import VENDORS, anthropic_error, gemini_error, query_vendor, thought
from tests.unit.requests import clip_frames


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_frames_are_those_of_the_plan_and_lossless(vendor: str, video: Path) -> None:
    indices = (3, 40, 40, 17)
    answer, received = query_vendor(vendor, VENDORS[vendor].respond, clip=clip_frames(video, indices))
    sent_pictures = [np.asarray(Picture.open(BytesIO(image))) for image in VENDORS[vendor].decode_images(received[-1])]
    assert np.array_equal(np.stack(sent_pictures), read_frames(video, indices))
    assert (answer.text, answer.frames_shown, answer.served_model) == ("this", 4, MODEL)
    assert (answer.tokens_in, answer.tokens_out) == (TEXT_TOKENS + 4 * FRAME_TOKENS, 1)


def list_cases(table: dict[str, list[Any]]) -> list[Any]:
    """Return the cases of all vendors, each with the vendor's name."""
    return [(vendor, *row) for vendor, rows in table.items() for row in rows]


MISSING_ANSWERS: dict[str, list[Any]] = {
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


@pytest.mark.parametrize(("vendor_name", "reply", "outcome", "expected_words"), list_cases(MISSING_ANSWERS))
def test_missing_answers_have_a_named_reason(
    vendor_name: str, reply: dict[str, Any], outcome: str, expected_words: str
) -> None:
    answer, _ = query_vendor(
        vendor_name, lambda received: ServerReply(VENDORS[vendor_name].build_body(received, **reply))
    )
    assert answer.error == outcome and expected_words in answer.message and answer.text == ""


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


COMMON_ERRORS = [
    (ServerReply(b"<html>", 502), "server_error"),
    (ServerReply(b"<html>busy</html>"), "malformed"),
    (ServerReply(b"", delay=5), "timeout"),
    (ServerReply(b"{", is_endless=True), "timeout"),  # the deadline applies to the whole reply
    (ServerReply({"choices": "many words"}, is_truncated=True), "network"),
]


@pytest.mark.parametrize(
    ("vendor_name", "server_reply", "outcome"),
    list_cases({vendor_name: [*ERRORS[vendor_name], *COMMON_ERRORS] for vendor_name in VENDORS}),
)
def test_an_error_of_the_server_has_a_name(vendor_name: str, server_reply: ServerReply, outcome: str) -> None:
    answer, received = query_vendor(vendor_name, lambda _: server_reply, timeout_s=1.5)
    assert answer.error == outcome and len(received) == 1


CONFIGURATION_ERRORS: dict[str, list[Any]] = {
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


@pytest.mark.parametrize(("vendor_name", "server_reply", "expected_words"), list_cases(CONFIGURATION_ERRORS))
def test_configuration_errors_end_the_job(vendor_name: str, server_reply: ServerReply, expected_words: str) -> None:
    with pytest.raises(UserError, match=rf"(?s)the server .*{expected_words}.*model 'toy-1'.*Answers so far are kept"):
        query_vendor(vendor_name, lambda _: server_reply)


# --- limits on the size of a reply ---------------------------------------------------------------------------------------
GZIP_BOMB = gzip.compress(bytes(64 * MAX_REPLY_BYTES))
OVERSIZED_REPLIES: dict[str, tuple[ServerReply, str]] = {
    "an endless reply": (ServerReply(bytes(2 * MAX_REPLY_BYTES), is_endless=True), "a reply of more than 1,000,000 bytes"),
    "a gzip bomb": (ServerReply(GZIP_BOMB, headers={"Content-Encoding": "gzip"}), "a reply of more than 1,000,000 bytes when it is decompressed"),
    "an unsupported encoding": (ServerReply(b"{}", headers={"Content-Encoding": "br"}), "a reply with content encoding 'br'"),
}  # fmt: skip


@pytest.mark.parametrize("case", OVERSIZED_REPLIES)
def test_a_reply_is_read_up_to_the_maximum_size(case: str, vendor: str) -> None:
    server_reply, expected_words = OVERSIZED_REPLIES[case]
    answer, received = query_vendor(vendor, lambda _: server_reply, retries=2)
    assert answer.error == "malformed" and expected_words in answer.message
    assert len(received) == 1, "the request is not retried"


def test_a_redirect_is_a_failure_that_names_where_it_points(vendor: str) -> None:
    with ChatServer() as other_server:
        redirect_url = other_server.url.replace("/v1", "/x")
        answer, received = query_vendor(
            vendor, lambda _: ServerReply({}, 307, {"Location": f"{redirect_url}?key=sk-secret"}), retries=2
        )
        assert other_server.received == [] and len(received) == 1
    assert answer.error == "bad_request" and "sk-secret" not in answer.message
    assert f"HTTP 307: the server redirects to {redirect_url}, which Reprise does not follow" in answer.message


def test_a_compressed_reply_is_accepted(vendor: str) -> None:
    def respond(received: ReceivedRequest) -> ServerReply:
        compressed = zlib.compress(json.dumps(VENDORS[vendor].build_body(received)).encode())
        return ServerReply(compressed, headers={"Content-Encoding": "deflate"})

    answer, received = query_vendor(vendor, respond)
    assert not answer.error and answer.text
    assert received[0].headers["accept-encoding"] == "gzip, deflate"
