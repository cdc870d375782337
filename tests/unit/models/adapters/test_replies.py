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

from tests.unit.asked import shown
from tests.unit.models.chat_server import FRAME_TOKENS, MODEL, TEXT_TOKENS, Asked, ChatServer, Says, error
from tests.unit.models.vendor_servers import VENDORS, answer, anthropic_error, gemini_error, thought


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_frames_are_those_of_the_plan_and_lossless(vendor: str, video: Path) -> None:
    indices = (3, 40, 40, 17)
    found, asked = answer(vendor, VENDORS[vendor].well, clip=shown(video, indices))
    sent = [np.asarray(Picture.open(BytesIO(image))) for image in VENDORS[vendor].images(asked[-1])]
    assert np.array_equal(np.stack(sent), read_frames(video, indices))
    assert (found.text, found.frames_shown, found.served) == ("this", 4, MODEL)
    assert (found.tokens_in, found.tokens_out) == (TEXT_TOKENS + 4 * FRAME_TOKENS, 1)


def cases(table: dict[str, list[Any]]) -> list[Any]:
    """The rows of all vendors."""
    return [(vendor, *row) for vendor, rows in table.items() for row in rows]


NO_ANSWER: dict[str, list[Any]] = {
    "openai": [
        ({"text": "<think>Let me", "finish_reason": "length"}, "still_thinking", "settings.max_tokens"),
        ({"text": "<think>No words</think> \n"}, "empty", "finish_reason: stop"),
        ({"text": None, "message": {"refusal": "I cannot say."}}, "refused", "I cannot say."),
        ({"text": "So", "finish_reason": "content_filter"}, "content_filter", "content_filter"),
        ({"model": "toy-2"}, "other_model", "'toy-2' answered, not 'toy-1'"),
        ({"text": "lone \ud800"}, "malformed", "no chat completion"),
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
def test_what_is_no_answer_has_a_name(by: str, reply: dict[str, Any], outcome: str, words: str) -> None:
    found, _ = answer(by, lambda asked: Says(VENDORS[by].reply(asked, **reply)))
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
    (Says(b"<html>", 502), "server_error"),
    (Says(b"<html>busy</html>"), "malformed"),
    (Says(b"", delay=5), "timeout"),
    (Says(b"{", drips=True), "timeout"),  # the deadline is of a whole reply
    (Says({"choices": "many words"}, is_cut=True), "network"),
]


@pytest.mark.parametrize(("by", "says", "outcome"), cases({by: [*ERRORS[by], *OF_ALL] for by in VENDORS}))
def test_an_error_of_the_server_has_a_name(by: str, says: Says, outcome: str) -> None:
    found, asked = answer(by, lambda _: says, timeout_s=1.5)
    assert found.error == outcome and len(asked) == 1


MISTAKES: dict[str, list[Any]] = {
    "openai": [
        (error(401, "invalid_api_key"), "refuses the key"),
        (error(429, "insufficient_quota"), "has no credit left"),
        (error(403, "unsupported_country_region_territory"), "this region none"),
        (Says(b"Not Found", 404), "does not know the model or the address"),
    ],
    "anthropic": [
        (anthropic_error(401, "authentication_error"), "refuses the key"),
        (anthropic_error(400, "invalid_request_error", "Your credit balance is too low"), "no credit left"),
    ],
    "gemini": [
        (gemini_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), "refuses the key"),
        (gemini_error(400, "X", "User location is not supported for the API use."), "this region"),
        (gemini_error(429, details=[{"violations": [{"quotaId": "RequestsPerDay"}]}]), "no credit left"),
        (gemini_error(404, "NOT_FOUND", "models/toy-1 is not found"), "does not know the model"),
    ],
}


@pytest.mark.parametrize(("by", "says", "words"), cases(MISTAKES))
def test_what_no_question_could_pass_ends_the_job(by: str, says: Says, words: str) -> None:
    with pytest.raises(UserError, match=rf"(?s)the server .*{words}.*model 'toy-1'.*Answers so far are kept"):
        answer(by, lambda _: says)


# --- how far a reply is read -------------------------------------------------------------------------------------------
BOMB = gzip.compress(bytes(64 * MAX_REPLY_BYTES))
REFUSED: dict[str, tuple[Says, str]] = {
    "without end": (Says(bytes(2 * MAX_REPLY_BYTES), drips=True), "a reply of more than 1,000,000 bytes"),
    "a bomb": (Says(BOMB, headers={"Content-Encoding": "gzip"}), "a reply of more than 1,000,000 bytes when it is unpacked"),
    "another packing": (Says(b"{}", headers={"Content-Encoding": "br"}), "a reply that is packed by 'br'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_reply_is_read_no_further_than_its_largest_size(case: str, vendor: str) -> None:
    says, words = REFUSED[case]
    found, asked = answer(vendor, lambda _: says, retries=2)
    assert found.error == "malformed" and words in found.message
    assert len(asked) == 1, "it is not asked for again"


def test_a_redirect_is_a_failure_that_names_where_it_points(vendor: str) -> None:
    with ChatServer() as elsewhere:
        place = elsewhere.url.replace("/v1", "/x")
        found, asked = answer(vendor, lambda _: Says({}, 307, {"Location": f"{place}?key=sk-secret"}), retries=2)
        assert elsewhere.asked == [] and len(asked) == 1
    assert found.error == "bad_request" and "sk-secret" not in found.message
    assert f"HTTP 307: the server points to {place}, where nothing is sent" in found.message


def test_a_packed_reply_is_read(vendor: str) -> None:
    def says(asked: Asked) -> Says:
        packed = zlib.compress(json.dumps(VENDORS[vendor].reply(asked)).encode())
        return Says(packed, headers={"Content-Encoding": "deflate"})

    found, asked = answer(vendor, says)
    assert not found.error and found.text
    assert asked[0].headers["accept-encoding"] == "gzip, deflate"
