"""A server whose replies a test writes byte by byte: duplicated, truncated, mislabelled or invalid HTTP."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from tests.unit.models.chat_server import ReceivedRequest


class Connection:
    """One connection of a client."""

    def __init__(self, server: "RawServer", sock: socket.socket) -> None:
        self._server, self._sock = server, sock
        self._stream = sock.makefile("rb")

    def read(self) -> ReceivedRequest | None:
        """Return the next request; None if the client has closed the connection."""
        line = self._stream.readline().split()
        if len(line) != 3:
            return None
        headers = {}
        while header := self._stream.readline().strip():
            name, _, value = header.decode().partition(":")
            headers[name.lower()] = value.strip()
        content = self._stream.read(int(headers.get("content-length", 0)))
        body = json.loads(content) if content[:1] == b"{" else {}
        request = ReceivedRequest(line[1].decode(), headers, body, line[0].decode(), content)
        self._server.requests.append(request)
        return request

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def close(self) -> None:
        self._stream.close()
        self._sock.close()


class RawServer:
    """Runs `serve` in a thread for each connection, and closes the connection when it returns."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.requests: list[ReceivedRequest] = []
        self.connection_count = 0
        self._open: list[Connection] = []
        self._threads = [threading.Thread(target=self._accept, name="raw server")]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        for thread in self._threads[1:]:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connection_count += 1
            thread = threading.Thread(target=self._handle, args=(Connection(self, sock),))
            self._threads.append(thread)
            thread.start()

    def _handle(self, connection: Connection) -> None:
        with suppress(OSError, ValueError):  # the client has closed the connection
            self._serve(connection)
        with suppress(OSError):
            connection.close()


def encode_reply(body: bytes | dict[str, Any], status: int = 200, **headers: str) -> bytes:
    """Return a reply as bytes; `headers` replace the default headers, and an empty value removes one."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"content_type": "application/json", "content_length": str(len(content)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status} Some\r\n{lines}\r\n".encode() + content


def serve_replies(make_reply: Callable[[ReceivedRequest], bytes]) -> Callable[[Connection], None]:
    """Return a function that replies to every request of a connection with the bytes that `make_reply` returns."""

    def serve(connection: Connection) -> None:
        while (request := connection.read()) is not None:
            connection.send(make_reply(request))

    return serve
