"""Jobs without a start: a process that has the libraries already, from which each job of this machine is forked.

Snakemake's process starts one (`keep_warm`). The command of a job, `python -m reprise.stages ...`, imports nothing of
what it runs: it hands its words, environment and streams over, waits, and ends as the fork has ended. To import polars
takes 0.2 seconds of a processor, torch with transformers 4, as long as a small model takes for a hundred answers. Where
no such process is found, such as on another node, a job runs in its own.
"""

import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ADDRESS = "REPRISE_WARM"
LENGTH_BYTES = 8
STREAMS = (0, 1, 2)


# In Snakemake's process


def keep_warm() -> None:
    """Start the process that waits until this one ends, and tell this one's later children where it is."""
    from subprocess import Popen
    from tempfile import mkdtemp

    address = str(Path(mkdtemp(prefix="reprise-")) / "socket")  # in a folder of this user alone
    until, _ = os.pipe()  # the other end is closed when this process ends, however it does
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        given = listening.fileno()
        Popen([sys.executable, "-m", "reprise.stages.warm", address, str(given)], stdin=until, pass_fds=[given])
    os.close(until)
    os.environ[ADDRESS] = address


# In a job's command


def is_run_warm(words: list[str]) -> bool:
    """Have a fork run a job, and end as it ends; False where no process waits on this machine."""
    address = os.environ.get(ADDRESS)
    if address is None or "SLURM_JOB_ID" in os.environ:  # a cluster's job keeps to what it has
        return False
    if words[:1] == ["infer"] and _model_key(words)["gpus"]:  # which no fork is to find half awake
        return False
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(address)
        except OSError:
            return False
        asked = json.dumps([words, str(Path.cwd()), dict(os.environ)]).encode()
        socket.send_fds(link, [len(asked).to_bytes(LENGTH_BYTES)], STREAMS)
        link.sendall(asked)
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the fork hears, too, and ends
        code = link.recv(1)
    if not code:
        os.kill(os.getpid(), signal.SIGKILL)  # as the fork was
    os._exit(code[0])


def _model_key(words: list[str], folder: Path = Path()) -> Any:
    return json.loads((folder / words[words.index("--key") + 1]).read_bytes())


# In the process that waits


class Fork(NamedTuple):
    link: socket.socket
    words: list[str]

    def run(self) -> None:
        """Run it to the end of this process, whose code is told when all that it has to say is said."""
        import atexit
        from threading import Thread

        from reprise.core.errors import run_command
        from reprise.stages.command import run

        code = 1
        atexit.register(lambda: self.link.sendall(bytes([code])))
        Thread(target=self._end_with_command, daemon=True).start()
        run_command(lambda: run(self.words))
        code = 0

    def _end_with_command(self) -> None:
        import signal

        with suppress(OSError):
            self.link.recv(1)
        os.kill(os.getpid(), signal.SIGTERM)


def wait_for_jobs(address: str, listening: socket.socket) -> Fork | None:
    """Fork for each job until Snakemake has ended; in a fork, its job."""
    import gc
    import signal
    import warnings
    from select import select

    gc.disable()  # a fork's job turns it on again; to search what is imported takes a fifth of an import's time
    # Libraries keep threads that do nothing yet: a fork needs none of them, and makes its own.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C Snakemake hears, and ends
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork
    while sys.stdin not in select([listening, sys.stdin], [], [])[0]:
        link, _ = listening.accept()
        try:
            length, streams, _, _ = socket.recv_fds(link, LENGTH_BYTES, len(STREAMS))
            with link.makefile("rb") as asked:
                words, folder, environment = json.loads(asked.read(int.from_bytes(length)))
        except (OSError, ValueError):  # of a command that has ended meanwhile
            link.close()
            continue
        _import_for(words, Path(folder))
        if os.fork() == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            for stream, given in zip(STREAMS, streams, strict=True):
                os.dup2(given, stream)
                os.close(given)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            return Fork(link, words)
        for given in (*streams, link.detach()):
            os.close(given)
    from shutil import rmtree

    rmtree(Path(address).parent)
    return None


def _import_for(words: list[str], folder: Path) -> None:
    from importlib import import_module

    from reprise.models.adapters import ADAPTERS

    with suppress(Exception):  # which the job meets again, and names
        for stage in words[0].split("+"):
            import_module(f"reprise.stages.{stage}")
        if words[0] == "infer":
            import_module(ADAPTERS[_model_key(words, folder)["answers"]["adapter"]].module)


if __name__ == "__main__":
    job = wait_for_jobs(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    if job is not None:
        job.run()
