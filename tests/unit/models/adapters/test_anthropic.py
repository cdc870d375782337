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
from reprise.models.base import Answer, Clip, Request
from reprise.models.remote.anthropic import AnthropicAdapter
from reprise.models.remote.settings import AnthropicSettings

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.chat_server import FRAME_TOKENS, MODEL, TEXT_TOKENS, ChatServer, Says
from tests.unit.models.vendor_servers import Behaviour, anthropic_well, message, thought
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


def test_more_frames_than_the_vendor_takes_are_refused_before_anything_is_asked(video: Path) -> None:
    clip = shown(video, tuple(range(48)) * 13)
    with ChatServer(anthropic_well) as server:
        with pytest.raises(UserError, match=r"624 frames, but the vendor's limit \(platform\.claude\.com.*\) is 600"):
            list(adapter(server).answers(clip, [WRITE]))
        assert server.asked == []
