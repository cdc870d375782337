"""Test a server that stays loaded for the next job of one Snakemake and ends with this Snakemake."""

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
from reprise.models.inference.resident import LoadRequest, ResidentServer

from tests.unit.models.serving.engines import NAME, build_keys, have_ended, make_environment, read_process_ids
from tests.unit.stages.served_job import make_divided_key


@pytest.fixture
def load_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadRequest:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "store")
    make_environment(tmp_path, store)
    (tmp_path / "weights").mkdir()
    serving, hosting = build_keys(tmp_path / "pids")
    settings = {"url": "http://127.0.0.1/v1", "model": NAME}
    key = make_divided_key("openai", settings, serving, without=("url", "key"), hosting=hosting)
    return LoadRequest(key, store, 1, tmp_path / "weights", server_log=tmp_path / "run.server.log")


def check_answers(host: ResidentServer) -> str:
    """Start the server, check that it answers, and return its URL."""
    url = str(host.start()["url"])
    assert httpx2.get(f"{url}/models").status_code == 401
    host.check_running(is_connection_lost=False)
    return url


def test_a_server_serves_several_jobs_and_ends_with_their_snakemake(load_request: LoadRequest, tmp_path: Path) -> None:
    snakemake = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    owner = Owner(snakemake.pid, psutil.Process(snakemake.pid).create_time())
    urls = []
    for _ in range(2):
        host = ResidentServer(owner, load_request)
        urls.append(check_answers(host))
        host.close()
    process_ids = read_process_ids(tmp_path / "pids")
    assert urls[0] == urls[1] and len(process_ids) == 2, "the server and its worker, started once"
    os.kill(process_ids[0], signal.SIGKILL)
    assert have_ended(process_ids)
    time.sleep(1)  # the owner notices the end within this time
    host = ResidentServer(owner, load_request)
    assert check_answers(host) != urls[0], "a server that has ended is started again"
    for pid in read_process_ids(tmp_path / "pids"):
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(MachineError, match="vllm has ended"):
        host.check_running(is_connection_lost=True)
    host.close()
    host = ResidentServer(owner, load_request)
    check_answers(host)
    host.close()
    snakemake.kill()
    snakemake.wait()
    assert have_ended(read_process_ids(tmp_path / "pids"))
