"""Gemini on the wire: frames as images, or a video that is uploaded once and deleted; what each reply means."""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from google.genai import types
from reprise.core.errors import UserError
from reprise.models.base import Clip

from tests.unit.asked import request, shown
from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import MODEL, Asked, ChatServer, Says
from tests.unit.models.vendor_servers import WRITE, Files, gemini_error, gemini_well, generated, parts_of, prompt_of
from tests.unit.videos import RATE

FRAMES = 48
"""of the tests' video"""
adapter, answer = partial(vendor_servers.adapter, "gemini"), partial(vendor_servers.answer, "gemini")


def by_second(video: Path) -> Clip:
    """Shown as the vendor does: a frame a second."""
    return shown(video, tuple(range(0, FRAMES, RATE)))


def test_a_request_says_what_the_settings_and_the_protocol_say() -> None:
    _, (asked,) = answer(gemini_well, temperature=0.5, resolution="low", thinking=0)
    _, (other,) = answer(gemini_well, temperature=None, thinking="low", max_tokens=99)
    assert asked.path == f"/v1beta/models/{MODEL}:generateContent" and prompt_of(asked) == "say this"
    assert asked.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert asked.body["generationConfig"] == {
        "temperature": 0.5, "maxOutputTokens": 8, "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"thinking_budget": 0},
    }  # fmt: skip
    assert other.body["generationConfig"] == {"maxOutputTokens": 99, "thinkingConfig": {"thinking_level": "LOW"}}


def test_thoughts_are_no_answer_but_are_paid_for() -> None:
    parts = [types.Part(text="Hm", thought=True), types.Part(text="B")]
    usage = {"prompt_token_count": 5, "candidates_token_count": 2, "thoughts_token_count": 30,
             "cached_content_token_count": 4}  # fmt: skip
    found, _ = answer(lambda asked: Says(generated(asked, parts=parts, usage=usage)))
    assert (found.text, found.tokens_in, found.tokens_out, found.tokens_cached) == ("B", 5, 32, 4)


def test_a_blocked_prompt_is_filtered() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": MODEL}
    found, _ = answer(lambda _: Says(blocked))
    assert found.error == "content_filter" and "PROHIBITED_CONTENT" in found.message


# --- uploads ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        running.says = Files(running)
        yield running


def files_of(server: ChatServer) -> Files:
    assert isinstance(server.says, Files)
    return server.says


def test_a_video_is_uploaded_once_asked_about_and_deleted(server: ChatServer, video: Path) -> None:
    clip = by_second(video)
    asked = [request(f"say {at}", "write") for at in range(4)]
    found = list(adapter(server, frames="video", fps=1).answers(clip, asked))
    files, questions = files_of(server), [one for one in server.asked if "generateContent" in one.path]
    assert [one.text for one in found] == ["0", "1", "2", "3"]
    assert {one.frames_shown for one in found} == {math.ceil(FRAMES / RATE)}
    assert len(files.deleted) == 1 and files.there == {}
    (put,) = [one for one in server.asked if one.path.startswith("/put/")]
    assert put.raw == video.read_bytes()
    assert files.looked == {files.deleted[0]: 2}, "asked about when it was ready"
    parts = [parts_of(one)[0] for one in questions]
    uris = {(part["fileData"]["file_uri"], part["videoMetadata"]["fps"]) for part in parts}
    assert uris == {(f"https://host/v1beta/{files.deleted[0]}", 1.0)}


def test_another_sampling_than_the_vendors_is_not_asked(server: ChatServer, video: Path) -> None:
    clip = shown(video, tuple(range(16)))
    found = list(adapter(server, frames="video").answers(clip, [WRITE, request("x", "write")]))
    assert [one.error for one in found] == ["not_shown"] * 2 and server.asked == []
    assert "takes 2 frames at settings.fps 1, the run's sampling shows 16" in found[0].message


@pytest.mark.parametrize("fault", ["question", "key", "unreadable", "slow"])
def test_an_uploaded_video_is_deleted_after_every_failure(server: ChatServer, video: Path, fault: str) -> None:
    files, expected = files_of(server), {"unreadable": "bad_request", "slow": "timeout", "question": "server_error"}
    files.state = {"unreadable": "FAILED", "slow": "PROCESSING"}.get(fault, "ACTIVE")
    files.then = {"key": lambda _: gemini_error(401), "question": lambda _: gemini_error(500)}.get(fault, gemini_well)
    own = adapter(server, frames="video", upload_s=0.3)
    with pytest.raises(UserError, match="refuses the key") if fault == "key" else nullcontext():
        (found,) = own.answers(by_second(video), [WRITE])
        assert found.error == expected[fault]
    assert files.there == {} and len(files.deleted) == 1


def test_what_cannot_be_deleted_is_named(server: ChatServer, video: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = files_of(server)
    server.says = lambda asked: gemini_error(503) if asked.method == "DELETE" else files(asked)
    (found,) = adapter(server, frames="video").answers(by_second(video), [WRITE])
    assert found.text == "this" and len(files.there) == 1
    assert "is not deleted; the vendor deletes it itself after two days" in caplog.text


def test_an_upload_that_fails_is_tried_again_under_another_name(server: ChatServer, video: Path) -> None:
    files = files_of(server)
    broken: list[Asked] = []

    def says(asked: Asked) -> Says:
        if asked.path.startswith("/put/") and not broken:
            files(asked)
            broken.append(asked)
            return Says(b"{", is_cut=True)
        return files(asked)

    server.says = says
    (found,) = adapter(server, frames="video", retries=1).answers(by_second(video), [WRITE])
    assert found.text == "this" and files.there == {} and len(set(files.deleted)) == 2
