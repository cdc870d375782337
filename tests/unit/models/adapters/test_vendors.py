"""Test the requests of the Anthropic and Gemini adapters, their token counts, and the upload and deletion of videos.

For the outcome of each reply, see test_replies.py.
"""

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import TextBlock, Usage
from google.genai import types
from pydantic import ValidationError
from reprise.core.errors import UserError
from reprise.models.base import ClipFrames
from reprise.models.remote.settings import AnthropicSettings

from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import MODEL, ChatServer, ServerReply
from tests.unit.models.vendor_servers import (
    WRITE,
    FilesApi,
    anthropic_reply,
    gemini_error,
    gemini_reply,
    parts_of,
    prompt_of,
    query_vendor,
    reply_as_anthropic,
    reply_as_gemini,
    thought,
)
from tests.unit.requests import clip_frames, make_request
from tests.unit.videos import RATE


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, {"max_tokens": 8}),
        ({"thinking": 2048, "max_tokens": 4000},
         {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ({"thinking": "adaptive", "effort": "low", "temperature": 1},
         {"max_tokens": 8, "temperature": 1.0, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
    ],
)  # fmt: skip
def test_a_request_to_anthropic_follows_the_settings_and_the_protocol(
    settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    _, (received,) = query_vendor("anthropic", reply_as_anthropic, **settings)
    assert (received.path, received.prompt, received.body.pop("messages")[0]["role"]) == (
        "/v1/messages",
        "say this",
        "user",
    )
    assert received.body == {"model": MODEL, "system": "Be brief.", **fields}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"thinking": 5}, "at least 1024 tokens, found 5"),
        ({"thinking": 2048}, "max_tokens should be above the 2048 tokens"),
    ],
)
def test_contradictory_settings_of_anthropic_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AnthropicSettings.model_validate({"model": MODEL, **settings})


def test_anthropics_thoughts_are_not_in_the_answer_and_cached_tokens_are_counted() -> None:
    usage = Usage(input_tokens=5, output_tokens=40, cache_read_input_tokens=100, cache_creation_input_tokens=7)
    content = [thought("Is it A?"), TextBlock(type="text", text="B")]
    answer, _ = query_vendor(
        "anthropic", lambda received: ServerReply(anthropic_reply(received, content=content, usage=usage))
    )
    assert (answer.text, answer.tokens_in, answer.tokens_out, answer.tokens_cached) == ("B", 112, 40, 100)


def test_a_request_to_gemini_follows_the_settings_and_the_protocol() -> None:
    _, (received,) = query_vendor("gemini", reply_as_gemini, temperature=0.5, resolution="low", thinking=0)
    _, (second_request,) = query_vendor("gemini", reply_as_gemini, temperature=None, thinking="low", max_tokens=99)
    assert received.path == f"/v1beta/models/{MODEL}:generateContent" and prompt_of(received) == "say this"
    assert received.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert received.body["generationConfig"] == {
        "temperature": 0.5, "maxOutputTokens": 8, "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"thinking_budget": 0},
    }  # fmt: skip
    assert second_request.body["generationConfig"] == {
        "maxOutputTokens": 99,
        "thinkingConfig": {"thinking_level": "LOW"},
    }


def test_geminis_thoughts_are_not_in_the_answer_but_their_tokens_are_counted() -> None:
    parts = [types.Part(text="Hm", thought=True), types.Part(text="B")]
    usage = {"prompt_token_count": 5, "candidates_token_count": 2, "thoughts_token_count": 30,
             "cached_content_token_count": 4}  # fmt: skip
    answer, _ = query_vendor("gemini", lambda received: ServerReply(gemini_reply(received, parts=parts, usage=usage)))
    assert (answer.text, answer.tokens_in, answer.tokens_out, answer.tokens_cached) == ("B", 5, 32, 4)


def test_a_prompt_that_gemini_blocks_is_filtered() -> None:
    blocked_body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": MODEL}
    answer, _ = query_vendor("gemini", lambda _: ServerReply(blocked_body))
    assert answer.error == "content_filter" and "PROHIBITED_CONTENT" in answer.message
    answer, _ = query_vendor("gemini", lambda _: ServerReply({"modelVersion": MODEL}))
    assert (answer.error, answer.message) == ("malformed", "invalid reply of generateContent: candidates: missing")


# --- uploads ---------------------------------------------------------------------------------------------------------


FRAME_COUNT = 48
"""number of frames of the tests' video"""
make_adapter = partial(vendor_servers.make_adapter, "gemini", frames="video")


@pytest.fixture
def clip(video: Path) -> ClipFrames:
    """Return a clip with one frame per second, like the vendor's sampling."""
    return clip_frames(video, tuple(range(0, FRAME_COUNT, RATE)))


@pytest.fixture
def files() -> Iterator[FilesApi]:
    with ChatServer() as server:
        server.respond = files = FilesApi(server)
        yield files


def test_a_video_is_uploaded_once_and_deleted_after_its_requests(
    files: FilesApi, clip: ClipFrames, video: Path
) -> None:
    requests = [make_request(f"say {index}", "write") for index in range(4)]
    answers = list(make_adapter(files.server, fps=1).answers(clip, requests))
    assert [answer.text for answer in answers] == ["0", "1", "2", "3"]
    assert {answer.frames_shown for answer in answers} == {math.ceil(FRAME_COUNT / RATE)}
    assert len(files.deleted) == 1 and files.content_by_name == {}
    (upload,) = [request for request in files.server.received if request.path.startswith("/put/")]
    assert upload.raw == video.read_bytes()
    assert files.poll_count_by_name == {files.deleted[0]: 2}, "polled until it was ready"
    parts = [parts_of(request)[0] for request in files.server.received if "generateContent" in request.path]
    uris = {(part["fileData"]["file_uri"], part["videoMetadata"]["fps"]) for part in parts}
    assert uris == {(f"https://host/v1beta/{files.deleted[0]}", 1.0)}


def test_a_sampling_other_than_the_vendors_is_not_sent(files: FilesApi, video: Path) -> None:
    answers = list(
        make_adapter(files.server).answers(clip_frames(video, tuple(range(16))), [WRITE, make_request("x", "write")])
    )
    assert [answer.error for answer in answers] == ["not_shown"] * 2 and files.server.received == []
    assert (
        "at settings.fps 1 the vendor samples 2 frames of the uploaded file, but the run's sampling selects 16"
        in answers[0].message
    )


@pytest.mark.parametrize(("state", "error"), [("FAILED", "bad_request"), ("PROCESSING", "timeout")])
def test_an_unusable_video_is_deleted(files: FilesApi, clip: ClipFrames, state: str, error: str) -> None:
    files.state = state
    (answer,) = make_adapter(files.server, upload_s=0.3).answers(clip, [WRITE])
    assert answer.error == error and files.content_by_name == {} and len(files.deleted) == 1


def test_a_video_is_deleted_when_a_user_error_ends_the_job(files: FilesApi, clip: ClipFrames) -> None:
    files.respond = lambda _: gemini_error(401)
    with pytest.raises(UserError, match="rejects the key"):
        list(make_adapter(files.server).answers(clip, [WRITE]))
    assert files.content_by_name == {} and len(files.deleted) == 1


def test_a_file_that_cannot_be_deleted_is_named(
    files: FilesApi, clip: ClipFrames, caplog: pytest.LogCaptureFixture
) -> None:
    files.server.respond = lambda received: gemini_error(503) if received.method == "DELETE" else files(received)
    (answer,) = make_adapter(files.server).answers(clip, [WRITE])
    assert answer.text == "this" and len(files.content_by_name) == 1
    assert "could not be deleted; the vendor deletes it after two days" in caplog.text
