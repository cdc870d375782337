"""The server of a job: its start, its failures, and the end of all its processes however the job ends."""

import multiprocessing
import os
import signal
from pathlib import Path

import httpx2
import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.remote.serving.host import KEY_VARIABLE
from reprise.models.remote.serving.settings import build_environment

from tests.unit.models.serving.engines import NAME, have_ended, host_in, make_environment, processes, served_by
from tests.unit.requests import BLIND, request, spec


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a clone with an environment for servers."""
    monkeypatch.chdir(tmp_path)
    make_environment(tmp_path, Store(tmp_path / "store"))
    return tmp_path


def test_a_server_answers_and_is_gone_when_it_is_closed(root: Path) -> None:
    host = host_in(root, served_by(root / "pids"))
    found = host.start()
    assert found["key"] == KEY_VARIABLE and httpx2.get(f"{found['url']}/models").status_code == 401, (
        "for this job alone"
    )
    adapter = OpenAIAdapter(spec(**found, model=NAME, scores="logprob_token_ids", retries=0))
    (answer,) = adapter.answers(BLIND, [request("Is it so?", "score", ("Yes", "No"))])
    assert len(answer.scores) == 2 and not answer.error
    host.check(is_connection_lost=False)
    host.close()
    assert have_ended(processes(root / "pids")), "a worker that ignores signals is ended too"
    host.close()
    assert "ready" in (root / "logs" / "run.server.log").read_text()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_is_left_when_the_job_is_killed_while_it_starts(root: Path, end: signal.Signals) -> None:
    """For a server that already answers, see tests/unit/stages/test_infer_servers.py."""
    host = host_in(root, served_by(root / "pids", "sleeps"))
    job = multiprocessing.get_context("fork").Process(target=host.start)
    job.start()
    found = processes(root / "pids")
    assert job.pid is not None
    os.kill(job.pid, end)
    job.join(30)
    assert have_ended(found)


@pytest.mark.parametrize(
    ("how", "minutes", "message"),
    [
        ("traceback", 1, r"vllm does not start: ValueError: There is no module or parameter named 'vision_tower\.embeddings' in Llava"),
        ("fails", 1, r"vllm does not start: loading the weights / RuntimeError: the weights are not of this class / the "
                     r"server ended with code 1\. See .*run\.server\.log; correct `served_by`, `gpus` or the weights"),
        ("sleeps", 0.03, r"vllm does not answer as .toy@1. after 0\.03 minutes: loading the weights\. See .*; if it needs longer, raise "
                         r"`served_by\.start_minutes`"),
        ("another", 0.03, r"vllm does not answer as 'toy@1' after 0\.03 minutes"),
    ],
)  # fmt: skip
def test_a_server_that_does_not_start_is_explained(root: Path, how: str, minutes: float, message: str) -> None:
    host = host_in(root, served_by(root / "pids", how, minutes))
    with pytest.raises(UserError, match=message):
        host.start()
    assert have_ended(processes(root / "pids"))


def test_an_adapter_beside_the_weights_is_refused(root: Path) -> None:
    host = host_in(root, served_by(root / "pids"))
    (root / "weights" / "adapter_config.json").touch()
    with pytest.raises(UserError, match=r"weights/adapter_config\.json: LoRA adapters are not supported"):
        host.start()


def test_no_secret_and_no_path_of_python_reaches_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("HF_TOKEN", "hf-test-0123456789")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    passed = build_environment(served_by(tmp_path / "pids")[0], "its own", tmp_path / "caches")
    assert not {"VENDOR_API_KEY", "HF_TOKEN", "PYTHONPATH"} & passed.keys()
    told = ("VLLM_API_KEY", "HF_HUB_OFFLINE", "OMP_WAIT_POLICY")
    assert [passed[name] for name in told] == ["its own", "1", "PASSIVE"]
    places = ("HOME", "XDG_CACHE_HOME", "HF_HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    assert all(Path(passed[name]).parent == tmp_path / "caches" for name in places), "not in the home directory"
