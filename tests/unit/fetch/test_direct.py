"""Test direct links with a server that misbehaves: downloads resume, failures have a status, and useless retries are avoided."""

import gzip
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import pytest
from pydantic import ValidationError
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.direct import EXPLANATION_BYTES, create_http_fetcher
from reprise.fetch.outcome import Fetcher
from reprise.fetch.records import FetchRecord
from reprise.fetch.retry import parse_wait_s
from reprise.fetch.settings import Http
from reprise.stages.sources import fetch_shard, fetch_source

from tests.unit.fetch.server import Behaviour, serve_paths
from tests.unit.models.chat_server import ReceivedRequest
from tests.unit.models.raw_server import Connection, RawServer, encode_reply, serve_replies


def make_fetcher(url: str, **settings: Any) -> Fetcher:
    defaults = {"retries": 2, "backoff_s": 0.01, "timeout_s": 2}
    return create_http_fetcher(
        Http.model_validate({"kind": "http", "url": f"{url}/{{source_id}}.mp4"} | defaults | settings)
    )


def fetch_a(url: str, store: Store, **settings: Any) -> FetchRecord:
    return fetch_source("a", make_fetcher(url, **settings), store)


@pytest.mark.parametrize(("behaviour", "ranges"), [
    ({}, []),
    ({"cut_after": 2000}, ["bytes=2000-"]),
    ({"cut_after": 2000, "has_ranges": False}, ["bytes=2000-"]),
])  # fmt: skip
def test_a_download_is_complete_and_not_repeated(behaviour: dict[str, Any], ranges: list[str], video: bytes, store: Store) -> None:  # fmt: skip
    with serve_paths({"/a.mp4": Behaviour(video, **behaviour)}) as (url, request_log):
        first, second = (fetch_a(url, store, retries=9, backoff_s=0) for _ in range(2))
        assert first.status == "ok" and first == second, first
        assert (store.root / first.object).read_bytes() == video and first.bytes == len(video)
        assert request_log.ranges[: len(ranges)] == ranges
        request_count = request_log.gets["/a.mp4"]
        (store.root / first.object).unlink()
        assert fetch_a(url, store) == first, "an object that was deleted is fetched again"
        assert request_log.gets["/a.mp4"] == request_count + 1


def redirect_to(link: str) -> dict[str, Any]:
    return {"status": 302, "headers": {"Location": link}}


PAGE = b"<html>sorry</html>" * 30
ENDLESS = Behaviour(b"x" * 4096, is_endless=True)
SLOW = Behaviour(b"x" * 9999, bytes_per_s=40)
COMPRESSED = Behaviour(gzip.compress(bytes(10**7)), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(("behaviour", "settings", "status", "message", "request_count"), [
    (Behaviour(status=404), {}, "not_found", "404", 1),
    (Behaviour(status=403), {}, "forbidden", "403", 1),
    (Behaviour(status=503), {}, "server_error", "503", 3),
    (Behaviour(b""), {}, "empty_download", "0 bytes", 3),
    (Behaviour(PAGE, content_type="text/html; charset=utf-8"), {}, "wrong_type", "text/html", 1),
    (Behaviour(PAGE), {}, "not_media", "", 1),
    (ENDLESS, {"max_mb": 1}, "too_large", "max_mb", 1),
    (Behaviour(b"x" * 2_000_000), {"max_mb": 1}, "too_large", "max_mb", 1),
    (SLOW, {"timeout_s": 0.5}, "too_slow", "min_kb_s", 1),
    (SLOW, {"max_s": 0.5, "min_kb_s": 0}, "too_slow", "max_s", 1),
    (SLOW, {"timeout_s": 0.05, "min_kb_s": 0, "retries": 0}, "network", "", 1),
    (COMPRESSED, {}, "wrong_type", "gzip", 1),
    (Behaviour(**redirect_to("file:///etc/passwd")), {}, "bad_redirect", "", 1),
    (Behaviour(**redirect_to("ftp://127.0.0.1/a.mp4")), {}, "bad_redirect", "HTTP 302 to ftp://127.0.0.1/a.mp4, which is not an http or https link", 1),
    (Behaviour(b"x" * 99, status=206), {"retries": 0}, "network", "part", 1),
])  # fmt: skip
def test_every_failure_has_a_status(behaviour: Behaviour, settings: dict[str, Any], status: str, message: str, request_count: int, store: Store) -> None:  # fmt: skip
    with serve_paths({"/a.mp4": behaviour}) as (url, request_log):
        record = fetch_a(url, store, **settings)
    assert record.status == status and message in record.message and record.message, record
    assert record.is_transient == (status not in ("not_found", "forbidden", "too_large", "bad_redirect"))
    assert request_log.gets["/a.mp4"] == request_count
    assert not list((store.root / "tmp").iterdir())


def test_a_redirect_is_recorded_without_secrets(video: bytes, tmp_path: Path) -> None:
    behaviours = {"/b.mp4": Behaviour(video)}
    with serve_paths(behaviours) as (url, _):
        behaviours["/a.mp4"] = Behaviour(**redirect_to(f"{url}/b.mp4?token=secret"))
        record = fetch_a(url, Store(tmp_path))
        assert (record.status, record.message) == ("ok", f"redirected to {url}/b.mp4")
        assert fetch_a(url, Store(tmp_path / "other"), max_redirects=0).status == "bad_redirect"


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the seconds of each sleep instead of sleeping."""
    seconds: list[float] = []
    monkeypatch.setattr("time.sleep", seconds.append)
    return seconds


def test_a_transient_failure_is_retried_after_the_requested_wait(
    video: bytes, store: Store, sleeps: list[float]
) -> None:
    busy = Behaviour(video, status=429, failures_before=1, headers={"Retry-After": "17"})
    with serve_paths({"/a.mp4": busy}) as (url, request_log):
        assert fetch_a(url, store).status == "ok"
    assert 17 in sleeps and request_log.gets["/a.mp4"] == 2


def test_a_long_requested_wait_is_left_to_the_next_run(store: Store) -> None:
    busy = Behaviour(b"", status=503, headers={"Retry-After": formatdate(time() + 9000)})
    with serve_paths({"/a.mp4": busy}) as (url, request_log):
        record = fetch_a(url, store)
    assert (record.status, record.is_transient, request_log.gets["/a.mp4"]) == ("server_error", True, 1)
    assert "max_wait_s" in record.message
    assert parse_wait_s("17") == 17
    assert parse_wait_s(formatdate(time() + 100, usegmt=True)) == pytest.approx(100, abs=2)
    assert parse_wait_s("soon") == parse_wait_s(formatdate(time() - 100)) == 0


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
def test_a_file_that_changes_between_attempts_is_fetched_again(header: str, video: bytes, store: Store) -> None:
    """The end of one file is not appended to the beginning of another."""
    validators = iter(["first", "second", "second", "second"])
    headers = ChangingHeaders(lambda: {header: next(validators)})
    with serve_paths({"/a.mp4": Behaviour(video, cut_after=2000, headers=headers)}) as (url, request_log):
        record = fetch_a(url, store)
    assert record.status == "ok" and (store.root / record.object).read_bytes() == video
    assert request_log.gets["/a.mp4"] == 3 and request_log.ranges == ["bytes=2000-"], (
        "the third request begins at the start of the file"
    )


def test_a_file_without_validators_is_fetched_again(video: bytes, store: Store) -> None:
    """Without an ETag, another server at the same address may have another file of the same length."""
    validators = iter([{"ETag": "first"}, {}, {}, {}])
    with serve_paths(
        {"/a.mp4": Behaviour(video, cut_after=2000, headers=ChangingHeaders(lambda: next(validators)))}
    ) as (
        url,
        request_log,
    ):
        record = fetch_a(url, store)
    assert record.status == "ok" and (store.root / record.object).read_bytes() == video
    assert request_log.gets["/a.mp4"] == 3


@pytest.mark.parametrize("content_range", ["bytes {}-{}/*", "bytes 0-{1}/{2}", "", "bytes {}-{}/x"])
def test_an_incomplete_range_does_not_end_a_file(content_range: str, video: bytes, store: Store) -> None:
    def make_reply(request: ReceivedRequest) -> bytes:
        start = int(request.headers.get("range", "bytes=0-")[6:-1])
        if start == 0:
            complete_reply = encode_reply(video, content_type="video/mp4")
            return complete_reply[:-500] if len(server.requests) == 1 else complete_reply
        content_range_header = content_range.format(start, start + 99, len(video))
        return encode_reply(
            video[start : start + 100], 206, content_type="video/mp4", content_range=content_range_header
        )

    def serve(connection: Connection) -> None:
        if (request := connection.read()) is not None:
            connection.send(make_reply(request))

    with RawServer(serve) as server:
        record = fetch_a(server.url, store)
    assert record.status == "ok" and (store.root / record.object).read_bytes() == video
    assert len(server.requests) == 3


def test_an_unrequested_range_is_rejected(video: bytes, store: Store) -> None:
    part = encode_reply(video[:2000], 206, content_type="video/mp4", content_range="bytes 0-1999/*")
    with RawServer(serve_replies(lambda _: part)) as server:
        record = fetch_a(server.url, store)
    assert (record.status, len(server.requests)) == ("network", 3) and "another part" in record.message


def test_a_truncated_secret_is_not_recorded(video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "secret-0123456789"
    monkeypatch.setenv("SITE_TOKEN", key)
    page = f"<style>{'x' * (EXPLANATION_BYTES - 34)}</style>Not for {key}".encode()
    with RawServer(serve_replies(lambda _: encode_reply(page, 404, content_type="text/html"))) as server:
        assert fetch_a(server.url, store).message.endswith("Not for")
    redirect = encode_reply(b"", 302, location=f"/v1/{key}.mp4")
    replies = [redirect, encode_reply(video, content_type="video/mp4")]
    with RawServer(serve_replies(lambda request: replies[key in request.path])) as server:
        assert fetch_a(server.url, store).message == f"redirected to {server.url}/***.mp4"


@pytest.mark.parametrize("status", [103, 409, 421, 423])
def test_a_transient_status_is_retried(status: int, store: Store) -> None:
    with RawServer(serve_replies(lambda _: encode_reply(b"", status))) as server:
        record = fetch_a(server.url, store)
    assert record.is_transient and len(server.requests) == 3


class ChangingHeaders(dict[str, str]):
    """Headers that change with each reply."""

    def __init__(self, make: Callable[[], dict[str, str]]) -> None:
        self._make = make

    def __ror__(self, headers: Any) -> dict[str, str]:
        return {**headers, **self._make()}


def test_error_messages_of_servers_are_kept_without_secrets(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_TOKEN", "secret-0123456789")
    page = b"<html><style>p {}</style><p>Moved to the archive; your token is secret%2D0123456789</p>" + b"x" * 9999
    with RawServer(serve_replies(lambda _: encode_reply(page, 404, content_type="text/html"))) as server:
        record = fetch_a(server.url, store)
    assert record.status == "not_found"
    assert "HTTP 404 Some: Moved to the archive; your token is ***" in record.message and len(record.message) < 300


@pytest.mark.parametrize(
    "reply",
    [
        b"hello there\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 99_999 + b"\r\n\r\n",
    ],
)
def test_invalid_http_is_retried_and_named(reply: bytes, store: Store) -> None:
    def serve(connection: Connection) -> None:
        connection.read()
        connection.send(reply)

    with RawServer(serve) as server:
        record = fetch_a(server.url, store)
    assert record.status == "network" and record.is_transient and len(server.requests) == 3
    assert "sent invalid HTTP or closed the connection" in record.message


def test_more_bytes_than_announced_are_rejected(store: Store, video: bytes) -> None:
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(video), video)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\nTransfer-Encoding: chunked\r\nContent-Type: video/mp4\r\n\r\n"
    with RawServer(serve_replies(lambda _: head + chunked)) as server:
        record = fetch_a(server.url, store)
    assert record.status == "network" and f"{len(video)} bytes, but the server announced 20" in record.message


def test_disk_space_is_estimated_before_any_request(store: Store) -> None:
    with serve_paths({}) as (url, request_log):
        assert make_fetcher(url, mb_per_source=7).estimate_bytes(["a", "b"]) == 14_000_000
        with pytest.raises(UserError, match="GB free"):
            fetch_shard([("c", "c")], make_fetcher(url, mb_per_source=1e12), store)
        assert not request_log.gets


def test_urls_with_a_password_are_rejected_and_ids_are_escaped(video: bytes, store: Store) -> None:
    with pytest.raises(ValidationError, match="without a user name or a password"):
        Http(kind="http", url="https://me:secret@example.org/{source_id}.mp4")
    assert Http(kind="http", url="https://example.org/@me/{source_id}.mp4")
    with serve_paths({"/..%2Fa.mp4": Behaviour(video)}) as (url, request_log):
        assert fetch_source("../a", make_fetcher(url), store).status == "ok"
        assert list(request_log.gets) == ["/..%2Fa.mp4"]
