"""The programs of resources/programs/ beside what their authors' code does with the same frames and tiny random weights.

They run in the environments of that code, on the processor, which are kept for the next time.
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
from reprise.models.asking.money.prices import NO_BUDGET, Account
from reprise.models.base import Answer, Clip
from reprise.models.local import torchvision_operators
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.remote.serving.environment import build
from reprise.models.remote.serving.host import Host
from reprise.models.remote.serving.settings import ServedBy, hosting_of, serving_of

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.videos import RATE, SIZE, barcode_video

ROOT, HERE = Path(__file__).parents[2], Path(__file__).parent
NAME, FRAMES = "toy@1", 48
# Of a file of pins: what torch needs on GPUs alone.
ON_GPUS = re.compile(r"^(nvidia|cuda|triton)[a-z0-9-]*==.*\n", re.MULTILINE)
# How a program finds the small parts that a test puts in place of the authors' large ones.
FINDS_TESTS = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"
QUESTIONS = ["Does the circle move? Yes or No.", "What moves?"]
FIVE, EIGHT = (0, 11, 23, 35, 47), (0, 6, 12, 18, 24, 30, 36, 47)


class Case(NamedTuple):
    """How a program is tried."""

    environment: str
    scores: str | None = "logprob_token_ids"
    frames: tuple[int, ...] = FIVE
    is_shrunk: bool = False
    """whether its authors' code has sizes of its own, which are made small first"""
    is_seeing: bool = False
    """whether it is asked about frames alone"""
    side: int = SIZE
    """of a frame, where its authors' code takes one size alone"""
    program: str = ""
    """its name, where it is not the case's"""


CASES = {
    "chat_univi": Case("authors-4.31", is_shrunk=True),
    "imagebind": Case("authors-4.31", "similarity", EIGHT, is_shrunk=True),
    "languagebind": Case("authors-4.31", "similarity", EIGHT),
    "llama_vid": Case("authors-4.31", is_shrunk=True, is_seeing=True),
    "llava_video": Case("authors-4.40", is_shrunk=True),
    "ma_lmm": Case("authors-4.31", None, is_shrunk=True, is_seeing=True),
    "minigpt4_video": Case("authors-4.36", is_shrunk=True, is_seeing=True),
    "mplug_owl2": Case("authors-4.31"),
    "older": Case("older", is_seeing=True),
    "owl_con": Case("authors-4.31", side=224),
    "pllava": Case("authors-4.40"),
    "sharegpt4video": Case("authors-sharegpt4video"),
    "video_chatgpt": Case("authors-4.31", None, is_shrunk=True, is_seeing=True),
    "videollama2": Case("authors-4.40", is_shrunk=True),
    "videochat2": Case("authors-4.36", is_shrunk=True),
    "videoclip": Case("authors-4.31", "similarity", tuple(range(30)), side=224),
    "vila": Case("authors-4.36", is_shrunk=True),
    "vila_40b": Case("authors-4.36", is_shrunk=True, program="vila"),
    "vtimellm": Case("authors-4.31"),
}


def _file_of(name: str) -> Path:
    """A file of the project, or the one here for a class that transformers has no more."""
    own = {"envs/older.txt": "older.txt", "resources/programs/older.py": "older_theirs.py"}
    return HERE / own[name] if name in own else ROOT / name


class Environments:
    """The environments of `envs/`, as far as a processor needs them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(ROOT / ".cache" / "programs")
        (folder / "envs").mkdir()

    def python(self, name: str) -> str:
        """The Python of an environment, which is made where it is not there."""
        pins = f"envs/{name}.txt"
        (self.folder / pins).write_text(ON_GPUS.sub("", _file_of(pins).read_text()))
        folder = build(name, self.store)
        (packages,) = (folder / "lib").glob("python*/site-packages")
        shutil.copy(torchvision_operators.__file__, packages)  # as `make setup` does
        (packages / "operators.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
        return str(folder / "bin" / "python")

    def run(self, name: str, script: str, *words: object) -> str:
        """What the authors' script says in an environment."""
        command = [self.python(name), "-u", str(HERE / "theirs.py"), script, *map(str, words)]
        given = {one: value for one, value in os.environ.items() if one != "PYTHONPATH"}
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=given | offline)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    @contextmanager
    def serving(self, name: str, text: str, weights: Path, scores: str | None) -> Iterator[OpenAIAdapter]:
        """The adapter of a program of this text."""
        self.python(name)
        (self.folder / "own.py").write_text(text)
        served = ServedBy(engine="program", program="own.py", environment=name, start_minutes=10)
        own = {"dtype": "float32", "trust_remote_code": False, "is_video": True, "scores": scores}
        serving = serving_of(served, "0" * 64, **own)
        log = self.folder / "own.server.log"
        host = Host(serving, hosting_of(served, gpus=0), weights=weights, name=NAME, store=self.store, log_file=log)
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


def answered(adapter: OpenAIAdapter, clip: Clip, ask: str, options: Sequence[str] = ()) -> list[Answer]:
    found = list(adapter.answers(clip, [request(one, ask, tuple(options), max_tokens=12) for one in QUESTIONS]))
    assert [(one.error, one.message) for one in found] == [("", "")] * len(QUESTIONS)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_program_says_what_its_authors_code_says(name: str, environments: Environments, tmp_path: Path) -> None:
    case, weights = CASES[name], tmp_path / "weights"
    clip = shown(barcode_video(tmp_path / "v.mp4", FRAMES, width=case.side, height=case.side), case.frames)
    assert clip.path is not None
    np.save(tmp_path / "frames.npy", np.ascontiguousarray(read_frames(clip.path, clip.indices)))
    asked = {"frames": str(tmp_path / "frames.npy"), "indices": clip.indices, "total": FRAMES, "fps": RATE}
    (tmp_path / "asked.json").write_text(json.dumps(asked | {"questions": QUESTIONS}))
    environments.run(case.environment, f"{name}_theirs", "make", weights)
    theirs = json.loads(environments.run(case.environment, f"{name}_theirs", "ask", weights, tmp_path / "asked.json"))
    program = _file_of(f"resources/programs/{case.program or name}.py").read_text()
    text = FINDS_TESTS + (f"import {name}_theirs\n" if case.is_shrunk else "") + program
    with environments.serving(case.environment, text, weights, case.scores) as adapter:
        if case.scores == "similarity":
            found = answered(adapter, clip, "similarity")
            assert [one.scores[0] for one in found] == pytest.approx(theirs, abs=1e-6)
            return
        written = answered(adapter, clip, "write")
        said = [one["text"].strip() for one in theirs if "text" in one]  # one of them compares probabilities alone
        assert [one.text.strip() for one in written][: len(said)] == said
        if case.scores is not None:
            found = answered(adapter, clip, "score", ("Yes", "No"))
            for mine, its in zip(found, theirs, strict=True):
                assert mine.scores == pytest.approx(its["scores"], rel=1e-6)
            blind = [] if case.is_seeing else answered(adapter, BLIND, "score", ("Yes", "No"))
            heard = found[:1] if name == "older" else found  # it takes no notice of the question
            assert len({one.scores for one in [*found, *blind]}) == len(heard) + len(blind), "both matter"
