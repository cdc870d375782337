"""Fetch whole videos from YouTube with yt-dlp.

After a bot check, a rate limit or a captcha, no requests are sent for `cooldown_s`. Messages of YouTube and yt-dlp are
mapped to named reasons; the manifest also has the original message.
"""

import logging
import re
import shutil
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yt_dlp
from yt_dlp.globals import supported_js_runtimes
from yt_dlp.networking.exceptions import RequestError
from yt_dlp.utils import DownloadError, YoutubeDLError

from reprise.core.errors import UserError
from reprise.core.files import read_record, write_record
from reprise.core.store import Store
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError
from reprise.fetch.retry import call_with_retries, check_limits, time_limit
from reprise.fetch.settings import Youtube
from reprise.media.ffmpeg import ffmpeg_executable

# The first matching pattern names the reason. The texts are from yt-dlp's source (2026.10.26) or from a server's
# replies; those with "from memory" are texts of YouTube that were not verified.
PATTERNS = (
    ("disk_full", r"no space left on device"),
    ("format_missing", r"requested format is not available|only images are available"),
    ("bot_check", r"confirm you'?re not a bot"),  # from memory
    ("rate_limited", r"rate-limited by youtube|content isn't available, try again later|http error 429"),
    ("bot_check", r"your ip is likely being blocked"),
    ("captcha", r"captcha challenge"),
    ("age_restricted", r"confirm your age|age-restricted|inappropriate for some users"),
    ("private", r"private video|video is private"),
    ("members_only", r"members-only|join this channel"),  # from memory
    ("geo_blocked", r"in your country|from your location|geo restriction"),
    ("paid", r"requires payment|\brent(al|ed)?\b|purchase"),  # from memory
    ("copyright", r"copyright"),  # from memory
    ("account_terminated", r"account .{0,60}terminated|terminated account"),  # from memory
    ("removed", r"has been removed|no longer available"),  # from memory
    ("not_yet", r"premieres in|live event will begin"),
    ("drm", r"\bdrm\b"),
    ("bad_id", r"incomplete youtube id"),
    ("unavailable", r"video unavailable|is not available|this video isn't available"),
    ("not_found", r"http error (404|410)"),
    ("forbidden_media", r"unable to download video data.*http error 403"),
    ("forbidden", r"http error 40[13]"),
    ("server_error", r"http error (408|5\d\d)"),
    ("empty_download", r"did not get any data blocks|downloaded file is empty"),
    ("wrong_type", r"unsupported url"),
    ("network", r"timed out|connection|network|resolve|bytes read|transporterror|incompleteread|unreachable"),
)


def classify_message(message: str) -> str:
    """Return the named reason for a message, or `failed` if no pattern matches."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", message).replace("\u2019", "'").lower()
    return next((status for status, pattern in PATTERNS if re.search(pattern, text)), "failed")


# deno, the default of yt-dlp, runs scripts without access to files and network.
RUNTIME, SCRIPTS = "deno", "yt-dlp-ejs"  # The JavaScript runtime, and the package with the scripts.
# After these failures, further requests would prolong the block for all shards.
STOP_ON = frozenset({"bot_check", "rate_limited", "captcha"})


def create_youtube_fetcher(settings: Youtube, store: Store) -> Fetcher:
    """Return the fetcher of YouTube videos."""
    if settings.cookies is not None and not Path(settings.cookies).is_file():
        raise UserError(
            f"route.cookies: no file '{settings.cookies}'. Export the cookies of a signed-in browser to it."
        )
    stop_record = store.root / "stops" / "youtube.json"

    def fetch(source_id: str, folder: Path) -> FetchedFile:
        if not re.fullmatch(r"[A-Za-z0-9_-]{11}", source_id):
            raise FetchError("bad_id", f"'{source_id}' is not a YouTube id")
        last_stop = read_record(stop_record)
        # Ignore a record that is damaged, old, or more than a minute in the future because of a wrong clock.
        if last_stop and -60 <= time.time() - stop_record.stat().st_mtime <= settings.cooldown_s:
            age_text = f"less than {settings.cooldown_s:g} s ago"
            raise FetchError("stopped", f"{last_stop['status']} {age_text}: {last_stop['message']}")
        if not has_javascript_solver():
            raise UserError(
                f"route: YouTube's formats need the JavaScript runtime {RUNTIME} and the package {SCRIPTS}; one of "
                "them is missing or too old. No request was sent. Install them: "
                f"pip install --upgrade {RUNTIME} {SCRIPTS}"
            )
        url = f"https://www.youtube.com/watch?v={source_id}"
        try:
            with time_limit(settings.max_s):
                return call_with_retries(lambda: download(url, folder, settings), settings, STOP_ON)
        except FetchError as error:
            if error.status in STOP_ON:
                write_record(stop_record, {"status": error.status, "message": error.message})
            raise

    subtitles = list(settings.subtitle_languages) if settings.subtitles else []
    return Fetcher(
        lambda source_id: ["youtube", source_id, settings.format, subtitles],
        fetch,
        settings.estimate_bytes,
        attempts=settings.attempts,
        is_remote=True,
    )


def download(url: str, folder: Path, settings: Youtube) -> FetchedFile:
    """Download one video with yt-dlp in one attempt.

    Raises:
        FetchError: the download fails, with the named reason as status.
    """
    try:
        with yt_dlp.YoutubeDL(_options(folder, settings)) as client:
            info: dict[str, Any] | None = client.extract_info(url, download=True)
    except DownloadError as error:
        cause = error.exc_info[1] if error.exc_info else None
        status = "geo_blocked" if type(cause).__name__ == "GeoRestrictedError" else classify_message(str(error))
        if status == "failed" and cause is not None:  # The message is unknown, so classify the inner errors.
            status = classify_message(f"{type(cause).__name__}: {cause.__cause__!r}")
        raise FetchError(status, str(error)) from error
    except (YoutubeDLError, RequestError) as error:
        raise FetchError(classify_message(f"{type(error).__name__}: {error}"), str(error)) from error
    # After some failures, yt-dlp raises no error and returns no path.
    downloads = (info or {}).get("requested_downloads") or [{}]
    file_path = downloads[0].get("filepath")
    if not file_path or not Path(file_path).is_file():
        raise FetchError("failed", "yt-dlp reported no error, but wrote no file")
    path = Path(file_path)
    if path.stat().st_size == 0:
        raise FetchError("empty_download", "0 bytes")
    subtitles = sorted(folder.glob("*.vtt"))
    return FetchedFile(path, subtitles=subtitles[0] if subtitles else None)


@cache
def has_javascript_solver() -> bool:
    """Return whether yt-dlp finds the runtime and scripts for YouTube's JavaScript, which many formats need."""
    runtime = supported_js_runtimes.value[RUNTIME]().info
    return runtime is not None and runtime.supported and find_spec(SCRIPTS.replace("-", "_")) is not None


def _options(folder: Path, settings: Youtube) -> dict[str, Any]:
    """Return the options of yt-dlp that write one video and its subtitles into a folder."""

    def check_progress(progress: dict[str, Any]) -> None:
        check_limits(progress.get("downloaded_bytes") or 0, progress.get("elapsed") or 0, settings)

    options: dict[str, Any] = {
        "logger": logging.Logger("yt-dlp", logging.CRITICAL),  # Exceptions contain all information for the manifest.
        "quiet": True,
        "noprogress": True,
        "no_warnings": True,
        "outtmpl": str(folder / "%(id)s.%(ext)s"),
        "format": settings.format,
        "retries": settings.retries,
        "fragment_retries": settings.retries,
        "socket_timeout": settings.timeout_s,
        "retry_sleep_functions": {"http": lambda n: min(settings.backoff_s * 2**n, 30)},
        "sleep_interval_requests": settings.pause_s,
        "ffmpeg_location": ffmpeg_executable(),
        "js_runtimes": {RUNTIME: {}},
        "progress_hooks": [check_progress],
        "cachedir": False,
        "noplaylist": True,
    }
    if settings.rate_limit_mb_s is not None:
        options["ratelimit"] = settings.rate_limit_mb_s * 1e6
    if settings.cookies is not None:
        # yt-dlp writes cookies back to the file, so concurrent jobs need separate copies.
        options["cookiefile"] = shutil.copy(settings.cookies, folder / "cookies.txt")
    if settings.subtitles:
        options |= {
            "writesubtitles": True,
            "writeautomaticsub": True,
            "subtitleslangs": list(settings.subtitle_languages),
            "subtitlesformat": "vtt",
        }
    return options
