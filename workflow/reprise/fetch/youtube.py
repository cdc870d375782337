"""YouTube through yt-dlp: whole videos, stopping for a while as soon as the site asks whether we are a bot; what it and
yt-dlp say becomes a named reason, and the raw words stay in the ledger."""

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
from reprise.fetch.outcome import Fetched, Fetcher, FetchError
from reprise.fetch.retry import check_bounds, with_retries, within
from reprise.fetch.settings import Youtube
from reprise.media.ffmpeg import ffmpeg_executable

# Order matters: the first that fits names the reason. Wordings are in yt-dlp's source (2026.10.26), were seen from a
# server, or are YouTube's from memory.
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


def reason_of(message: str) -> str:
    """The named reason behind a message; `failed` where no wording fits."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", message).replace("\u2019", "'").lower()
    return next((status for status, pattern in PATTERNS if re.search(pattern, text)), "failed")


# deno runs scripts without rights to files and network; yt-dlp's own default as well.
RUNTIME, SCRIPTS = "deno", "yt-dlp-ejs"
# Going on after one of these makes it worse for every shard.
STOP_ON = frozenset({"bot_check", "rate_limited", "captcha"})


def youtube(settings: Youtube, store: Store) -> Fetcher:
    if settings.cookies is not None and not Path(settings.cookies).is_file():
        raise UserError(
            f"route.cookies: no file '{settings.cookies}'. Export the cookies of a signed-in browser to it."
        )
    stop = store.root / "stops" / "youtube.json"

    def fetch(source_id: str, folder: Path) -> Fetched:
        if not re.fullmatch(r"[A-Za-z0-9_-]{11}", source_id):
            raise FetchError("bad_id", f"'{source_id}' is not a YouTube id")
        earlier = read_record(stop)
        # One that is damaged, old, or of a clock that is wrong by more than a minute stops nothing.
        if earlier and -60 <= time.time() - stop.stat().st_mtime <= settings.cooldown_s:
            when = f"less than {settings.cooldown_s:g} s ago"
            raise FetchError("stopped", f"{earlier['status']} {when}: {earlier['message']}")
        if not solves_javascript():
            raise UserError(
                f"route: YouTube's formats need the JavaScript runtime {RUNTIME} and the package {SCRIPTS}; yt-dlp "
                "does not find both, or finds an old one. Nothing was asked. Install what envs/base.txt lists: "
                "pip install -r envs/base.txt"
            )
        url = f"https://www.youtube.com/watch?v={source_id}"
        try:
            with within(settings.max_s):
                return with_retries(lambda: download(url, folder, settings), settings, STOP_ON)
        except FetchError as error:
            if error.status in STOP_ON:
                write_record(stop, {"status": error.status, "message": error.message})
            raise

    subtitles = list(settings.subtitle_languages) if settings.subtitles else []
    return Fetcher(
        lambda source_id: ["youtube", source_id, settings.format, subtitles],
        fetch,
        settings.estimate,
        attempts=settings.attempts,
        is_remote=True,
    )


def download(url: str, folder: Path, settings: Youtube) -> Fetched:
    """One try at one video with yt-dlp."""
    try:
        with yt_dlp.YoutubeDL(_options(folder, settings)) as client:
            found: dict[str, Any] | None = client.extract_info(url, download=True)
    except DownloadError as error:  # where the words say nothing, the class of the inner error does
        inner = error.exc_info[1] if error.exc_info else None
        status = "geo_blocked" if type(inner).__name__ == "GeoRestrictedError" else reason_of(str(error))
        if status == "failed" and inner is not None:
            status = reason_of(f"{type(inner).__name__}: {inner.__cause__!r}")
        raise FetchError(status, str(error)) from error
    except (YoutubeDLError, RequestError) as error:
        raise FetchError(reason_of(f"{type(error).__name__}: {error}"), str(error)) from error
    # yt-dlp reports some failures by leaving the path out.
    downloads = (found or {}).get("requested_downloads") or [{}]
    path = Path(downloads[0].get("filepath") or folder / "nothing")
    if not path.is_file():
        raise FetchError("failed", "yt-dlp reported no error and left no file")
    if path.stat().st_size == 0:
        raise FetchError("empty_download", "0 bytes")
    subtitles = sorted(folder.glob("*.vtt"))
    return Fetched(path, subtitles=subtitles[0] if subtitles else None)


@cache
def solves_javascript() -> bool:
    """Whether yt-dlp finds what it solves YouTube's JavaScript with; without it formats go missing."""
    runtime = supported_js_runtimes.value[RUNTIME]().info
    return runtime is not None and runtime.supported and find_spec(SCRIPTS.replace("-", "_")) is not None


def _options(folder: Path, settings: Youtube) -> dict[str, Any]:
    def check_progress(progress: dict[str, Any]) -> None:
        check_bounds(progress.get("downloaded_bytes") or 0, progress.get("elapsed") or 0, settings)

    options: dict[str, Any] = {
        "logger": logging.Logger("yt-dlp", logging.CRITICAL),  # what matters reaches the ledger as an exception
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
        # yt-dlp writes the file back when it ends; several jobs would overwrite each other's.
        options["cookiefile"] = shutil.copy(settings.cookies, folder / "cookies.txt")
    if settings.subtitles:
        options |= {
            "writesubtitles": True,
            "writeautomaticsub": True,
            "subtitleslangs": list(settings.subtitle_languages),
            "subtitlesformat": "vtt",
        }
    return options
