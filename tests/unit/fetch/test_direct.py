"""Direct links against a local server that misbehaves."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import SOURCES, write_table
from reprise.core.store import Store
from reprise.fetch.direct import http
from reprise.fetch.outcome import Fetcher
from reprise.fetch.records import forget_failures, wants_another_try
from reprise.fetch.settings import Http
from reprise.stages.sources import Wanted, fetch_shard, fetch_source

from tests.unit.fetch.server import Behaviour, serving
from tests.unit.videos import barcode_video, truncated


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return barcode_video(
        tmp_path_factory.mktemp("video") / "video.mp4", 24, before=("-movflags", "+faststart")
    ).read_bytes()


def route(url: str, **more: Any) -> Fetcher:
    return http(
        Http(kind="http", url=f"{url}/{{source_id}}.mp4", backoff_s=0.01, timeout_s=3, **({"retries": 2} | more))
    )


def test_a_download_is_kept_under_what_it_was_asked_as_and_never_asked_for_again(video: bytes, tmp_path: Path) -> None:
    store = Store(tmp_path)
    with serving({"/a.mp4": Behaviour(video)}) as (url, log):
        first, second = fetch_source("a", route(url), store), fetch_source("a", route(url), store)
    assert first.status == "ok" and first == second
    assert (tmp_path / first.object).read_bytes() == video
    assert first.bytes == len(video)
    assert log.asked["/a.mp4"] == 1


def test_a_cut_connection_is_resumed_with_a_range(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video, cut_after=2000)}) as (url, log):
        record = fetch_source("a", route(url), Store(tmp_path))
    assert record.status == "ok", record
    assert (tmp_path / record.object).read_bytes() == video
    assert log.ranges == ["bytes=2000-"]


def test_a_part_shorter_than_the_rest_is_no_whole_file(tmp_path: Path) -> None:
    content = bytes(range(250)) * 36
    with serving({"/a.mp4": Behaviour(content, cut_after=2000, part=3000)}) as (url, log):
        assert route(url, retries=3).fetch("a", tmp_path).path.read_bytes() == content
        assert log.ranges == ["bytes=2000-", "bytes=5000-", "bytes=8000-"]


def test_a_cut_connection_without_ranges_starts_again(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video, cut_after=2000, has_ranges=False)}) as (url, _):
        record = fetch_source("a", route(url), Store(tmp_path))
    assert record.status == "ok", record
    assert (tmp_path / record.object).read_bytes() == video


@pytest.mark.parametrize("status", [503, 500, 429])
def test_a_server_that_recovers_is_asked_again(status: int, video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video, status=status, failures_before=2)}) as (url, log):
        assert fetch_source("a", route(url), Store(tmp_path)).status == "ok"
    assert log.asked["/a.mp4"] == 3


@pytest.mark.parametrize(
    ("behaviour", "status", "is_transient", "asked"),
    [
        pytest.param(Behaviour(status=404), "not_found", False, 1, id="404"),
        pytest.param(Behaviour(status=410), "not_found", False, 1, id="410"),
        pytest.param(Behaviour(status=403), "forbidden", False, 1, id="403"),
        pytest.param(Behaviour(status=429), "rate_limited", True, 3, id="429"),
        pytest.param(Behaviour(status=503), "server_error", True, 3, id="503"),
        pytest.param(Behaviour(b""), "empty_download", True, 3, id="empty"),
        pytest.param(Behaviour(b"<html></html>", kind="text/html; charset=utf-8"), "wrong_type", True, 1, id="page"),
        pytest.param(Behaviour(b"<html>sorry</html>" * 30), "not_media", True, 1, id="page-that-says-video"),
    ],
)
def test_every_failure_has_a_name(
    behaviour: Behaviour, status: str, is_transient: bool, asked: int, tmp_path: Path
) -> None:
    with serving({"/a.mp4": behaviour}) as (url, log):
        record = fetch_source("a", route(url), Store(tmp_path))
    assert (record.status, record.is_transient) == (status, is_transient), record
    assert record.message
    assert log.asked["/a.mp4"] == asked
    assert not list((tmp_path / "tmp").iterdir())


def test_a_download_that_does_not_decode_is_refused(video: bytes, tmp_path: Path) -> None:
    whole = tmp_path / "whole.mp4"
    whole.write_bytes(video)
    cut = truncated(whole, tmp_path / "cut.mp4").read_bytes()
    with serving({"/a.mp4": Behaviour(cut)}) as (url, _):
        record = fetch_source("a", route(url), Store(tmp_path / "store"))
    assert (record.status, record.is_transient) == ("truncated", True)
    assert not list((tmp_path / "store").rglob("*.mp4"))


def test_nobody_listening_and_no_such_host(tmp_path: Path) -> None:
    with serving({}) as (url, _):
        pass
    assert fetch_source("a", route(url), Store(tmp_path)).status == "network"
    assert fetch_source("a", route("http://no-such-host.invalid"), Store(tmp_path)).status == "network"


def test_a_server_that_stalls_is_given_up(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video, bytes_per_s=2000)}) as (url, _):
        quick = http(Http(kind="http", url=f"{url}/{{source_id}}.mp4", retries=0, timeout_s=0.05))
        assert fetch_source("a", quick, Store(tmp_path)).status == "network"


def test_the_rate_limit_holds(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video)}) as (url, _):
        started = monotonic()
        fetch_source("a", route(url, rate_limit_mb_s=len(video) / 1e6), Store(tmp_path))
    assert monotonic() - started > 0.8


def test_transient_failures_are_tried_in_later_runs_a_bounded_number_of_times(video: bytes, tmp_path: Path) -> None:
    store, ledger = Store(tmp_path / "store"), tmp_path / "0.parquet"
    wanted = [Wanted(name, name) for name in ("busy", "good", "gone")]
    behaviours = {"/good.mp4": Behaviour(video), "/busy.mp4": Behaviour(status=503)}
    with serving(behaviours) as (url, log):
        for attempt in (1, 2, 3, 3, 3):
            rows = fetch_shard(wanted, route(url), store)
            write_table(rows, ledger, SOURCES)
            assert rows["status"].to_list() == ["server_error", "ok", "not_found"]
            assert rows["attempts"].to_list() == [attempt, 1, 1]
            assert wants_another_try([ledger], 3) == ([ledger] if attempt < 3 else [])
        assert (log.asked["/busy.mp4"], log.asked["/good.mp4"], log.asked["/gone.mp4"]) == (9, 1, 1)
        behaviours["/gone.mp4"] = Behaviour(video)
        assert forget_failures(store, ["not_found"]) == 1
        assert fetch_shard(wanted, route(url), store)["status"].to_list() == ["server_error", "ok", "ok"]


def test_an_object_that_was_deleted_is_fetched_again(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video)}) as (url, log):
        record = fetch_source("a", route(url), Store(tmp_path))
        (tmp_path / record.object).unlink()
        assert fetch_source("a", route(url), Store(tmp_path)) == record
    assert log.asked["/a.mp4"] == 2


def test_disk_estimate_is_what_the_server_says(video: bytes, tmp_path: Path) -> None:
    with serving({"/a.mp4": Behaviour(video), "/b.mp4": Behaviour(video)}) as (url, log):
        assert route(url).estimate(["a", "b"]) == 2 * len(video)
        assert route(url, mb_per_source=7).estimate(["c"]) == 7_000_000
    assert not log.asked


def test_more_than_the_disk_holds_is_not_started(tmp_path: Path) -> None:
    with serving({}) as (url, log):
        with pytest.raises(UserError, match="GB free"):
            fetch_shard([Wanted("a", "a")], route(url, mb_per_source=1e12), Store(tmp_path))
        assert not log.asked


def test_ids_cannot_leave_their_place_in_the_link(video: bytes, tmp_path: Path) -> None:
    with serving({"/..%2Fa.mp4": Behaviour(video)}) as (url, log):
        assert fetch_source("../a", route(url), Store(tmp_path)).status == "ok"
        assert list(log.asked) == ["/..%2Fa.mp4"]
