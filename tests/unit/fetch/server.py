"""A local HTTP server that misbehaves on demand, and what it shows as a repository of the hub."""

import json
import re
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
    failures_before: int = 0  # so many requests fail with `status` before the content comes
    cut_after: int | None = None  # the first request's connection breaks after so many bytes
    kind: str = "video/mp4"
    has_ranges: bool = True
    bytes_per_s: int | None = None
    is_endless: bool = False  # the content again and again, without a stated length
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Log:
    asked: Counter[str] = field(default_factory=Counter)
    heads: Counter[str] = field(default_factory=Counter)
    ranges: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10
    behaviours: ClassVar[dict[str, Behaviour]] = {}
    log: ClassVar[Log] = Log()

    def handle(self) -> None:
        with suppress(ConnectionError):  # who asked has given up, or was killed
            super().handle()

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        path = self.path.split("?")[0]
        behaviour = self.behaviours.get(path, Behaviour(status=404))
        (self.log.asked if with_body else self.log.heads)[path] += 1
        count = self.log.asked[path]
        if behaviour.status != 200 and (behaviour.failures_before == 0 or count <= behaviour.failures_before):
            self._send(behaviour.status, {"Content-Length": "0"} | behaviour.headers)
            return
        start = self._start(behaviour)
        body = behaviour.content[start:]
        stated = {} if behaviour.is_endless else {"Content-Length": str(len(body))}
        headers = {"Content-Type": behaviour.kind} | stated | behaviour.headers
        if start:
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{len(behaviour.content)}"
        if behaviour.has_ranges:
            headers["Accept-Ranges"] = "bytes"
        self._send(206 if start else 200, headers)
        if with_body:
            self._body(behaviour, body, is_cut=behaviour.cut_after is not None and count == 1)

    def _start(self, behaviour: Behaviour) -> int:
        asked = self.headers.get("Range", "")
        if asked:
            self.log.ranges.append(asked)
        found = re.match(r"bytes=(\d+)-", asked)
        return int(found[1]) if found and behaviour.has_ranges else 0

    def _body(self, behaviour: Behaviour, body: bytes, is_cut: bool) -> None:
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
            for place in range(0, len(body), step):
                self.wfile.write(body[place : place + step])
                sleep(0.1)

    def _send(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests read `log`, not stderr."""


@contextmanager
def serving(behaviours: dict[str, Behaviour]) -> Iterator[tuple[str, Log]]:
    """Serve these paths on a free port of 127.0.0.1 for as long as the block runs."""
    log = Log()
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


def repository(
    kind: str,
    repo: str,
    contents: Mapping[str, bytes],
    sizes: Mapping[str, int] | None = None,
    revision: str = REVISION,
) -> dict[str, Behaviour]:
    """The files of a repository, and what its server says of them; `sizes` are those that are not the files' own."""
    stated = {name: len(content) for name, content in contents.items()} | dict(sizes or {})
    siblings = [{"rfilename": name, "size": size} for name, size in stated.items()]
    info = {"id": repo, "sha": revision, "tags": [], "siblings": siblings}
    tree = [{"type": "file", "path": n, "size": size, "oid": text_digest(n)[:40]} for n, size in stated.items()]
    api, prefix = f"/api/{kind}s/{repo}", f"/{repo}" if kind == "model" else f"/datasets/{repo}"
    bodies: dict[str, Any] = {api: info, f"{api}/revision/{revision}": info, f"{api}/tree/{revision}": tree}
    shown = {path: Behaviour(json.dumps(body).encode(), kind="application/json") for path, body in bodies.items()}
    for name, content in contents.items():
        headers = {"ETag": f'"{text_digest(name)[:40]}"', "X-Repo-Commit": revision}
        path = f"{prefix}/resolve/{revision}/{name}"
        shown[path] = Behaviour(content, headers=headers, kind="application/octet-stream")
    return shown
