"""Anthropic on the wire: what is sent, what each reply and each error means, limits before anything is paid for."""

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anthropic.types import TextBlock, Usage
from PIL import Image as Picture
from pydantic import ValidationError
from reprise.core.errors import UserError
from reprise.media.decoder import read_frames
from reprise.models.asking.money.vendors import LIMITS, Shown
from reprise.models.base import Answer, Clip, Request
from reprise.models.remote.anthropic import AnthropicAdapter
from reprise.models.remote.settings import AnthropicSettings

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.chat_server import FRAME_TOKENS, MODEL, TEXT_TOKENS, ChatServer, Says
from tests.unit.models.vendor_servers import Behaviour, anthropic_error, anthropic_well, message, thought
from tests.unit.videos import barcode_video

WRITE = request("say this", "write", system="Be brief.")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("video") / "v.mp4", 48, width=32, height=32)


def adapter(server: ChatServer, **settings: Any) -> AnthropicAdapter:
    own = {"url": server.url.removesuffix("/v1"), "model": MODEL, "key": None, "retries": 0, **settings}
    return AnthropicAdapter(spec(**own))


def answer(says: Behaviour, asked: Request = WRITE, clip: Clip = BLIND, **settings: Any) -> Answer:
    with ChatServer(says) as server:
        (found,) = adapter(server, **settings).answers(clip, [asked])
    return found


def test_frames_are_those_of_the_plan_and_lossless(video: Path) -> None:
    with ChatServer(anthropic_well) as server:
        (found,) = adapter(server).answers(shown(video, (3, 40)), [WRITE])
        (asked,) = server.asked
    images = [part["source"]["data"] for part in asked.content[:-1]]
    sent = [np.asarray(Picture.open(BytesIO(base64.b64decode(image)))) for image in images]
    assert np.array_equal(np.stack(sent), read_frames(video, (3, 40)))
    assert {key: value for key, value in asked.body.items() if key != "messages"} == {
        "model": MODEL, "max_tokens": 8, "system": "Be brief.",
    }  # fmt: skip
    assert asked.path == "/v1/messages" and asked.prompt == "say this"
    assert (found.text, found.frames_shown, found.served) == ("this", 2, MODEL)
    assert (found.tokens_in, found.tokens_out) == (TEXT_TOKENS + 2 * FRAME_TOKENS, 1)


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"thinking": 2048, "max_tokens": 4000},
         {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ({"thinking": "adaptive", "effort": "low", "temperature": 1},
         {"max_tokens": 8, "temperature": 1.0, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
    ],
)  # fmt: skip
def test_settings_of_thoughts_are_sent_as_they_are_set(settings: dict[str, Any], fields: dict[str, Any]) -> None:
    with ChatServer(anthropic_well) as server:
        list(adapter(server, **settings).answers(BLIND, [request("x", "write")]))
        (asked,) = server.asked
    assert {key: value for key, value in asked.body.items() if key not in ("messages", "model")} == fields


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"thinking": 5}, "at least 1024 tokens, found 5"),
        ({"thinking": 2048}, "max_tokens should be above the 2048 tokens"),
        ({"key": "sk-ant-0123"}, "should be the name of an environment variable"),
    ],
)
def test_settings_contradict_nothing(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AnthropicSettings.model_validate({"model": MODEL, **settings})


def test_an_answer_is_what_follows_the_thoughts_and_cached_tokens_are_counted() -> None:
    usage = Usage(input_tokens=5, output_tokens=40, cache_read_input_tokens=100, cache_creation_input_tokens=7)
    content = [thought("Is it A?"), TextBlock(type="text", text="B")]
    found = answer(lambda asked: Says(message(asked, content=content, usage=usage)))
    assert (found.text, found.tokens_in, found.tokens_out, found.tokens_cached) == ("B", 112, 40, 100)


@pytest.mark.parametrize(
    ("reply", "outcome", "said"),
    [
        ({"model": "toy-2"}, "other_model", "'toy-2' answered, not 'toy-1'"),
        ({"stop_reason": "refusal", "content": []}, "refused", "refusal"),
        ({"stop_reason": "refusal"}, "refused", "this"),
        ({"stop_reason": "max_tokens", "content": [thought("Hm")]}, "still_thinking", "settings.max_tokens"),
        ({"stop_reason": "model_context_window_exceeded"}, "beyond_context", "exceeded"),
        ({"content": []}, "empty", "end_turn"),
        ({"text": " \n"}, "empty", "end_turn"),
    ],
)
def test_what_is_no_answer_has_a_name(reply: dict[str, Any], outcome: str, said: str) -> None:
    found = answer(lambda asked: Says(message(asked, **reply)))
    assert found.error == outcome and said in found.message and found.text == ""


@pytest.mark.parametrize(
    "body",
    [b"<html>busy</html>", b"", b"[]", b"{}", b'{"model": "toy-1", "content": "x"}',
     b'{"model": "toy-1", "content": [], "usage": {"input_tokens": NaN}}'],
)  # fmt: skip
def test_a_reply_of_another_kind_is_a_failure(body: bytes) -> None:
    found = answer(lambda _: Says(body))
    assert found.error == "malformed" and found.message.startswith("no message: ")


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        (anthropic_error(429, "rate_limit_error"), "rate_limited"),
        (anthropic_error(429, "rate_limit_error", retry_after="3600"), "rate_limited"),
        (anthropic_error(500, "api_error"), "server_error"),
        (anthropic_error(529, "overloaded_error"), "server_error"),
        (Says(b"<html>", 502), "server_error"),
        (Says(b"", delay=5), "timeout"),
        (Says({"content": "many words"}, is_cut=True), "network"),
        (anthropic_error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "beyond_context"),
        (anthropic_error(413, "request_too_large"), "beyond_context"),
        (anthropic_error(400, "invalid_request_error"), "bad_request"),
    ],
)
def test_an_error_of_the_server_has_a_name(says: Says, outcome: str) -> None:
    with ChatServer(lambda _: says) as server:
        (found,) = adapter(server, timeout_s=0.5).answers(BLIND, [WRITE])
        assert found.error == outcome and len(server.asked) == 1


@pytest.mark.parametrize(
    ("says", "said"),
    [
        (anthropic_error(401, "authentication_error"), "refuses the key"),
        (anthropic_error(400, "invalid_request_error", "Your credit balance is too low"), "no credit left"),
        (anthropic_error(402, "billing_error"), "no credit left"),
        (anthropic_error(403, "forbidden", "Request not allowed"), "this region none"),
        (anthropic_error(404, "not_found_error", "model: toy-1"), "does not know the model"),
    ],
)
def test_what_no_question_could_pass_ends_the_job(says: Says, said: str) -> None:
    with pytest.raises(UserError, match=rf"the server .*{said}.*model 'toy-1'.*Answers so far are kept"):
        answer(lambda _: says)


def test_more_frames_than_the_vendor_takes_are_refused_before_anything_is_asked(video: Path) -> None:
    clip = shown(video, tuple(range(48)) * 13)
    with ChatServer(anthropic_well) as server:
        with pytest.raises(UserError, match=r"624 frames, but the vendor's limit \(platform\.claude\.com.*\) is 600"):
            list(adapter(server).answers(clip, [WRITE]))
        assert server.asked == []


@pytest.mark.parametrize(
    ("vendor", "frames", "said"),
    [
        ("api.anthropic.com", Shown(20, 4000, 2000, 9, 99), ""),
        ("api.anthropic.com", Shown(21, 2001, 9, 9, 99), "pixels of a side, of 21 images: 2,001, at most 2,000"),
        ("api.anthropic.com", Shown(1, 8001, 9, 9, 99), "pixels of a side, of 1 images: 8,001, at most 8,000"),
        ("api.anthropic.com", Shown(8, 9, 9, 9, 2**25 + 1), "bytes of a request's images: 33,554,433, at most"),
        ("generativelanguage.googleapis.com", Shown(1, 9, 9, 8 << 20, 9), "bytes of an image: 8,388,608, at most"),
        ("generativelanguage.googleapis.com", Shown(3001, 9, 9, 9, 9), "images in a request: 3,001, at most 3,000"),
    ],
)
def test_the_limits_of_vendors_name_what_is_over_them(vendor: str, frames: Shown, said: str) -> None:
    found = LIMITS[vendor].problem(frames)
    assert found.startswith(said) and bool(found) == bool(said)


def test_a_clip_that_the_vendor_does_not_take_is_not_sent(tmp_path: Path) -> None:
    wide = barcode_video(tmp_path / "wide.mp4", 22, width=2016, height=64)
    with ChatServer(anthropic_well) as server:
        found = list(adapter(server).answers(shown(wide, tuple(range(21))), [WRITE, request("x", "write")]))
        assert server.asked == []
    assert [one.error for one in found] == ["bad_request"] * 2 and "not sent" in found[0].message
