"""Direct HTTP(S) links, resumed where a connection breaks."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from reprise.fetch.outcome import Fetched, Fetcher, FetchError
from reprise.fetch.retry import status_of_http, with_retries
from reprise.fetch.settings import Http

CHUNK = 1 << 18
NO_VIDEO = ("text/", "application/json", "application/xml", "application/xhtml")


def http(settings: Http) -> Fetcher:
    """Files behind a link made of a pattern and the id."""

    def link(source_id: str) -> str:
        return settings.url.replace("{source_id}", quote(source_id, safe=""))

    def fetch(source_id: str, folder: Path) -> Fetched:
        url = link(source_id)
        target = folder / f"download{_suffix(settings.url)}"
        with_retries(lambda: download(url, target, settings), settings)
        return Fetched(target)

    def estimate(source_ids: Sequence[str]) -> int:
        return sum(_stated_size(link(source_id), settings) for source_id in source_ids)

    return Fetcher(
        lambda source_id: ["http", link(source_id)], fetch, estimate, attempts=settings.attempts, is_remote=True
    )


def download(url: str, target: Path, settings: Http) -> None:
    """Download one file, continuing after the bytes that an earlier try has written."""
    have = target.stat().st_size if target.is_file() else 0
    try:
        with closing(_open(url, settings.timeout_s, have)) as response:
            _refuse_pages(response)
            if response.status != 206:
                have = 0  # the server sends the whole file again
            expected = _total(response, have)
            with target.open("ab" if have else "wb") as sink:
                arrived = have + _copy(response, sink.write, settings.rate_limit_mb_s)
    except HTTPError as error:
        with error:
            if error.code == 416 and have:
                target.unlink()
                raise FetchError("network", "HTTP 416: cannot resume after the bytes already written") from error
            raise FetchError(status_of_http(error.code), f"HTTP {error.code} {error.reason}") from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        raise FetchError("network", _words(error)) from error
    if arrived == 0:
        raise FetchError("empty_download", "0 bytes")
    if expected is not None and arrived < expected:
        raise FetchError("network", f"{arrived} of {expected} bytes, then the connection ended")


def _open(url: str, timeout_s: float, have: int = 0, method: str = "GET") -> HTTPResponse:
    headers = {"User-Agent": "reprise", "Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    request = Request(url, headers=headers, method=method)  # noqa: S310 - the settings admit http and https only
    response: HTTPResponse = urlopen(request, timeout=timeout_s)  # noqa: S310
    return response


def _copy(response: HTTPResponse, write: Callable[[bytes], object], rate_limit_mb_s: float | None) -> int:
    """Copy in pieces, no faster than the limit."""
    started, count = time.monotonic(), 0
    while piece := response.read(CHUNK):
        write(piece)
        count += len(piece)
        if rate_limit_mb_s is not None:
            time.sleep(max(0.0, count / (rate_limit_mb_s * 1e6) - (time.monotonic() - started)))
    return count


def _total(response: HTTPResponse, have: int) -> int | None:
    length = response.headers.get("Content-Length")
    return have + int(length) if length is not None and length.isdigit() else None


def _refuse_pages(response: HTTPResponse) -> None:
    kind = response.headers.get("Content-Type", "")
    if kind.lower().startswith(NO_VIDEO):
        raise FetchError("wrong_type", f"the server sent {kind}, not a video")


def _stated_size(url: str, settings: Http) -> int:
    """What the server says a file takes, or the configured guess."""
    guess = int(settings.mb_per_source * 1e6)
    try:
        with closing(_open(url, settings.timeout_s, method="HEAD")) as response:
            return _total(response, 0) or guess
    except (HTTPError, URLError, HTTPException, OSError):
        return guess


def _suffix(url: str) -> str:
    suffix = Path(url.split("?")[0]).suffix
    return suffix if 1 < len(suffix) <= 5 else ".mp4"


def _words(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return f"{type(reason).__name__}: {reason}"
