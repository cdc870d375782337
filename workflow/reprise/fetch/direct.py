"""Direct HTTP(S) links, resumed where a connection breaks."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from reprise.core.errors import fault_of
from reprise.core.plain import cut, plain, words_of_page
from reprise.fetch.outcome import Fetched, Fetcher, FetchError
from reprise.fetch.retry import check_bounds, status_of_http, too_large, wait_asked, with_retries, within
from reprise.fetch.settings import Http

# Of what a server says beside an error's status: read, and shown.
EXPLANATION_BYTES, EXPLANATION_CHARACTERS = 4096, 200
RANGE = re.compile(r"bytes ([0-9]{1,18})-(?:[0-9]{1,18}/([0-9]{1,18}))?")


def http(settings: Http) -> Fetcher:
    def link(source_id: str) -> str:
        return settings.url.replace("{source_id}", quote(source_id, safe=""))

    def fetch(source_id: str, folder: Path) -> Fetched:
        url = link(source_id)
        suffix = Path(settings.url.split("?")[0]).suffix
        target = folder / f"download{suffix if 1 < len(suffix) <= 5 else '.mp4'}"
        version = Version()
        with within(settings.max_s):
            came_from = with_retries(lambda: download(url, target, settings, version), settings)
        return Fetched(target, note="" if came_from == url else f"redirected to {plain(_without_query(came_from))}")

    return Fetcher(
        lambda source_id: ["http", link(source_id)],
        fetch,
        settings.estimate,
        attempts=settings.attempts,
        is_remote=True,
    )


@dataclass
class Version:
    """What the first try was told of the file, so that a later one does not append the end of another."""

    marks: dict[str, str] = field(default_factory=dict)

    def is_same(self, marks: Mapping[str, str]) -> bool:
        return all(marks.get(name) == value for name, value in self.marks.items())


def download(url: str, target: Path, settings: Http, version: Version) -> str:
    """Download one file, continuing after the bytes that an earlier try has written; returns the link that had it."""
    have = target.stat().st_size if target.is_file() else 0
    headers = {"User-Agent": "reprise", "Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    opener = build_opener(_OnHttp(settings.max_redirects))
    try:
        request = Request(url, headers=headers)  # noqa: S310 - the settings admit http and https only
        with closing(opener.open(request, timeout=settings.timeout_s)) as response:
            _refuse_others(response)
            stated = RANGE.match(response.headers.get("Content-Range", ""))
            if response.status != 206:
                have, stated = 0, None  # the server sends the whole file
            elif stated is None or int(stated[1]) != have or not stated[2]:
                # A part from elsewhere, or one of which nobody knows whether it is the last: the next try begins anew.
                target.unlink(missing_ok=True)
                raise FetchError(
                    "network", f"the server was asked for what follows byte {have} and sent another part (HTTP 206)"
                )
            length = response.headers.get("Content-Length", "")
            expected = have + int(length) if re.fullmatch("[0-9]{1,18}", length) else None
            if stated:  # a part may be shorter than what was asked for
                expected = int(stated[2])
            marks = {name: response.headers[name] for name in ("ETag", "Last-Modified") if response.headers[name]}
            if expected is not None:
                marks["length"] = str(expected)
            if have and not version.is_same(marks):
                target.unlink()
                raise FetchError("network", "the file at the server has changed between two tries; it is fetched anew")
            version.marks = marks
            if expected is not None and expected > settings.max_mb * 1e6:
                raise too_large(expected, settings.max_mb)
            with target.open("ab" if have else "wb") as sink:
                arrived = have + _copy(response, sink.write, have, settings)
            came_from = response.url
    except HTTPError as error:
        with error:
            if error.code == 416 and have:
                target.unlink()
                raise FetchError("network", "HTTP 416: cannot resume after the bytes already written") from error
            raise FetchError(
                status_of_http(error.code),
                f"HTTP {error.code} {error.reason}{_explanation(error)}",
                wait_asked(error.headers.get("Retry-After"), error.headers.get("Date")),
            ) from error
    except HTTPException as error:
        words = f"the server, or a proxy before it, sent no valid HTTP or broke off ({type(error).__name__}: {error})"
        raise FetchError("network", words) from error
    except (OSError, ValueError) as error:  # a ValueError is a link or a header that is none
        if fault_of(error):
            raise
        reason = getattr(error, "reason", error)
        raise FetchError("network", f"{type(reason).__name__}: {reason}") from error
    if arrived == 0:
        raise FetchError("empty_download", "0 bytes")
    if expected is not None and arrived < expected:
        raise FetchError("network", f"{arrived} of {expected} bytes, then the connection ended")
    if expected is not None and arrived > expected:
        target.unlink()
        raise FetchError("network", f"{arrived} bytes, where the server stated {expected}")
    return str(came_from)


class _OnHttp(HTTPRedirectHandler):
    """Follows links to http and https alone: never to a file of this machine."""

    max_redirections = 1_000_000  # counted here, since urllib follows one more

    def __init__(self, most: int) -> None:
        self._most = most

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        if len(getattr(req, "redirect_dict", ())) >= self._most:
            raise FetchError("bad_redirect", f"HTTP {code}: more than {self._most} redirects (max_redirects)")
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise FetchError("bad_redirect", f"HTTP {code} to {_without_query(newurl)}, no http or https link")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _copy(response: HTTPResponse, write: Callable[[bytes], object], have: int, settings: Http) -> int:
    """Copy in pieces, no faster than the limit, and no slower or more than is allowed."""
    started, count = time.monotonic(), 0
    while piece := response.read1(1 << 18):
        write(piece)
        count += len(piece)
        elapsed = time.monotonic() - started
        check_bounds(have + count, elapsed, settings)
        if settings.rate_limit_mb_s is not None:
            time.sleep(max(0.0, count / (settings.rate_limit_mb_s * 1e6) - elapsed))
    return count


def _refuse_others(response: HTTPResponse) -> None:
    """Refuse pages, and bytes that the server has packed although we asked for them as they are."""
    kind = response.headers.get("Content-Type", "")
    if kind.lower().startswith(("text/", "application/json", "application/xml", "application/xhtml")):
        raise FetchError("wrong_type", f"the server sent {kind}, not a video")
    packed = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise FetchError("wrong_type", f"the server sent the video packed ({packed}), which was not asked for")


def _explanation(error: HTTPError) -> str:
    """What the server says beside its status."""
    try:
        page = error.read(EXPLANATION_BYTES)
        words = words_of_page(page.decode(errors="replace"))
        if len(page) == EXPLANATION_BYTES:  # the last word may be half a secret, which nobody would recognise
            words = words.rpartition(" ")[0]
    except (OSError, HTTPException) as broken:
        return f" (its explanation broke off: {type(broken).__name__})"
    return f": {cut(words, EXPLANATION_CHARACTERS)}" if words else ""


def _without_query(url: str) -> str:
    """A link without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
