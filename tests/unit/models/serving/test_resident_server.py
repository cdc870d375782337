"""A server that keeps running for the next job of one Snakemake, and ends with it."""

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
from reprise.models.inference.resident import LoadRequest, ResidentHost

from tests.unit.models.serving.engines import NAME, have_ended, make_environment, processes, served_by
from tests.unit.stages.served_job import run_key


@pytest.fixture
def load_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadRequest:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "store")
    make_environment(tmp_path, store)
    (tmp_path / "weights").mkdir()
    serving, hosting = served_by(tmp_path / "pids")
    own = {"url": "http://127.0.0.1/v1", "model": NAME}
    key = run_key("openai", own, serving, without=("url", "key"), hosting=hosting)
    return LoadRequest(key, store, 1, tmp_path / "weights", server_log=tmp_path / "run.server.log")


def is_answering(host: ResidentHost) -> str:
    url = str(host.start()["url"])
    assert httpx2.get(f"{url}/models").status_code == 401
    host.check(is_connection_lost=False)
    return url


def test_a_server_serves_several_jobs_and_ends_with_their_snakemake(load_request: LoadRequest, tmp_path: Path) -> None:
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    owner = Owner(sleeping.pid, psutil.Process(sleeping.pid).create_time())
    urls = []
    for _ in range(2):
        host = ResidentHost(owner, load_request)
        urls.append(is_answering(host))
        host.close()
    found = processes(tmp_path / "pids")
    assert urls[0] == urls[1] and len(found) == 2, "the server and its worker, started once"
    os.kill(found[0], signal.SIGKILL)
    assert have_ended(found)
    time.sleep(1)  # until that is seen
    host = ResidentHost(owner, load_request)
    assert is_answering(host) != urls[0], "a server that has ended is started again"
    for pid in processes(tmp_path / "pids"):
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(MachineError, match="vllm has ended"):
        host.check(is_connection_lost=True)
    host.close()
    host = ResidentHost(owner, load_request)
    is_answering(host)
    host.close()
    sleeping.kill()
    sleeping.wait()
    assert have_ended(processes(tmp_path / "pids"))
