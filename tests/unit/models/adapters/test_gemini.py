"""Gemini on the wire: frames as images, or a video that is uploaded once and deleted; what each reply means."""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.genai import types
from PIL import Image as Picture
from reprise.core.errors import UserError
from reprise.media.decoder import read_frames
from reprise.models.asking.money.prices import Account, Budget
from reprise.models.base import Answer, Clip, Request
from reprise.models.remote.gemini import GeminiAdapter

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.chat_server import MODEL, TEXT_TOKENS, Asked, ChatServer, Says
from tests.unit.models.vendor_servers import (
    Behaviour,
    Files,
    gemini_error,
    gemini_well,
    generated,
    images_of,
    parts_of,
    prompt_of,
)
from tests.unit.videos import RATE, barcode_video

WRITE = request("say this", "write", system="Be brief.")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("video") / "v.mp4", 72, width=32, height=32)


def adapter(server: ChatServer, store: Path | None = None, **settings: Any) -> GeminiAdapter:
    own = {"url": server.url.removesuffix("/v1"), "model": MODEL, "key": None, "retries": 0, **settings}
    plain = spec(**own)
    if store is None:
        return GeminiAdapter(plain)
    return GeminiAdapter(replace(plain, account=Account(store, "run", None, Budget(tokens=10**9))))


def answer(says: Behaviour, asked: Request = WRITE, clip: Clip = BLIND, **settings: Any) -> Answer:
    with ChatServer(says) as server:
        (found,) = adapter(server, **settings).answers(clip, [asked])
    return found


def by_second(video: Path) -> Clip:
    """Shown as the vendor does: a frame a second."""
    return shown(video, tuple(range(0, 72, RATE)))


def test_frames_are_those_of_the_plan_and_lossless(video: Path) -> None:
    with ChatServer(gemini_well) as server:
        own = {"temperature": 0.5, "resolution": "low", "thinking": 0}
        (found,) = adapter(server, **own).answers(shown(video, (3, 40)), [WRITE])
        list(adapter(server, thinking="low", temperature=None, max_tokens=99).answers(BLIND, [WRITE]))
        asked, other = server.asked
    assert other.body["generationConfig"] == {"maxOutputTokens": 99, "thinkingConfig": {"thinking_level": "LOW"}}
    sent = [np.asarray(Picture.open(BytesIO(image))) for image in images_of(asked)]
    assert np.array_equal(np.stack(sent), read_frames(video, (3, 40)))
    assert asked.path == f"/v1beta/models/{MODEL}:generateContent" and prompt_of(asked) == "say this"
    assert asked.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert asked.body["generationConfig"] == {
        "temperature": 0.5, "maxOutputTokens": 8, "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"thinking_budget": 0},
    }  # fmt: skip
    assert (found.text, found.frames_shown, found.served, found.tokens_in) == ("this", 2, MODEL, TEXT_TOKENS + 20)


def test_thoughts_are_no_answer_but_are_paid_for() -> None:
    parts = [types.Part(text="Hm", thought=True), types.Part(text="B")]
    usage = {"prompt_token_count": 5, "candidates_token_count": 2, "thoughts_token_count": 30,
             "cached_content_token_count": 4}  # fmt: skip
    found = answer(lambda asked: Says(generated(asked, parts=parts, usage=usage)))
    assert (found.text, found.tokens_in, found.tokens_out, found.tokens_cached) == ("B", 5, 32, 4)


def test_a_blocked_prompt_is_filtered() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": MODEL}
    found = answer(lambda _: Says(blocked))
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


def test_a_video_is_uploaded_once_asked_about_and_deleted(server: ChatServer, video: Path, tmp_path: Path) -> None:
    clip = by_second(video)
    asked = [request(f"say {at}", "write") for at in range(4)]
    found = list(adapter(server, tmp_path, frames="video", fps=1).answers(clip, asked))
    files, questions = files_of(server), [one for one in server.asked if "generateContent" in one.path]
    assert [one.text for one in found] == ["0", "1", "2", "3"]
    assert {one.frames_shown for one in found} == {math.ceil(72 / RATE)}
    assert len(files.deleted) == 1 and files.there == {}
    (put,) = [one for one in server.asked if one.path.startswith("/put/")]
    assert put.raw == video.read_bytes()
    assert files.looked == {files.deleted[0]: 2}, "asked about when it was ready"
    parts = [parts_of(one)[0] for one in questions]
    uris = {(part["fileData"]["file_uri"], part["videoMetadata"]["fps"]) for part in parts}
    assert uris == {(f"https://host/v1beta/{files.deleted[0]}", 1.0)}


def test_a_grid_is_no_file(server: ChatServer, video: Path, tmp_path: Path) -> None:
    clip = replace(shown(video, (0, 24, 48, 71)), grid=(2, 2))
    with pytest.raises(UserError, match="shown as a grid of its frames, but the server is given the clip's file"):
        list(adapter(server, tmp_path, frames="video").answers(clip, [WRITE]))
    assert server.asked == []
    (found,) = adapter(server, tmp_path).answers(clip, [WRITE])
    assert found.frames_shown == 1


def test_another_sampling_than_the_vendors_is_not_asked(server: ChatServer, video: Path, tmp_path: Path) -> None:
    clip = shown(video, tuple(range(16)))
    found = list(adapter(server, tmp_path, frames="video").answers(clip, [WRITE, request("x", "write")]))
    assert [one.error for one in found] == ["not_shown"] * 2 and server.asked == []
    assert "takes 3 frames at settings.fps 1, the run's sampling shows 16" in found[0].message


@pytest.mark.parametrize("fault", ["question", "key", "unreadable", "slow"])
def test_an_uploaded_video_is_deleted_after_every_failure(
    server: ChatServer, video: Path, tmp_path: Path, fault: str
) -> None:
    files, expected = files_of(server), {"unreadable": "bad_request", "slow": "timeout", "question": "server_error"}
    files.state = {"unreadable": "FAILED", "slow": "PROCESSING"}.get(fault, "ACTIVE")
    files.then = {"key": lambda _: gemini_error(401), "question": lambda _: gemini_error(500)}.get(fault, gemini_well)
    own = adapter(server, tmp_path, frames="video", upload_s=0.3)
    with pytest.raises(UserError, match="refuses the key") if fault == "key" else nullcontext():
        (found,) = own.answers(by_second(video), [WRITE])
        assert found.error == expected[fault]
    assert files.there == {} and len(files.deleted) == 1


def test_what_cannot_be_deleted_is_named(
    server: ChatServer, video: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = files_of(server)
    server.says = lambda asked: gemini_error(503) if asked.method == "DELETE" else files(asked)
    (found,) = adapter(server, tmp_path, frames="video").answers(by_second(video), [WRITE])
    assert found.text == "this" and len(files.there) == 1
    assert "is not deleted; the vendor deletes it itself after two days" in caplog.text


def test_an_upload_that_fails_is_tried_again_under_another_name(
    server: ChatServer, video: Path, tmp_path: Path
) -> None:
    files = files_of(server)
    broken: list[Asked] = []

    def says(asked: Asked) -> Says:
        if asked.path.startswith("/put/") and not broken:
            files(asked)
            broken.append(asked)
            return Says(b"{", is_cut=True)
        return files(asked)

    server.says = says
    (found,) = adapter(server, tmp_path, frames="video", retries=1).answers(by_second(video), [WRITE])
    assert found.text == "this" and files.there == {} and len(set(files.deleted)) == 2
