"""Download videos from direct HTTP(S) links, and resume after a broken connection."""

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

from reprise.core.errors import describe_machine_fault
from reprise.core.plain import extract_page_text, sanitize_line, truncate
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError
from reprise.fetch.retry import (
    call_with_retries,
    check_limits,
    classify_http_code,
    parse_wait_s,
    size_error,
    time_limit,
)
from reprise.fetch.settings import Http

# Limits of the explanation that a server sends with an error status: bytes to read, and characters to show.
EXPLANATION_BYTES, EXPLANATION_CHARACTERS = 4096, 200
# Groups: the first byte that the server sends, and the size of the whole file.
CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-(?:[0-9]{1,18}/([0-9]{1,18}))?")


def create_http_fetcher(settings: Http) -> Fetcher:
    """Return the fetcher of videos from direct links."""

    def url_of(source_id: str) -> str:
        return settings.url.replace("{source_id}", quote(source_id, safe=""))

    def fetch(source_id: str, folder: Path) -> FetchedFile:
        url = url_of(source_id)
        suffix = Path(settings.url.split("?")[0]).suffix
        # A longer suffix is no file type, as in a link that ends with a domain or with the id of a video.
        target = folder / f"download{suffix if 1 < len(suffix) <= 5 else '.mp4'}"
        version = FileVersion()
        with time_limit(settings.max_s):
            final_url = call_with_retries(lambda: download(url, target, settings, version), settings)
        return FetchedFile(
            target, note="" if final_url == url else f"redirected to {sanitize_line(_without_query(final_url))}"
        )

    return Fetcher(
        lambda source_id: ["http", url_of(source_id)],
        fetch,
        settings.estimate_bytes,
        attempts=settings.attempts,
        is_remote=True,
    )


@dataclass
class FileVersion:
    """HTTP validators of the file at the first attempt; a later attempt must not append bytes of another version."""

    validators: dict[str, str] = field(default_factory=dict)

    def is_same(self, validators: Mapping[str, str]) -> bool:
        """Return whether the validators of a later attempt have all values of the first attempt."""
        return all(validators.get(name) == value for name, value in self.validators.items())


def download(url: str, target: Path, settings: Http, version: FileVersion) -> str:
    """Download one file, resume after the bytes of an earlier attempt, and return the final link.

    Raises:
        FetchError: The download fails; the status names the reason.
    """
    offset = target.stat().st_size if target.is_file() else 0
    headers = {"User-Agent": "reprise", "Accept-Encoding": "identity"} | (
        {"Range": f"bytes={offset}-"} if offset else {}
    )
    opener = build_opener(_HttpOnlyRedirects(settings.max_redirects))
    try:
        request = Request(url, headers=headers)  # noqa: S310 - the settings admit http and https only
        with closing(opener.open(request, timeout=settings.timeout_s)) as response:
            _check_content_type(response)
            content_range = CONTENT_RANGE.match(response.headers.get("Content-Range", ""))
            if response.status != 206:
                offset, content_range = 0, None  # The server sends the whole file.
            elif content_range is None or int(content_range[1]) != offset or not content_range[2]:
                # The part starts elsewhere, or the file's size is unknown. The next attempt starts from the beginning.
                target.unlink(missing_ok=True)
                raise FetchError(
                    "network", f"the server sent another part than the one requested, from byte {offset} on (HTTP 206)"
                )
            length = response.headers.get("Content-Length", "")
            expected_bytes = offset + int(length) if re.fullmatch("[0-9]{1,18}", length) else None
            if content_range:  # A response may end before the requested range does, so use the size of the whole file.
                expected_bytes = int(content_range[2])
            validators = {name: response.headers[name] for name in ("ETag", "Last-Modified") if response.headers[name]}
            if expected_bytes is not None:
                validators["length"] = str(expected_bytes)
            if offset and not version.is_same(validators):
                target.unlink()
                raise FetchError("network", "the file on the server changed between two attempts; it is fetched again")
            version.validators = validators
            if expected_bytes is not None and expected_bytes > settings.max_mb * 1e6:
                raise size_error(expected_bytes, settings.max_mb)
            with target.open("ab" if offset else "wb") as file:
                received_bytes = offset + _copy_response(response, file.write, offset, settings)
            final_url = response.url
    except HTTPError as error:
        with error:
            if error.code == 416 and offset:
                target.unlink()
                raise FetchError("network", "HTTP 416: cannot resume after the bytes already written") from error
            raise FetchError(
                classify_http_code(error.code),
                f"HTTP {error.code} {error.reason}{_read_explanation(error)}",
                parse_wait_s(error.headers.get("Retry-After"), error.headers.get("Date")),
            ) from error
    except HTTPException as error:
        message = f"the server or a proxy sent invalid HTTP or closed the connection ({type(error).__name__}: {error})"
        raise FetchError("network", message) from error
    except (OSError, ValueError) as error:  # A ValueError comes from an invalid link or header.
        if describe_machine_fault(error):
            raise
        reason = getattr(error, "reason", error)
        raise FetchError("network", f"{type(reason).__name__}: {reason}") from error
    if received_bytes == 0:
        raise FetchError("empty_download", "0 bytes")
    if expected_bytes is not None and received_bytes < expected_bytes:
        raise FetchError("network", f"{received_bytes} of {expected_bytes} bytes, then the connection ended")
    if expected_bytes is not None and received_bytes > expected_bytes:
        target.unlink()
        raise FetchError("network", f"{received_bytes} bytes, but the server announced {expected_bytes}")
    return str(final_url)


class _HttpOnlyRedirects(HTTPRedirectHandler):
    """Handler that follows a limited number of redirects, and only to http and https links."""

    # No limit for urllib, which follows one redirect more than its limit; redirect_request() enforces the setting.
    max_redirections = 1_000_000

    def __init__(self, max_redirects: int) -> None:
        self._max_redirects = max_redirects

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        """Return the request of a redirect; raise an error if it exceeds the limit or leaves HTTP."""
        if len(getattr(req, "redirect_dict", ())) >= self._max_redirects:
            raise FetchError("bad_redirect", f"HTTP {code}: more than {self._max_redirects} redirects (max_redirects)")
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise FetchError(
                "bad_redirect", f"HTTP {code} to {_without_query(newurl)}, which is not an http or https link"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _copy_response(response: HTTPResponse, write: Callable[[bytes], object], offset: int, settings: Http) -> int:
    """Copy a response in chunks within the limits of rate, size and speed, and return the number of copied bytes."""
    start_time, copied_bytes = time.monotonic(), 0
    while chunk := response.read1(1 << 18):
        write(chunk)
        copied_bytes += len(chunk)
        elapsed = time.monotonic() - start_time
        check_limits(offset + copied_bytes, elapsed, settings)
        if settings.rate_limit_mb_s is not None:
            time.sleep(max(0.0, copied_bytes / (settings.rate_limit_mb_s * 1e6) - elapsed))
    return copied_bytes


def _check_content_type(response: HTTPResponse) -> None:
    """Raise an error if a response is a page or a text, or is compressed although the request forbids compression."""
    content_type = response.headers.get("Content-Type", "")
    if content_type.lower().startswith(("text/", "application/json", "application/xml", "application/xhtml")):
        raise FetchError("wrong_type", f"the server sent {content_type}, not a video")
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise FetchError(
            "wrong_type", f"the server sent the video with content encoding {encoding}, which was not requested"
        )


def _read_explanation(error: HTTPError) -> str:
    """Return the text that a server sends with an error status, shortened for a message."""
    try:
        page = error.read(EXPLANATION_BYTES)
        text = extract_page_text(page.decode(errors="replace"))
        if len(page) == EXPLANATION_BYTES:  # Drop the last word, which may be an unrecognisable part of a secret.
            text = text.rpartition(" ")[0]
    except (OSError, HTTPException) as read_error:
        return f" (its explanation could not be read: {type(read_error).__name__})"
    return f": {truncate(text, EXPLANATION_CHARACTERS)}" if text else ""


def _without_query(url: str) -> str:
    """Return a link without its query and credentials, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
