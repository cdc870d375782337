"""The model runners of resources/runners/ beside what their authors' code does with the same frames and tiny random weights.

They run on the CPU in the environments of that code, which are kept for the next run.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from reprise.core.store import Store
from reprise.media.decoder import read_frames
from reprise.models.base import Answer, ClipFrames
from reprise.models.inference.money.prices import NO_BUDGET, Account
from reprise.models.local import torchvision_operators
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.remote.serving.environment import install_environment
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import ServerSettings, build_launch_settings, build_serving_key

from tests.unit.requests import BLIND, request, shown, spec
from tests.unit.videos import RATE, SIZE, barcode_video

ROOT, HERE = Path(__file__).parents[2], Path(__file__).parent
NAME, FRAMES = "toy@1", 48
# Pins of packages that torch needs only on GPUs.
ON_GPUS = re.compile(r"^(nvidia|cuda|triton)[a-z0-9-]*==.*\n", re.MULTILINE)
# Makes the small replacements of the authors' large parts importable in a model runner.
FINDS_TESTS = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"
QUESTIONS = ["Does the circle move? Yes or No.", "What moves?"]
FIVE, EIGHT = (0, 11, 23, 35, 47), (0, 6, 12, 18, 24, 30, 36, 47)


class Case(NamedTuple):
    """How a model runner is tested."""

    environment: str
    scores: str | None = "logprob_token_ids"
    frames: tuple[int, ...] = FIVE
    is_shrunk: bool = False
    """whether the sizes in its authors' code must be reduced first"""
    needs_frames: bool = False
    """whether it requires frames"""
    side: int = SIZE
    """side of a frame, if the authors' code accepts only one size"""
    runner: str = ""
    """its name, if it is not that of the case"""


CASES = {
    "chat_univi": Case("authors-4.31", is_shrunk=True),
    "imagebind": Case("authors-4.31", "similarity", EIGHT, is_shrunk=True),
    "languagebind": Case("authors-4.31", "similarity", EIGHT),
    "llama_vid": Case("authors-4.31", is_shrunk=True, needs_frames=True),
    "llava_video": Case("authors-4.40", is_shrunk=True),
    "ma_lmm": Case("authors-4.31", None, is_shrunk=True, needs_frames=True),
    "minigpt4_video": Case("authors-4.36", is_shrunk=True, needs_frames=True),
    "mplug_owl2": Case("authors-4.31"),
    "older": Case("older", needs_frames=True),
    "owl_con": Case("authors-4.31", side=224),
    "pllava": Case("authors-4.40"),
    "sharegpt4video": Case("authors-sharegpt4video"),
    "video_chatgpt": Case("authors-4.31", None, is_shrunk=True, needs_frames=True),
    "videollama2": Case("authors-4.40", is_shrunk=True),
    "videochat2": Case("authors-4.36", is_shrunk=True),
    "videoclip": Case("authors-4.31", "similarity", tuple(range(30)), side=224),
    "vila": Case("authors-4.36", is_shrunk=True),
    "vila_40b": Case("authors-4.36", is_shrunk=True, runner="vila"),
    "vtimellm": Case("authors-4.31"),
}


def _file_of(name: str) -> Path:
    """Return a file of the project, or the local one for a class that transformers lacks."""
    own = {"envs/older.txt": "older.txt", "resources/runners/older.py": "older_theirs.py"}
    return HERE / own[name] if name in own else ROOT / name


class Environments:
    """The environments of `envs/`, without the packages that only GPUs need."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(ROOT / ".cache" / "runners")
        (folder / "envs").mkdir()

    def python(self, name: str) -> str:
        """Return the Python of an environment; install it first if it is missing."""
        pins = f"envs/{name}.txt"
        (self.folder / pins).write_text(ON_GPUS.sub("", _file_of(pins).read_text()))
        folder = install_environment(name, self.store)
        (packages,) = (folder / "lib").glob("python*/site-packages")
        shutil.copy(torchvision_operators.__file__, packages)  # as `make setup` does
        (packages / "operators.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
        return str(folder / "bin" / "python")

    def run(self, name: str, script: str, *words: object) -> str:
        """Return the last line of the output of an authors' script in an environment."""
        command = [self.python(name), "-u", str(HERE / "theirs.py"), script, *map(str, words)]
        given = {one: value for one, value in os.environ.items() if one != "PYTHONPATH"}
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=given | offline)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    @contextmanager
    def serving(self, name: str, text: str, weights: Path, scores: str | None) -> Iterator[OpenAIAdapter]:
        """Yield the adapter of a model runner with this source."""
        self.python(name)
        (self.folder / "own.py").write_text(text)
        served = ServerSettings(engine="runner", runner="own.py", environment=name, start_minutes=10)
        own = {"dtype": "float32", "trust_remote_code": False, "is_video": True, "scores": scores}
        serving = build_serving_key(served, "0" * 64, **own)
        log = self.folder / "own.server.log"
        host = ServerProcess(
            serving, build_launch_settings(served, gpus=0), weights=weights, name=NAME, store=self.store, log_file=log
        )
        settings = {"model": NAME, "frames": "video", "check_frames": False, "scores": scores}
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


def answered(adapter: OpenAIAdapter, clip: ClipFrames, ask: str, options: Sequence[str] = ()) -> list[Answer]:
    found = list(adapter.answers(clip, [request(one, ask, tuple(options), max_tokens=12) for one in QUESTIONS]))
    assert [(one.error, one.message) for one in found] == [("", "")] * len(QUESTIONS)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_runner_gives_the_answers_of_its_authors_code(name: str, environments: Environments, tmp_path: Path) -> None:
    case, weights = CASES[name], tmp_path / "weights"
    clip = shown(barcode_video(tmp_path / "v.mp4", FRAMES, width=case.side, height=case.side), case.frames)
    assert clip.path is not None
    np.save(tmp_path / "frames.npy", np.ascontiguousarray(read_frames(clip.path, clip.indices)))
    asked = {"frames": str(tmp_path / "frames.npy"), "indices": clip.indices, "total": FRAMES, "fps": RATE}
    (tmp_path / "asked.json").write_text(json.dumps(asked | {"questions": QUESTIONS}))
    environments.run(case.environment, f"{name}_theirs", "make", weights)
    theirs = json.loads(environments.run(case.environment, f"{name}_theirs", "ask", weights, tmp_path / "asked.json"))
    program = _file_of(f"resources/runners/{case.runner or name}.py").read_text()
    text = FINDS_TESTS + (f"import {name}_theirs\n" if case.is_shrunk else "") + program
    with environments.serving(case.environment, text, weights, case.scores) as adapter:
        if case.scores == "similarity":
            found = answered(adapter, clip, "similarity")
            assert [one.scores[0] for one in found] == pytest.approx(theirs, abs=1e-6)
            return
        written = answered(adapter, clip, "write")
        said = [one["text"].strip() for one in theirs if "text" in one]  # some authors only compare probabilities
        assert [one.text.strip() for one in written][: len(said)] == said
        if case.scores is not None:
            found = answered(adapter, clip, "score", ("Yes", "No"))
            for mine, its in zip(found, theirs, strict=True):
                assert mine.scores == pytest.approx(its["scores"], rel=1e-6)
            blind = [] if case.needs_frames else answered(adapter, BLIND, "score", ("Yes", "No"))
            heard = found[:1] if name == "older" else found  # it ignores the question
            assert len({one.scores for one in [*found, *blind]}) == len(heard) + len(blind), "both matter"
