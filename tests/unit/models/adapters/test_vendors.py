"""Anthropic and Gemini on the wire: settings as they are sent, what a reply counts, a video that is uploaded once and deleted.

What each reply means: test_replies.py.
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
    answer,
    gemini_error,
    generated,
    message,
    parts_of,
    prompt_of,
    reply_as_anthropic,
    reply_as_gemini,
    thought,
)
from tests.unit.requests import request, shown
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
def test_what_anthropic_is_sent_is_what_settings_and_protocol_say(
    settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    _, (received,) = answer("anthropic", reply_as_anthropic, **settings)
    assert (received.path, received.prompt, received.body.pop("messages")[0]["role"]) == (
        "/v1/messages",
        "say this",
        "user",
    )
    assert received.body == {"model": MODEL, "system": "Be brief.", **fields}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"thinking": 5}, "at least 1024 tokens, found 5"),
        ({"thinking": 2048}, "max_tokens should be above the 2048 tokens"),
    ],
)
def test_settings_of_anthropic_contradict_nothing(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AnthropicSettings.model_validate({"model": MODEL, **settings})


def test_anthropics_thoughts_are_no_answer_and_cached_tokens_are_counted() -> None:
    usage = Usage(input_tokens=5, output_tokens=40, cache_read_input_tokens=100, cache_creation_input_tokens=7)
    content = [thought("Is it A?"), TextBlock(type="text", text="B")]
    found, _ = answer("anthropic", lambda received: ServerReply(message(received, content=content, usage=usage)))
    assert (found.text, found.tokens_in, found.tokens_out, found.tokens_cached) == ("B", 112, 40, 100)


def test_what_gemini_is_sent_is_what_settings_and_protocol_say() -> None:
    _, (received,) = answer("gemini", reply_as_gemini, temperature=0.5, resolution="low", thinking=0)
    _, (other,) = answer("gemini", reply_as_gemini, temperature=None, thinking="low", max_tokens=99)
    assert received.path == f"/v1beta/models/{MODEL}:generateContent" and prompt_of(received) == "say this"
    assert received.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert received.body["generationConfig"] == {
        "temperature": 0.5, "maxOutputTokens": 8, "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"thinking_budget": 0},
    }  # fmt: skip
    assert other.body["generationConfig"] == {"maxOutputTokens": 99, "thinkingConfig": {"thinking_level": "LOW"}}


def test_geminis_thoughts_are_no_answer_but_are_paid_for() -> None:
    parts = [types.Part(text="Hm", thought=True), types.Part(text="B")]
    usage = {"prompt_token_count": 5, "candidates_token_count": 2, "thoughts_token_count": 30,
             "cached_content_token_count": 4}  # fmt: skip
    found, _ = answer("gemini", lambda received: ServerReply(generated(received, parts=parts, usage=usage)))
    assert (found.text, found.tokens_in, found.tokens_out, found.tokens_cached) == ("B", 5, 32, 4)


def test_a_prompt_that_gemini_blocks_is_filtered() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": MODEL}
    found, _ = answer("gemini", lambda _: ServerReply(blocked))
    assert found.error == "content_filter" and "PROHIBITED_CONTENT" in found.message
    found, _ = answer("gemini", lambda _: ServerReply({"modelVersion": MODEL}))
    assert (found.error, found.message) == ("malformed", "invalid reply of generateContent: candidates: missing")


# --- uploads ---------------------------------------------------------------------------------------------------------


FRAMES = 48
"""of the tests' video"""
adapter = partial(vendor_servers.adapter, "gemini", frames="video")


@pytest.fixture
def clip(video: Path) -> ClipFrames:
    """Return a clip with one frame per second, like the vendor's sampling."""
    return shown(video, tuple(range(0, FRAMES, RATE)))


@pytest.fixture
def files() -> Iterator[FilesApi]:
    with ChatServer() as server:
        server.respond = files = FilesApi(server)
        yield files


def test_a_video_is_uploaded_once_and_deleted_after_its_requests(
    files: FilesApi, clip: ClipFrames, video: Path
) -> None:
    requests = [request(f"say {at}", "write") for at in range(4)]
    found = list(adapter(files.server, fps=1).answers(clip, requests))
    assert [one.text for one in found] == ["0", "1", "2", "3"]
    assert {one.frames_shown for one in found} == {math.ceil(FRAMES / RATE)}
    assert len(files.deleted) == 1 and files.there == {}
    (put,) = [one for one in files.server.received if one.path.startswith("/put/")]
    assert put.raw == video.read_bytes()
    assert files.looked == {files.deleted[0]: 2}, "asked about when it was ready"
    parts = [parts_of(one)[0] for one in files.server.received if "generateContent" in one.path]
    uris = {(part["fileData"]["file_uri"], part["videoMetadata"]["fps"]) for part in parts}
    assert uris == {(f"https://host/v1beta/{files.deleted[0]}", 1.0)}


def test_a_sampling_other_than_the_vendors_is_not_sent(files: FilesApi, video: Path) -> None:
    found = list(adapter(files.server).answers(shown(video, tuple(range(16))), [WRITE, request("x", "write")]))
    assert [one.error for one in found] == ["not_shown"] * 2 and files.server.received == []
    assert (
        "at settings.fps 1 the vendor samples 2 frames of the uploaded file, but the run's sampling selects 16"
        in found[0].message
    )


@pytest.mark.parametrize(("state", "error"), [("FAILED", "bad_request"), ("PROCESSING", "timeout")])
def test_an_unusable_video_is_deleted(files: FilesApi, clip: ClipFrames, state: str, error: str) -> None:
    files.state = state
    (found,) = adapter(files.server, upload_s=0.3).answers(clip, [WRITE])
    assert found.error == error and files.there == {} and len(files.deleted) == 1


def test_a_video_is_deleted_when_a_user_error_ends_the_job(files: FilesApi, clip: ClipFrames) -> None:
    files.then = lambda _: gemini_error(401)
    with pytest.raises(UserError, match="rejects the key"):
        list(adapter(files.server).answers(clip, [WRITE]))
    assert files.there == {} and len(files.deleted) == 1


def test_what_cannot_be_deleted_is_named(files: FilesApi, clip: ClipFrames, caplog: pytest.LogCaptureFixture) -> None:
    files.server.respond = lambda received: gemini_error(503) if received.method == "DELETE" else files(received)
    (found,) = adapter(files.server).answers(clip, [WRITE])
    assert found.text == "this" and len(files.there) == 1
    assert "could not be deleted; the vendor deletes it after two days" in caplog.text
