"""Outcomes of fetching a source: a file, or a failure with a named reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.core.files import can_be_path, resolve_inside
from reprise.core.plain import sanitize_line, truncate
from reprise.media.errors import STATUSES as MEDIA_STATUSES

# Transient failures: the server, the network or this machine causes them, not the video.
TRANSIENT = {
    "bot_check": "YouTube requests a bot check",
    "rate_limited": "the server limits the request rate",
    "captcha": "the server requests a captcha",
    "forbidden_media": "the server refuses the media file (HTTP 403)",
    "server_error": "the server failed (HTTP 5xx)",
    "network": "no connection, or a broken one",
    "format_missing": "no suitable format, or no JavaScript runtime or token",
    "empty_download": "the server sent no bytes",
    "wrong_type": "the server did not send a video",
    "too_slow": "longer than `max_s`, or slower than `min_kb_s`",
    "stopped": "not requested, because an earlier source met a bot check or a rate limit",
    "disk_full": "no disk space in the store",
    "changed": "the file changed during the copy",
}
# Permanent failures, which are not attempted again.
PERMANENT = {
    "removed": "removed by its uploader or by the site",
    "private": "private",
    "age_restricted": "for signed-in adults only",
    "members_only": "for members of a channel",
    "geo_blocked": "blocked in this country",
    "paid": "must be bought or rented",
    "copyright": "removed for copyright",
    "account_terminated": "the uploader's account was closed",
    "not_yet": "not published yet",
    "unavailable": "not available, without a stated reason",
    "not_found": "the server has no such file (HTTP 404, 410)",
    "forbidden": "the server refuses access (HTTP 401, 403)",
    "drm": "protected by DRM",
    "gated": "the data set's licence must be accepted first",
    "too_large": "larger than `max_mb`",
    "bad_redirect": "too many redirects, or a redirect to another protocol than http or https",
    "bad_id": "not a valid id of this site",
    "unsafe_path": MEDIA_STATUSES["unsafe_path"],
    "unsafe_pickle": "a pickle with other content than dict, str and bytes",
    "damaged": "the member of an archive cannot be unpacked",
    "unreadable": MEDIA_STATUSES["unreadable"],
    "missing": MEDIA_STATUSES["missing"],
    "failed": "failed; the message states the reason",
}


class FetchError(Exception):
    """A source could not be fetched; `status` is its named status in the manifest."""

    def __init__(self, status: str, message: str, wait_s: float = 0.0) -> None:
        self.status = status
        self.message = sanitize_line(message)
        self.wait_s = wait_s  # seconds to wait, as the server requests
        super().__init__(self.message)


@dataclass(frozen=True)
class FetchedFile:
    """A fetched file, with its subtitles if there are any."""

    path: Path
    is_external: bool = False  # whether the file is outside the store and must be copied instead of moved
    subtitles: Path | None = None
    note: str = ""  # a note for the manifest, such as the link of a redirect


@dataclass(frozen=True)
class Fetcher:
    """The functions that fetch sources by a route."""

    identity: Callable[[str], Any]
    """Return the identity of a source; sources with the same identity are fetched only once."""
    fetch: Callable[[str, Path], FetchedFile]  # source id, empty folder for a new file -> the fetched file
    estimate_bytes: Callable[[Sequence[str]], int] = lambda _: 0  # source ids -> estimated total bytes
    attempts: int = 1  # maximum number of workflow runs that attempt a source after transient failures
    is_remote: bool = False  # whether sources come from another machine


def fill_safe_name(pattern: str, source_id: str) -> str:
    """Return a pattern with the id filled in, as a relative path.

    Raises:
        FetchError: The path would leave its folder or is invalid (`unsafe_path`).
    """
    name = pattern.replace("{source_id}", source_id)
    if not can_be_path(name):
        raise FetchError("unsafe_path", f"{truncate(repr(name), 300)} cannot be a path")
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\\" in name:
        raise FetchError("unsafe_path", f"'{name}' leaves its folder")
    return name


def require_existing_file(folder: Path, name: str, description: str) -> Path:
    """Return a file of a folder; `description` names the folder in messages.

    Raises:
        FetchError: The file is missing or outside the folder.
    """
    if not can_be_path(name):
        raise FetchError("unsafe_path", f"{truncate(repr(name), 300)} cannot be a path")
    path = resolve_inside(folder, name)
    if path is None:
        raise FetchError("unsafe_path", f"'{name}' leaves its folder")
    if not path.is_file():
        raise FetchError("missing", f"no file '{name}' in {description}")
    return path
