"""Starts a server and ends all its processes when the job that wanted it ends, however that ends.

Run as a file by the job, in a process group of its own; imports the standard library alone. Its standard input is a
pipe from the job: a byte there says that the job is done, its end that the job was killed.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

POLL_SECONDS = 0.2
# A server that is asked to end may take so long.
GRACE_SECONDS = 10.0


def main() -> None:
    job = os.getppid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it comes to the whole group, of which this is the last to end
    server = subprocess.Popen(
        sys.argv[1:],
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with_this,  # this process has one thread
    )
    is_asked = False
    while server.poll() is None and os.getppid() == job:
        if select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
            is_asked = bool(os.read(sys.stdin.fileno(), 1))
            break
    if server.poll() is not None:
        print(f"the server ended with code {server.returncode}", flush=True)
    elif is_asked:
        os.killpg(0, signal.SIGTERM)
        end = time.monotonic() + GRACE_SECONDS
        while server.poll() is None and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _die_with_this() -> None:
    """Should this process be killed, so is the server."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()
