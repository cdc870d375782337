"""Run `python -m` in a fork of a process with Snakemake's imports, which take half of its start time.

The process imports nothing of the project. A child imports it from the copy in which it runs.
"""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

LONGEST_S = 600
LIBRARIES = (
    *("polars", "pydantic", "rapidfuzz", "rich.live", "smart_open", "yte"),
    *("snakemake.cli", "snakemake.report.html_reporter", "snakemake.storage"),
)


@cache
def _fork_server() -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_module(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a module to its end and return the completed process."""
    process = _fork_server()
    assert process.stdin is not None and process.stdout is not None
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        order = [list(arguments), str(folder), dict(environment), out.name, err.name]
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return subprocess.CompletedProcess(arguments, int(process.stdout.readline()), out.read(), err.read())


def _run_order(order: str) -> None:
    """Run the module of an order in this process."""
    (module, *rest), folder, environment, out, err = json.loads(order)
    for number, name in enumerate((os.devnull, out, err)):
        os.dup2(os.open(name, os.O_RDWR), number)
    signal.alarm(LONGEST_S)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:1] = [folder, *environment["PYTHONPATH"].split(os.pathsep)]
    sys.argv = [module, *rest]
    sys.dont_write_bytecode = bool(environment["PYTHONDONTWRITEBYTECODE"])
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _serve() -> None:
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()  # The garbage collector of a child must not scan the imported modules.
    replies = os.dup(1)
    for order in sys.stdin:
        child = os.fork()
        if child == 0:
            os.close(replies)
            _run_order(order)
            break
        os.write(replies, f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())


if __name__ == "__main__":
    _serve()
