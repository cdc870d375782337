"""Servers that send too much, too slowly, from elsewhere, or what they were not asked for: a row with a reason."""

import gzip
from collections.abc import Sequence
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from time import monotonic, time
from typing import Any

import pytest
from pydantic import ValidationError
from reprise.core.store import Store
from reprise.fetch.direct import http
from reprise.fetch.outcome import FetchError
from reprise.fetch.records import Record
from reprise.fetch.retry import wait_asked, within
from reprise.fetch.settings import Http
from reprise.stages.sources import fetch_source

from tests.unit.fetch.server import Behaviour, answering, serving
from tests.unit.videos import barcode_video

QUICK: dict[str, Any] = {"retries": 0, "backoff_s": 0.01, "timeout_s": 2}


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("video") / "video.mp4"
    return barcode_video(path, 12, before=("-movflags", "+faststart")).read_bytes()


def asked(url: str, folder: Path, **more: Any) -> Record:
    settings = Http.model_validate({"kind": "http", "url": f"{url}/{{source_id}}.mp4"} | QUICK | more)
    return fetch_source("a", http(settings), Store(folder))


@pytest.mark.parametrize(
    ("behaviour", "settings", "status", "words"),
    [
        pytest.param(Behaviour(b"x" * 4096, is_endless=True), {"max_mb": 1}, "too_large", "max_mb", id="endless"),
        pytest.param(Behaviour(b"x" * 2_000_000), {"max_mb": 1}, "too_large", "max_mb", id="large"),
        pytest.param(
            Behaviour(b"x", headers={"Content-Length": "9" * 17}), {}, "too_large", "max_mb", id="states-more"
        ),
        pytest.param(
            Behaviour(b"x" * 9999, bytes_per_s=40), {"timeout_s": 0.5}, "too_slow", "min_kb_s", id="trickling"
        ),
        pytest.param(
            Behaviour(b"x" * 9999, bytes_per_s=40), {"max_s": 0.5, "min_kb_s": 0}, "too_slow", "max_s", id="too-long"
        ),
        pytest.param(
            Behaviour(gzip.compress(bytes(10**7)), headers={"Content-Encoding": "gzip"}),
            {},
            "wrong_type",
            "gzip",
            id="gzip",
        ),
        pytest.param(
            Behaviour(status=302, headers={"Location": "file:///etc/passwd"}), {}, "bad_redirect", "", id="file"
        ),
        pytest.param(
            Behaviour(status=302, headers={"Location": "ftp://127.0.0.1/a"}), {}, "bad_redirect", "", id="ftp"
        ),
        pytest.param(Behaviour(status=302, headers={"Location": "data:,x"}), {}, "bad_redirect", "", id="data"),
        pytest.param(Behaviour(status=301, headers={"Location": "/a.mp4"}), {}, "bad_redirect", "", id="loop"),
        pytest.param(Behaviour(status=302), {}, "bad_redirect", "", id="nowhere"),
        pytest.param(Behaviour(status=302, headers={"Location": "http://[x"}), {}, "network", "", id="no-link"),
        pytest.param(
            Behaviour(status=302, headers={"Location": f"http://{'a' * 99}.b/"}), {}, "network", "", id="no-host"
        ),
        pytest.param(Behaviour(b"x" * 99, status=206), {}, "network", "part", id="a-part-unasked"),
    ],
)
def test_a_server_that_cannot_be_taken_at_its_word(
    behaviour: Behaviour, settings: dict[str, Any], status: str, words: str, tmp_path: Path
) -> None:
    started = monotonic()
    with serving({"/a.mp4": behaviour}) as (url, _):
        record = asked(url, tmp_path, **settings)
    assert record.status == status, record
    assert words in record.message
    assert monotonic() - started < 10
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"HTTP/1.1 200 OK\r\n", *[b"X-Header: y\r\n"] * 90], id="headers-for-ever"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", *[b"x"] * 900], id="body-for-ever"),
        pytest.param([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"0"] * 900], id="chunk-for-ever"),
    ],
)
def test_a_server_that_sends_a_byte_from_time_to_time_is_given_up(pieces: Sequence[bytes], tmp_path: Path) -> None:
    with answering(pieces, pause_s=0.1) as url:
        assert asked(url, tmp_path, max_s=1).status == "too_slow"


@pytest.mark.parametrize(
    "answer",
    [b"", b"\0" * 300, b"HTTP/9 x\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: " + b"x" * 70_000,
     b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\nx", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nx"],
)  # fmt: skip
def test_what_is_no_http_is_a_failure_with_a_name(answer: bytes, tmp_path: Path) -> None:
    with answering([answer]) as url:
        record = asked(url, tmp_path)
    assert record.status in ("network", "empty_download", "not_media"), record


def test_a_redirect_is_followed_and_recorded_without_what_is_secret_in_it(video: bytes, tmp_path: Path) -> None:
    behaviours = {"/b.mp4": Behaviour(video)}
    with serving(behaviours) as (url, _):
        behaviours["/a.mp4"] = Behaviour(status=302, headers={"Location": f"{url}/b.mp4?token=secret"})
        record = asked(url, tmp_path)
        assert record.status == "ok", record
        assert record.message == f"redirected to {url}/b.mp4"
        assert asked(url, tmp_path / "other", max_redirects=0).status == "bad_redirect"


def test_the_server_says_how_long_to_wait(video: bytes, tmp_path: Path) -> None:
    busy = Behaviour(video, status=429, failures_before=1, headers={"Retry-After": "1"})
    with serving({"/a.mp4": busy}) as (url, _):
        started = monotonic()
        assert asked(url, tmp_path, retries=1).status == "ok"
    assert monotonic() - started >= 1


def test_a_server_that_asks_for_too_long_a_wait_is_left_to_the_next_run(video: bytes, tmp_path: Path) -> None:
    busy = Behaviour(video, status=503, failures_before=9, headers={"Retry-After": formatdate(time() + 9000)})
    with serving({"/a.mp4": busy}) as (url, log):
        record = asked(url, tmp_path, retries=3)
    assert (record.status, record.is_transient) == ("server_error", True)
    assert "max_wait_s" in record.message
    assert log.asked["/a.mp4"] == 1


def test_waits_as_servers_write_them() -> None:
    assert wait_asked("17") == 17
    assert wait_asked(formatdate(time() + 100, usegmt=True)) == pytest.approx(100, abs=2)
    for written in ("", "-5", "soon", "Sat, 99 Foo 2040 00:00:00 GMT", formatdate(time() - 100)):
        assert wait_asked(written) == 0


def test_a_token_that_the_server_repeats_is_in_no_record(
    video: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnop")
    echo = "Bearer hf_abcdefghijklmnop"
    with answering([f"HTTP/1.1 403 {echo}\r\nContent-Type: text/{echo}\r\n\r\n{echo}".encode()]) as url:
        assert asked(url, tmp_path).status == "forbidden"
    with answering([f"HTTP/1.1 200 OK\r\nContent-Type: text/{echo}\r\n\r\n{echo}".encode()]) as url:
        assert asked(url, tmp_path).status == "wrong_type"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"hf_abc" not in written


def test_a_limit_that_is_raised_is_tried(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video)}) as (url, log):
        assert asked(url, tmp_path, max_mb=0.001).status == "too_large"
        assert asked(url, tmp_path).status == "ok"
        assert asked(url, tmp_path, max_mb=0.001).status == "ok"
    assert log.asked["/a.mp4"] == 2


def test_a_size_that_is_only_stated_does_not_end_the_shard(tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(b"x", headers={"Content-Length": "9" * 17})}) as (url, _):
        settings = Http.model_validate({"kind": "http", "url": f"{url}/{{source_id}}.mp4"} | QUICK)
        assert http(settings).estimate(["a"]) == 0


def test_a_link_holds_no_password() -> None:
    with pytest.raises(ValidationError, match="without a user name or a password"):
        Http(kind="http", url="https://me:secret@example.org/{source_id}.mp4")
    assert Http(kind="http", url="https://example.org/@me/{source_id}.mp4")


def test_time_is_up_even_where_a_library_goes_on_after_errors() -> None:
    started = monotonic()
    with pytest.raises(FetchError) as caught, within(0.2):
        while True:
            with suppress(Exception):
                while monotonic() - started < 30:
                    pass
    assert caught.value.status == "too_slow"
