"""Test the server of a job: its start, its failures, and the end of all its processes however the job ends."""

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

from tests.unit.models.serving.engines import (
    NAME,
    build_keys,
    have_ended,
    make_environment,
    make_server,
    read_process_ids,
)
from tests.unit.requests import NO_FRAMES, make_request, model_spec


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a clone with an environment for servers."""
    monkeypatch.chdir(tmp_path)
    make_environment(tmp_path, Store(tmp_path / "store"))
    return tmp_path


def test_a_server_answers_until_it_is_closed(root: Path) -> None:
    host = make_server(root, build_keys(root / "pids"))
    settings = host.start()
    assert settings["key"] == KEY_VARIABLE and httpx2.get(f"{settings['url']}/models").status_code == 401, (
        "only this job has the key"
    )
    adapter = OpenAIAdapter(model_spec(**settings, model=NAME, scores="logprob_token_ids", retries=0))
    (answer,) = adapter.answers(NO_FRAMES, [make_request("Is it so?", "score", ("Yes", "No"))])
    assert len(answer.scores) == 2 and not answer.error
    host.check_running(is_connection_lost=False)
    host.close()
    assert have_ended(read_process_ids(root / "pids")), "the end of the server also ends a worker that ignores signals"
    host.close()  # A second call does nothing.
    assert "ready" in (root / "logs" / "run.server.log").read_text()


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_with_a_job_that_is_killed_during_the_start(root: Path, signal_number: signal.Signals) -> None:
    """For a server that already answers, see tests/unit/stages/test_infer_servers.py."""
    host = make_server(root, build_keys(root / "pids", "sleeps"))
    job = multiprocessing.get_context("fork").Process(target=host.start)
    job.start()
    process_ids = read_process_ids(root / "pids")
    assert job.pid is not None
    os.kill(job.pid, signal_number)
    job.join(30)
    assert have_ended(process_ids)


@pytest.mark.parametrize(
    ("behaviour", "start_minutes", "message"),
    [
        ("traceback", 1, r"vllm does not start: ValueError: There is no module or parameter named 'vision_tower\.embeddings' in Llava"),
        ("fails", 1, r"vllm does not start: loading the weights / RuntimeError: the weights are not of this class / the "
                     r"server ended with code 1\. See .*run\.server\.log; correct `served_by`, `gpus` or the weights"),
        ("sleeps", 0.03, r"vllm does not answer as 'toy@1' after 0\.03 minutes: loading the weights\. See .*; if it needs longer, raise "
                         r"`served_by\.start_minutes`"),
        ("another", 0.03, r"vllm does not answer as 'toy@1' after 0\.03 minutes"),
    ],
)  # fmt: skip
def test_a_server_that_does_not_start_is_explained(
    root: Path, behaviour: str, start_minutes: float, message: str
) -> None:
    host = make_server(root, build_keys(root / "pids", behaviour, start_minutes))
    with pytest.raises(UserError, match=message):
        host.start()
    assert have_ended(read_process_ids(root / "pids"))


def test_a_lora_adapter_in_the_folder_of_weights_is_rejected(root: Path) -> None:
    host = make_server(root, build_keys(root / "pids"))
    (root / "weights" / "adapter_config.json").touch()
    with pytest.raises(UserError, match=r"weights/adapter_config\.json: LoRA adapters are not supported"):
        host.start()


def test_a_server_gets_no_secrets_and_no_python_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("HF_TOKEN", "hf-test-0123456789")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    environment = build_environment(build_keys(tmp_path / "pids")[0], "server key", tmp_path / "caches")
    assert not {"VENDOR_API_KEY", "HF_TOKEN", "PYTHONPATH"} & environment.keys()
    set_variables = ("VLLM_API_KEY", "HF_HUB_OFFLINE", "OMP_WAIT_POLICY")
    assert [environment[name] for name in set_variables] == ["server key", "1", "PASSIVE"]
    cache_variables = (
        "HOME",
        "XDG_CACHE_HOME",
        "HF_HOME",
        "VLLM_CACHE_ROOT",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
    )
    assert all(Path(environment[name]).parent == tmp_path / "caches" for name in cache_variables), (
        "caches are not in the home directory"
    )
