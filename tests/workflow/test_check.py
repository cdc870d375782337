"""`reprise check` in a finished copy: a checkpoint whose pictures are wiped out, servers; `test_docs.py` has one that sees."""

import shutil
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from safetensors.torch import load_file, save_file

from tests.unit.models.chat_server import MODEL, ChatServer, reply_by_frames
from tests.unit.models.fake_driver import FakeDriver, gpu
from tests.unit.models.serving.engines import ENVIRONMENT, STAND_IN, have_ended, make_environment, processes
from tests.workflow.conftest import ROOT, Project


def test_a_model_that_is_blind(toy: Project) -> None:
    blind = toy.root / "blind"
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", blind)
    weights = load_file(blind / "model.safetensors")
    for name, value in weights.items():
        if "multi_modal_projector.linear_2" in name:
            value.zero_()
    save_file(weights, blind / "model.safetensors", {"format": "pt"})
    toy.edit("config/models/toy-llava-ov.yaml", "resources/demo/checkpoints/llava-ov-early", "blind")
    with pytest.raises(UserError, match="the model ignores the video"):
        toy.called("check", "toy-llava-ov", "--questions", "8")


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
# Starts the engine after a look whether another job could take its GPU.
LOOK = '#!/bin/sh\nflock -n resources/store/locks/gpu-*.lock true || touch held\nexec "$@"\n'


def test_a_server_of_one_s_own_that_runs_is_checked(toy: Project) -> None:
    with ChatServer(reply_by_frames) as server:
        toy.write("config/models/served.yaml", SERVED.format(url=server.url, model=MODEL, more=""))
        said = toy.called("check", "served", "--questions", "8")
        assert "served uses its clips." in said and "frames received" in said and "main memory" not in said
        toy.write("config/models/served.yaml", SERVED.format(url=server.url, model=MODEL, more=", key: OUR_API_KEY"))
        with pytest.raises(UserError, match="can be checked"):
            toy.called("check", "served")


def test_the_server_that_a_job_would_start_is_started_and_ended(
    toy: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU that stays the check's own until the end."""
    pids, look = toy.root / "pids", tmp_path / "look"
    FakeDriver(tmp_path, monkeypatch).report(gpu(0))
    look.write_text(LOOK)
    look.chmod(0o755)
    make_environment(toy.root, Store(toy.root / "resources/store"), f"{look} {STAND_IN}")
    hosted = HOSTED.format(environment=ENVIRONMENT, pids=pids)
    toy.write("config/models/hosted.yaml", hosted)
    with pytest.raises(
        UserError, match=r"settings\.frames: missing.* take a video: write `settings: \{frames: video\}`"
    ):
        toy.called("check", "hosted")
    toy.write("config/models/hosted.yaml", f"{hosted}settings: {{frames: images}}\n")
    assert "hosted uses its clips." in toy.called("check", "hosted", "--questions", "8")
    assert have_ended(processes(pids)) and (toy.root / "held").exists()
    assert "ready" in next(toy.root.glob("results/*/logs/check/hosted.server.log")).read_text()
