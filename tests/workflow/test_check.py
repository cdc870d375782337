"""Test `reprise check` with a model that ignores frames, and with servers. `test_docs.py` checks an intact model."""

import json
import shutil
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from safetensors.torch import load_file, save_file

from tests.unit.models.chat_server import MODEL, ChatServer, ReceivedRequest, ServerReply, reply_by_frames
from tests.unit.models.fake_driver import FakeDriver, gpu
from tests.unit.models.serving.engines import ENVIRONMENT, FAKE_ENGINE, have_ended, make_environment, read_process_ids
from tests.workflow.conftest import ROOT, Project


def test_a_model_that_ignores_frames_fails(toy: Project) -> None:
    checkpoint = toy.root / "blind"
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", checkpoint)
    weights = load_file(checkpoint / "model.safetensors")
    for name, value in weights.items():
        if "multi_modal_projector.linear_2" in name:
            value.zero_()
    save_file(weights, checkpoint / "model.safetensors", {"format": "pt"})
    toy.edit("config/models/toy-llava-ov.yaml", "resources/demo/checkpoints/llava-ov-early", "blind")
    with pytest.raises(UserError, match="the model ignores the video"):
        toy.call_reprise("check", "toy-llava-ov", "--questions", "8")


SERVED = """
label: Served
adapter: openai
settings: {{url: "{url}", model: {model}, scores: logprob_token_ids{more}}}
"""
HOSTED = """
label: Hosted
adapter: openai
checkpoint: resources/demo/checkpoints/llava-ov-late
served_by: {{engine: vllm, environment: {environment}, variables: {{VLLM_PIDS: {pids}}}}}
gpus: 1
"""
# Tests whether another job could take the engine's GPU, then starts the engine.
LOCK_PROBE = '#!/bin/sh\nflock -n resources/store/locks/gpu-*.lock true || touch held\nexec "$@"\n'


def test_a_running_server_is_checked(toy: Project) -> None:
    with ChatServer(reply_by_frames) as server:
        toy.write("config/models/served.yaml", SERVED.format(url=server.url, model=MODEL, more=""))
        output = toy.call_reprise("check", "served", "--questions", "8")
        assert (
            "The answers of served change with its clips in velociti" in output
            and "frames received" in output
            and "main memory" not in output
        )
        toy.write("config/models/served.yaml", SERVED.format(url=server.url, model=MODEL, more=", key: OUR_API_KEY"))
        with pytest.raises(UserError, match="can be checked"):
            toy.call_reprise("check", "served")


def test_a_server_with_constant_token_counts_is_named_once_with_the_text_to_write(
    toy: Project, caplog: pytest.LogCaptureFixture
) -> None:
    usage = {"prompt_tokens": 99, "completion_tokens": 1, "total_tokens": 100}

    def reply(received: ReceivedRequest) -> ServerReply:
        body = json.loads(reply_by_frames(received).content)
        return ServerReply(body | {"usage": usage} if "usage" in body else body)

    file = "config/models/served.yaml"
    with ChatServer(reply) as server:
        toy.write(file, SERVED.format(url=server.url, model=MODEL, more=""))
        with pytest.raises(UserError, match="it drops frames") as caught:
            toy.call_reprise("check", "served", "--questions", "8")
        assert caplog.text.count("not_shown") == 1
        _, text = str(caught.value).split(f"Then {file} has this text; write it, and run the same command again:\n")
        toy.write(file, text)
        assert "The answers of served change" in toy.call_reprise("check", "served", "--questions", "8")


def test_the_check_starts_and_stops_the_server_of_a_job(
    toy: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reserves the GPU until it ends."""
    pids, probe = toy.root / "pids", tmp_path / "look"
    FakeDriver(tmp_path, monkeypatch).report(gpu(0))
    probe.write_text(LOCK_PROBE)
    probe.chmod(0o755)
    make_environment(toy.root, Store(toy.root / "resources/store"), f"{probe} {FAKE_ENGINE}")
    hosted = HOSTED.format(environment=ENVIRONMENT, pids=pids)
    toy.write("config/models/hosted.yaml", hosted)
    with pytest.raises(
        UserError, match=r"settings\.frames: missing.* take a video: write `settings: \{frames: video\}`"
    ):
        toy.call_reprise("check", "hosted")
    toy.write("config/models/hosted.yaml", f"{hosted}settings: {{frames: images}}\n")
    assert "The answers of hosted change with its clips in velociti" in toy.call_reprise(
        "check", "hosted", "--questions", "8"
    )
    assert have_ended(read_process_ids(pids)) and (toy.root / "held").exists()
    assert "ready" in next(toy.root.glob("results/*/logs/check/hosted.server.log")).read_text()
