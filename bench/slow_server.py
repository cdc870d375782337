"""A server that answers every chat completion after 50 ms, in a process of its own: `python -m bench.slow_server`."""

import asyncio
import json
import re

SECONDS = 0.05
MODEL = "slow"
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
USAGE = {"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901}
REPLY = json.dumps({"id": "x", "object": "chat.completion", "model": MODEL, "choices": [CHOICE], "usage": USAGE})
RAW = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n{REPLY}".encode()
LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, until the client ends it."""
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        found = LENGTH.search(head)
        left = int(found[1]) if found else 0  # it is asked what it serves, too
        while left:
            left -= len(await reader.read(min(left, 1 << 20)))
        await asyncio.sleep(SECONDS)
        writer.write(RAW)


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 20)
    print("http://{}:{}/v1".format(*server.sockets[0].getsockname()), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
