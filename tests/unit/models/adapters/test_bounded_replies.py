"""Servers that are not trusted: replies without end, that unpack to gigabytes, that drip, and that lead elsewhere."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from reprise.models.base import Answer
from reprise.models.remote.anthropic import AnthropicAdapter
from reprise.models.remote.bounded_client import MOST_BYTES
from reprise.models.remote.gemini import GeminiAdapter
from reprise.models.remote.openai import OpenAIAdapter

from tests.unit.asked import BLIND, request, spec
from tests.unit.models.chat_server import MODEL, Asked, ChatServer, Says, completion
from tests.unit.models.vendor_servers import generated, message

ADAPTERS: dict[str, tuple[Any, Callable[[Asked], Any]]] = {
    "openai": (OpenAIAdapter, completion), "anthropic": (AnthropicAdapter, message), "gemini": (GeminiAdapter, generated),
}  # fmt: skip


@pytest.fixture(params=ADAPTERS)
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OUR_API_KEY", "sk-test-0123456789")
    return str(request.param)


def answer(vendor: str, says: Callable[[Asked], Says], **settings: Any) -> tuple[Answer, ChatServer]:
    with ChatServer(says) as server:
        url = server.url if vendor == "openai" else server.url.removesuffix("/v1")
        own = {"url": url, "model": MODEL, "key": "OUR_API_KEY", "retries": 2, **settings}
        (found,) = ADAPTERS[vendor][0](spec(**own)).answers(BLIND, [request("say this", "write")])
        return found, server


BOMB = gzip.compress(bytes(64 * MOST_BYTES))
REFUSED: dict[str, tuple[Says, str]] = {
    "large": (Says(bytes(MOST_BYTES + 1)), "a reply of more than 1,000,000 bytes"),
    "without end": (Says(bytes(2 * MOST_BYTES), drips=True), "a reply of more than 1,000,000 bytes"),
    "a bomb": (Says(BOMB, headers={"Content-Encoding": "gzip"}), "a reply of more than 1,000,000 bytes when it is unpacked"),
    "an error that is large": (Says(bytes(MOST_BYTES + 1), 500), "a reply of more than 1,000,000 bytes"),
    "cut": (Says(gzip.compress(b"{}" * 99)[:-9], headers={"Content-Encoding": "gzip"}), "a packed reply that is cut short"),
    "not packed": (Says(b"{}", headers={"Content-Encoding": "gzip"}), "a packed reply that does not unpack"),
    "another packing": (Says(b"{}", headers={"Content-Encoding": "br"}), "a reply that is packed by 'br'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_reply_is_read_no_further_than_its_largest_size(case: str, vendor: str) -> None:
    says, words = REFUSED[case]
    found, server = answer(vendor, lambda asked: says)
    assert found.error == "malformed" and words in found.message
    assert len(server.asked) == 1, "it is not asked for again"


def test_the_deadline_is_of_a_whole_reply(vendor: str) -> None:
    found, _ = answer(vendor, lambda asked: Says(b"{", drips=True), timeout_s=0.3, retries=0)
    assert found.error == "timeout"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_a_failure_that_names_where_it_points(status: int, vendor: str) -> None:
    with ChatServer() as elsewhere:
        place = elsewhere.url.replace("/v1", "/x")
        found, server = answer(vendor, lambda asked: Says({}, status, {"Location": f"{place}?key=sk-secret"}))
        assert elsewhere.asked == [] and len(server.asked) == 1
    assert (
        found.error == "bad_request"
        and f"HTTP {status}: the server points to {place}, where nothing is sent" in found.message
    )
    assert "sk-secret" not in found.message


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_reply_is_read(encoding: str, pack: Callable[[bytes], bytes], vendor: str) -> None:
    def says(asked: Asked) -> Says:
        return Says(pack(json.dumps(ADAPTERS[vendor][1](asked)).encode()), headers={"Content-Encoding": encoding})

    found, server = answer(vendor, says)
    assert not found.error and found.text
    assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"
