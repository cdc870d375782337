"""Outcomes of fetching a source: a file, or a failure with a named reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.core.files import can_be_path, inside
from reprise.core.plain import cut, plain
from reprise.media.errors import STATUSES as MEDIA_STATUSES

# Failures that may pass: the server, the network or this machine causes them, not the video.
TRANSIENT = {
    "bot_check": "YouTube asks whether we are a bot",
    "rate_limited": "the server asks us to slow down",
    "captcha": "the server asks for a captcha",
    "forbidden_media": "the server refuses the media file (HTTP 403)",
    "server_error": "the server failed (HTTP 5xx)",
    "network": "no connection, or one that broke",
    "format_missing": "no format fits, or a JavaScript runtime or token is missing",
    "empty_download": "the server sent no bytes",
    "wrong_type": "the server sent something else than a video",
    "too_slow": "not done within `max_s`, or slower than `min_kb_s`",
    "stopped": "not asked for: an earlier source met a bot check or a rate limit",
    "disk_full": "no room in the store",
    "changed": "the file changed while it was copied",
}
PERMANENT = {
    "removed": "taken down by its uploader or by the site",
    "private": "private",
    "age_restricted": "for signed-in adults only",
    "members_only": "for members of a channel",
    "geo_blocked": "blocked in this country",
    "paid": "must be bought or rented",
    "copyright": "taken down for copyright",
    "account_terminated": "the uploader's account is gone",
    "not_yet": "not published yet",
    "unavailable": "not available, for a reason the site does not give",
    "not_found": "the server has no such file (HTTP 404, 410)",
    "forbidden": "the server refuses access (HTTP 401, 403)",
    "drm": "protected",
    "gated": "the data set's licence must be accepted first",
    "too_large": "more bytes than `max_mb` allows",
    "bad_redirect": "redirected too often, or to something else than an http or https link",
    "bad_id": "no id of this site",
    "unsafe_path": MEDIA_STATUSES["unsafe_path"],
    "unsafe_pickle": "a pickle with anything but dict, str and bytes",
    "damaged": "the member of an archive cannot be unpacked",
    "unreadable": MEDIA_STATUSES["unreadable"],
    "missing": MEDIA_STATUSES["missing"],
    "failed": "failed for a reason that is in the message",
}


class FetchError(Exception):
    """A source could not be fetched; `status` is its named status in the manifest."""

    def __init__(self, status: str, message: str, wait_s: float = 0.0) -> None:
        self.status = status
        self.message = plain(message)
        self.wait_s = wait_s  # how long the server asks to wait
        super().__init__(self.message)


@dataclass(frozen=True)
class Fetched:
    """A fetched file, with its subtitles if there are any."""

    path: Path
    is_borrowed: bool = False  # in a folder outside the store, identified by its digest: to be copied, not moved
    subtitles: Path | None = None
    note: str = ""  # a note for the manifest, such as the link of a redirect


@dataclass(frozen=True)
class Fetcher:
    """The functions of a route, and how its failures are retried."""

    identity: Callable[[str], Any]
    """Return the identity of a source: an object that was fetched under an identity is never fetched again."""
    fetch: Callable[[str, Path], Fetched]  # fetch one source, into this empty folder if it has to be written
    estimate: Callable[[Sequence[str]], int] = lambda _: 0  # bytes that these sources will take
    attempts: int = 1  # runs of the workflow that may try a transient failure
    is_remote: bool = False


def safe_name(pattern: str, source_id: str) -> str:
    """Return the relative name that a pattern and an id give.

    Raises:
        FetchError: `unsafe_path`, if the name would leave its folder or cannot be a path.
    """
    name = pattern.replace("{source_id}", source_id)
    if not can_be_path(name):
        raise FetchError("unsafe_path", f"{cut(repr(name), 300)} cannot be a path")
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\\" in name:
        raise FetchError("unsafe_path", f"'{name}' leaves its folder")
    return name


def existing_file(folder: Path, name: str, description: str) -> Path:
    """Return a file of a folder; `description` names the folder in messages.

    Raises:
        FetchError: the file is missing or outside the folder.
    """
    if not can_be_path(name):
        raise FetchError("unsafe_path", f"{cut(repr(name), 300)} cannot be a path")
    path = inside(folder, name)
    if path is None:
        raise FetchError("unsafe_path", f"'{name}' leads out of its folder")
    if not path.is_file():
        raise FetchError("missing", f"no file '{name}' in {description}")
    return path
