"""Test yt-dlp with a local server, and YouTube's refusals with yt-dlp's real extractor."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.outcome import PERMANENT, TRANSIENT, FetchError
from reprise.fetch.settings import Youtube
from reprise.fetch.youtube import PATTERNS, classify_message, create_youtube_fetcher, download, has_javascript_solver
from reprise.media.decoder import count_decodable
from reprise.stages.sources import fetch_source
from yt_dlp.extractor.youtube import YoutubeIE

from tests.unit.fetch.server import Behaviour, serve_paths

FAST_SETTINGS = Youtube(kind="youtube", retries=1, backoff_s=0.01, timeout_s=3, pause_s=0, min_kb_s=0, format="b")
VIDEO_ID = "abcdefghi-_"


@pytest.mark.parametrize("behaviour", [{}, {"cut_after": 3000}], ids=["plain", "cut and resumed"])
def test_videos_are_downloaded(behaviour: dict[str, Any], video: bytes, tmp_path: Path) -> None:
    with serve_paths({"/v.mp4": Behaviour(video, **behaviour)}) as (url, _):
        fetched = download(f"{url}/v.mp4", tmp_path, FAST_SETTINGS)
    assert fetched.path.read_bytes() == video
    assert count_decodable(fetched.path) == 24


@pytest.mark.parametrize(("behaviour", "settings", "status"), [
    (Behaviour(status=429), {}, "rate_limited"),
    (Behaviour(b"<html><p>nothing here</p></html>", content_type="text/html"), {}, "wrong_type"),
    (Behaviour(b""), {}, "empty_download"),
    (Behaviour(b"x" * 4096, is_endless=True), {"max_mb": 0.1}, "too_large"),
    (Behaviour(b"x" * 90_000, bytes_per_s=1500), {"timeout_s": 1, "min_kb_s": 9}, "too_slow"),
])  # fmt: skip
def test_failures_have_a_status(behaviour: Behaviour, settings: dict[str, Any], status: str, tmp_path: Path) -> None:
    with serve_paths({"/v.mp4": behaviour}) as (url, _), pytest.raises(FetchError) as caught:
        download(f"{url}/v.mp4", tmp_path, FAST_SETTINGS.model_copy(update=settings))
    assert caught.value.status == status, caught.value.message


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Return the reply of YouTube's player; yt-dlp's own code processes it."""
    player: dict[str, Any] = {"status": "ERROR", "reason": "Video unavailable"}

    def reply_with_refusal(
        self: YoutubeIE, url: str, smuggled: Any, webpage_url: str, client: str, video_id: str
    ) -> Any:
        response = {"playabilityStatus": player, "videoDetails": {"videoId": video_id, "title": "x"}}
        return "", {}, {}, False, [response], None

    monkeypatch.setattr(YoutubeIE, "_initial_extract", reply_with_refusal)
    yield player


# reason, subreason, expected
REFUSALS = [
    ("Sign in to confirm you\u2019re not a bot", "", "bot_check"),
    ("This content isn't available, try again later.", "", "rate_limited"),
    ("Sign in to confirm your age", "This video may be inappropriate for some users.", "age_restricted"),
    ("Private video", "Sign in if you've been granted access to this video", "private"),
    ("Join this channel to get access to members-only content", "", "members_only"),
    ("Video unavailable", "The uploader has not made this video available in your country", "geo_blocked"),
    ("Video unavailable", "This video has been removed by the uploader", "removed"),
    ("Video unavailable", "This video is no longer available because the YouTube account associated with this video "
     "has been terminated.", "account_terminated"),
    ("Video unavailable", "This video contains content from X, who has blocked it on copyright grounds", "copyright"),
    ("This video requires payment to watch.", "", "paid"),
    ("Premieres in 3 hours", "", "not_yet"),
    ("Video unavailable", "", "unavailable"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "subreason", "status"), REFUSALS, ids=[row[2] for row in REFUSALS])
def test_refusals_of_youtube_have_a_status(
    reason: str, subreason: str, status: str, refusal: dict[str, Any], tmp_path: Path
) -> None:
    refusal["reason"] = reason
    if subreason:
        refusal["errorScreen"] = {"playerErrorMessageRenderer": {"subreason": {"simpleText": subreason}}}
    with pytest.raises(FetchError) as caught:
        download(f"https://www.youtube.com/watch?v={VIDEO_ID}", tmp_path, FAST_SETTINGS)
    assert caught.value.status == status, caught.value.message
    assert reason.split()[0].lower() in caught.value.message.lower()


def test_a_bot_check_stops_this_shard_and_the_others(refusal: dict[str, Any], tmp_path: Path) -> None:
    refusal["reason"] = "Sign in to confirm you\u2019re not a bot"
    store = Store(tmp_path)
    first = fetch_source(VIDEO_ID, create_youtube_fetcher(FAST_SETTINGS, store), store)
    second = fetch_source("lmnopqrstuv", create_youtube_fetcher(FAST_SETTINGS, store), store)
    assert (first.status, first.attempts, first.is_transient) == ("bot_check", 1, True)
    assert (second.status, second.attempts, second.is_transient) == ("stopped", 0, True)
    refusal["reason"] = "Video unavailable"
    after_cooldown = FAST_SETTINGS.model_copy(update={"cooldown_s": 0})
    assert fetch_source("lmnopqrstuv", create_youtube_fetcher(after_cooldown, store), store).status == "unavailable"


def test_an_invalid_id_is_not_requested(tmp_path: Path) -> None:
    for name in ("short", "../../etc/pa", "abc&list=xyz"):
        assert (
            fetch_source(name, create_youtube_fetcher(FAST_SETTINGS, Store(tmp_path)), Store(tmp_path)).status
            == "bad_id"
        )


def test_a_missing_javascript_runtime_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """yt-dlp itself would only warn and later find no format."""
    assert has_javascript_solver.__wrapped__()
    monkeypatch.setattr("yt_dlp.utils._jsruntime._find_exe", lambda name: str(tmp_path / name))
    has_javascript_solver.cache_clear()
    try:
        with pytest.raises(UserError, match=r"the JavaScript runtime deno .*pip install --upgrade deno yt-dlp-ejs"):
            fetch_source(VIDEO_ID, create_youtube_fetcher(FAST_SETTINGS, Store(tmp_path)), Store(tmp_path))
    finally:
        has_javascript_solver.cache_clear()
    assert not list((tmp_path / "sources").rglob("*.json"))


def test_a_cookie_file_must_exist_and_is_not_changed(video: bytes, tmp_path: Path) -> None:
    cookies = tmp_path / "cookies.txt"
    content = "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tname\tvalue\n"
    settings = FAST_SETTINGS.model_copy(update={"cookies": str(cookies)})
    with pytest.raises(UserError, match=r"route\.cookies"):
        create_youtube_fetcher(settings, Store(tmp_path))
    cookies.write_text(content)
    (tmp_path / "folder").mkdir()
    with serve_paths({"/v.mp4": Behaviour(video)}) as (url, _):
        download(f"{url}/v.mp4", tmp_path / "folder", settings)
    assert cookies.read_text() == content


def test_messages_of_ytdlp_have_a_status() -> None:
    assert {status for status, _ in PATTERNS} <= set(TRANSIENT | PERMANENT)
    assert classify_message("<urlopen error [Errno 111] Connection refused>") == "network"
    assert classify_message("an unknown message") == "failed"
    assert classify_message("the current video") == "failed"
    assert classify_message("\x1b[0;31mERROR:\x1b[0m Sign in to confirm you\u2019re not a bot") == "bot_check"
