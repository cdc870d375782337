"""Serve each chat completion after 50 ms, as a separate process: `python -m bench.slow_server`.

The server reads into one buffer and keeps nothing, because its work would count as waiting time of the client.
"""

import asyncio
import json
import re

SECONDS = 0.05  # Time from the end of a request to its answer.
MODEL = "slow"
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
USAGE = {"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901}
REPLY = json.dumps({"id": "x", "object": "chat.completion", "model": MODEL, "choices": [CHOICE], "usage": USAGE})
RESPONSE_BYTES = (
    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n{REPLY}".encode()
)
LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)
END_OF_HEAD = b"\r\n\r\n"


class Connection(asyncio.BufferedProtocol):
    """One connection, open until the client ends it; the client sends its next request after the answer."""

    def __init__(self) -> None:
        self._buffer = bytearray(1 << 20)
        self._head = b""
        self._missing_bytes = 0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Read a request, which may arrive in parts, and answer it after `SECONDS`."""
        if self._missing_bytes:
            self._missing_bytes -= nbytes
        else:
            self._head += self._buffer[:nbytes]
            head, separator, body = self._head.partition(END_OF_HEAD)
            if not separator:
                return
            match = LENGTH.search(head)
            # A GET request, such as the one for the list of models, has no length.
            self._missing_bytes = (int(match[1]) if match else 0) - len(body)
            self._head = b""
        if not self._missing_bytes:
            asyncio.get_running_loop().call_later(SECONDS, self._transport.write, RESPONSE_BYTES)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print("http://{}:{}/v1".format(*server.sockets[0].getsockname()), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
