"""Start a server, and end all its processes when its job ends, even if the job is killed.

The job runs this file in a separate process group. The file imports only the standard library. Standard input is a pipe
from the job: a byte means that the job is done, and end of file means that the job was killed.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

POLL_SECONDS = 0.2
# Time for a server to exit after SIGTERM.
GRACE_SECONDS = 10.0


def main() -> None:
    job_pid = os.getppid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # this process must outlive the others of its group
    server = subprocess.Popen(
        sys.argv[1:],
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with_parent,  # safe, because this process has only one thread
    )
    is_job_done = False
    while server.poll() is None and os.getppid() == job_pid:
        if select.select([sys.stdin], [], [], POLL_SECONDS)[0]:
            is_job_done = bool(os.read(sys.stdin.fileno(), 1))
            break
    if server.poll() is not None:
        print(f"the server ended with code {server.returncode}", flush=True)
    elif is_job_done:
        os.killpg(0, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while server.poll() is None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _die_with_parent() -> None:
    """Restore SIGTERM; on Linux, make the kernel kill the server if this process is killed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()
