"""A server that stays for the next job of one Snakemake, and is gone with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import psutil
import pytest
from reprise.core.errors import MachineError
from reprise.core.owner import Owner
from reprise.core.store import Store
from reprise.models.asking.kept import KeptHost, Opening

from tests.unit.models.serving.engines import NAME, are_gone, make_environment, processes, served_by
from tests.unit.stages.served_job import run_key


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opening:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "store")
    make_environment(tmp_path, store)
    (tmp_path / "weights").mkdir()
    serving, hosting = served_by(tmp_path / "pids")
    own = {"url": "http://127.0.0.1/v1", "model": NAME}
    key = run_key("openai", own, serving, without=("url", "key"), hosting=hosting)
    return Opening(key, store, 1, tmp_path / "weights", server_log=tmp_path / "run.server.log")


def is_answering(host: KeptHost) -> str:
    url = str(host.start()["url"])
    assert httpx2.get(f"{url}/models").status_code == 401
    host.check(is_lost=False)
    return url


def test_a_server_serves_several_jobs_and_ends_with_their_snakemake(opening: Opening, tmp_path: Path) -> None:
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    owner = Owner(sleeping.pid, psutil.Process(sleeping.pid).create_time())
    urls = []
    for _ in range(2):
        host = KeptHost(owner, opening)
        urls.append(is_answering(host))
        host.close()
    found = processes(tmp_path / "pids")
    assert urls[0] == urls[1] and len(found) == 2, "the server and its worker, started once"
    os.kill(found[0], signal.SIGKILL)
    assert are_gone(found)
    time.sleep(1)  # until that is seen
    host = KeptHost(owner, opening)
    assert is_answering(host) != urls[0], "one that has ended is started again"
    for pid in processes(tmp_path / "pids"):
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(MachineError, match="vllm has ended"):
        host.check(is_lost=True)
    host.close()
    host = KeptHost(owner, opening)
    is_answering(host)
    host.close()
    sleeping.kill()
    sleeping.wait()
    assert are_gone(processes(tmp_path / "pids"))
