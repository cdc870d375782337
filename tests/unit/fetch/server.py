"""A local HTTP server that misbehaves on demand, and its behaviour as a repository of the Hugging Face hub."""

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from typing import Any, ClassVar

from reprise.core.files import text_digest

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Behaviour:
    content: bytes = b""
    status: int = 200
    failures_before: int = 0  # number of requests that fail with `status` before one succeeds
    cut_after: int | None = None  # number of bytes after which the first connection breaks
    content_type: str = "video/mp4"
    has_ranges: bool = True
    bytes_per_s: int | None = None
    is_endless: bool = False  # repeat the content forever, without a Content-Length
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class RequestLog:
    gets: Counter[str] = field(default_factory=Counter)
    heads: Counter[str] = field(default_factory=Counter)
    ranges: list[str] = field(default_factory=list)
    posts: list[tuple[str, bytes]] = field(default_factory=list)
    """address and body of each POST request"""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10
    behaviours: ClassVar[dict[str, Behaviour]] = {}
    log: ClassVar[RequestLog] = RequestLog()

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client has disconnected or was killed
            super().handle()

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_POST(self) -> None:
        self.log.posts.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self._reply(with_body=True)

    def _reply(self, with_body: bool) -> None:
        path = self.path.split("?")[0]
        behaviour = self.behaviours.get(path, Behaviour(status=404))
        (self.log.gets if with_body else self.log.heads)[path] += 1
        count = self.log.gets[path]
        if behaviour.status != 200 and (behaviour.failures_before == 0 or count <= behaviour.failures_before):
            self._send(behaviour.status, {"Content-Length": "0"} | behaviour.headers)
            return
        start = self._range_start(behaviour)
        body = behaviour.content[start:]
        length = {} if behaviour.is_endless else {"Content-Length": str(len(body))}
        headers = {"Content-Type": behaviour.content_type} | length | behaviour.headers
        if start:
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{len(behaviour.content)}"
        if behaviour.has_ranges:
            headers["Accept-Ranges"] = "bytes"
        self._send(206 if start else 200, headers)
        if with_body:
            self._send_body(behaviour, body, is_cut=behaviour.cut_after is not None and count == 1)

    def _range_start(self, behaviour: Behaviour) -> int:
        requested_range = self.headers.get("Range", "")
        if requested_range:
            self.log.ranges.append(requested_range)
        match = re.match(r"bytes=(\d+)-", requested_range)
        return int(match[1]) if match and behaviour.has_ranges else 0

    def _send_body(self, behaviour: Behaviour, body: bytes, is_cut: bool) -> None:
        if behaviour.is_endless:
            self.close_connection = True
            while True:
                self.wfile.write(body)
        elif is_cut:
            self.wfile.write(body[: behaviour.cut_after])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(2)
        elif behaviour.bytes_per_s is None:
            self.wfile.write(body)
        else:
            step = behaviour.bytes_per_s // 10
            for start in range(0, len(body), step):
                self.wfile.write(body[start : start + step])
                sleep(0.1)

    def _send(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests read `log`, not stderr."""


@contextmanager
def serve_paths(behaviours: dict[str, Behaviour]) -> Iterator[tuple[str, RequestLog]]:
    """Serve these paths on a free port of 127.0.0.1 for as long as the block runs."""
    log = RequestLog()
    handler = type("Handler", (_Handler,), {"behaviours": behaviours, "log": log})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", log
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


@contextmanager
def silent_server() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def make_repository(
    repository_type: str,
    repo: str,
    contents: Mapping[str, bytes],
    sizes: Mapping[str, int] | None = None,
    revision: str = REVISION,
) -> dict[str, Behaviour]:
    """Return the replies about a repository and its files; `sizes` replace the stated sizes of files."""
    stated_sizes = {name: len(content) for name, content in contents.items()} | dict(sizes or {})
    siblings = [{"rfilename": name, "size": size} for name, size in stated_sizes.items()]
    info = {"id": repo, "sha": revision, "tags": [], "siblings": siblings}
    tree = [
        {"type": "file", "path": name, "size": size, "oid": text_digest(name)[:40]}
        for name, size in stated_sizes.items()
    ]
    api, prefix = f"/api/{repository_type}s/{repo}", f"/{repo}" if repository_type == "model" else f"/datasets/{repo}"
    bodies: dict[str, Any] = {api: info, f"{api}/revision/{revision}": info, f"{api}/tree/{revision}": tree}
    behaviours = {
        path: Behaviour(json.dumps(body).encode(), content_type="application/json") for path, body in bodies.items()
    }
    for name, content in contents.items():
        headers = {"ETag": f'"{text_digest(name)[:40]}"', "X-Repo-Commit": revision}
        path = f"{prefix}/resolve/{revision}/{name}"
        behaviours[path] = Behaviour(content, headers=headers, content_type="application/octet-stream")
    return behaviours
