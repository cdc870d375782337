"""A fake engine with the command line of vLLM; VLLM_STAND_IN selects its behaviour.

`make_environment` runs this file without the packages of the project's environment.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.unit.models.chat_server import (
    ChatServer,
    ReceivedRequest,
    ServerReply,
    describe_server,
    error,
    reply_by_frames,
)

SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def main() -> None:
    arguments = dict(zip(sys.argv[3::2], sys.argv[4::2], strict=False))
    name, behaviour = arguments["--served-model-name"], os.environ.get("VLLM_STAND_IN", "")
    worker = subprocess.Popen([sys.executable, "-c", SLEEP])
    Path(os.environ["VLLM_PIDS"]).write_text(f"{os.getpid()} {worker.pid}")
    print("loading the weights", flush=True)
    if behaviour == "fails":
        sys.exit("RuntimeError: the weights are not of this class")
    if behaviour == "traceback":
        sys.exit((Path(__file__).with_name("failed_start.log")).read_text())
    if behaviour == "sleeps":
        time.sleep(600)

    def describe(received: ReceivedRequest) -> ServerReply:
        if received.path == "/version":
            return describe_server(received)
        if not is_authorized(received):
            return error(401, message="Unauthorized")
        return ServerReply({"object": "list", "data": [{"id": "another" if behaviour == "another" else name}]})

    def respond(received: ReceivedRequest) -> ServerReply:
        if not is_authorized(received):
            return error(401, message="Unauthorized")
        return replace(reply_by_frames(received), delay=0.05)

    with ChatServer(respond, int(arguments["--port"])) as server:
        server.describe = describe
        print("ready", flush=True)
        signal.pause()


def is_authorized(received: ReceivedRequest) -> bool:
    return received.headers.get("authorization") == f"Bearer {os.environ['VLLM_API_KEY']}"


if __name__ == "__main__":
    main()
