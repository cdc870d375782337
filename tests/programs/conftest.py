"""Programs of the papers' models in the environments of their authors' code, on the processor, kept for the next time."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reprise.core.store import Store
from reprise.media.decoder import read_frames
from reprise.models.asking.money.prices import NO_BUDGET, Account
from reprise.models.base import Answer, Clip, Request
from reprise.models.local import torchvision_operators
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.remote.serving.environment import build
from reprise.models.remote.serving.host import Host
from reprise.models.remote.serving.settings import ServedBy, hosting_of, serving_of

from tests.unit.asked import shown, spec
from tests.unit.videos import RATE, barcode_video

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NAME, FRAMES, INDICES = "toy@1", 48, (0, 11, 23, 35, 47)
# Of a file of pins: what torch needs on GPUs alone.
ON_GPUS = re.compile(r"^(nvidia|cuda|triton)[a-z0-9-]*==.*\n", re.MULTILINE)
# How a program finds the small parts that a test puts in place of the authors' large ones.
FINDS_TESTS = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"


class Environments:
    """The environments of `envs/`, as far as a processor needs them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(ROOT / ".cache" / "programs")
        (folder / "envs").mkdir()

    def python(self, name: str) -> str:
        """The Python of an environment, which is made where it is not there."""
        own = HERE / f"{name}.txt"
        pins = (own if own.is_file() else ROOT / "envs" / own.name).read_text()
        (self.folder / "envs" / own.name).write_text(ON_GPUS.sub("", pins))
        folder = build(name, self.store)
        (packages,) = (folder / "lib").glob("python*/site-packages")
        shutil.copy(torchvision_operators.__file__, packages)  # as `make setup` does
        (packages / "operators.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
        return str(folder / "bin" / "python")

    def run(self, name: str, script: str, *words: object) -> str:
        """What a script of this folder says in an environment."""
        command = [self.python(name), "-u", str(HERE / script), *map(str, words)]
        given = {one: value for one, value in os.environ.items() if one != "PYTHONPATH"}
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=given | offline)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    @contextmanager
    def serving(self, name: str, text: str, weights: Path, **how: Any) -> Iterator[OpenAIAdapter]:
        """The adapter of a program of this text."""
        self.python(name)
        (self.folder / "own.py").write_text(text)
        scores = how.setdefault("scores", "logprob_token_ids")
        served = ServedBy(engine="program", program="own.py", environment=name, start_minutes=10)
        own = {"dtype": "float32", "gpus": 0, "trust_remote_code": False, "is_video": True, "scores": scores}
        serving = serving_of(served, "0" * 64, **own)
        log = self.folder / "own.server.log"
        host = Host(serving, hosting_of(served), weights=weights, name=NAME, store=self.store, log_file=log)
        settings = {"model": NAME, "frames": "video", "check_frames": False, **how}
        try:
            asking = spec(**settings, concurrency=2, retries=0, timeout_s=1200, **host.start())
            account = Account(self.folder, "toy", None, NO_BUDGET, is_paid=False)
            yield OpenAIAdapter(replace(asking, account=account))
        finally:
            host.close()


@pytest.fixture
def environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environments:
    monkeypatch.chdir(tmp_path)
    return Environments(tmp_path)


@pytest.fixture
def clip(tmp_path: Path) -> Clip:
    return shown(barcode_video(tmp_path / "v.mp4", FRAMES), INDICES)


def as_asked(clip: Clip, questions: list[str], folder: Path) -> Path:
    """The frames of a clip and questions about it, as the authors' loops of these tests read them."""
    assert clip.path is not None
    np.save(folder / "frames.npy", np.ascontiguousarray(read_frames(clip.path, clip.indices)))
    asked = {"frames": str(folder / "frames.npy"), "indices": clip.indices, "total": FRAMES, "fps": RATE}
    (folder / "asked.json").write_text(json.dumps(asked | {"questions": questions}))
    return folder / "asked.json"


def shipped(name: str, before: str = "") -> str:
    """The text of a program of `resources/programs/`."""
    return FINDS_TESTS + before + (ROOT / "resources" / "programs" / f"{name}.py").read_text()


def answered(adapter: OpenAIAdapter, clip: Clip, requests: list[Request]) -> list[Answer]:
    found = list(adapter.answers(clip, requests))
    assert [(one.error, one.message) for one in found] == [("", "")] * len(requests)
    return found
