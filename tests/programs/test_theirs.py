"""Compare the model runners of resources/runners/ with their authors' code, on the same frames and tiny random weights.

Both run on the CPU in the environments of the authors' code, which are kept for the next test run.
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

from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec
from tests.unit.videos import RATE, SIZE, barcode_video

ROOT, HERE = Path(__file__).parents[2], Path(__file__).parent
NAME, FRAMES = "toy@1", 48
# Pins of packages that torch needs only on GPUs.
GPU_PINS = re.compile(r"^(nvidia|cuda|triton)[a-z0-9-]*==.*\n", re.MULTILINE)
# Lets a model runner import the small replacements of the authors' large parts.
IMPORT_PATH = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"
QUESTIONS = ["Does the circle move? Yes or No.", "What moves?"]
FIVE_FRAMES, EIGHT_FRAMES = (0, 11, 23, 35, 47), (0, 6, 12, 18, 24, 30, 36, 47)


class Case(NamedTuple):
    """How a model runner is tested."""

    environment: str
    scores: str | None = "logprob_token_ids"
    frames: tuple[int, ...] = FIVE_FRAMES
    is_shrunk: bool = False
    """whether the sizes in its authors' code must be reduced first"""
    needs_frames: bool = False
    """whether it requires frames"""
    side: int = SIZE
    """side of a frame, if the authors' code accepts only one size"""
    runner: str = ""
    """name of the runner, if it differs from that of the case"""


CASES = {
    "chat_univi": Case("authors-4.31", is_shrunk=True),
    "imagebind": Case("authors-4.31", "similarity", EIGHT_FRAMES, is_shrunk=True),
    "languagebind": Case("authors-4.31", "similarity", EIGHT_FRAMES),
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


def _project_file(name: str) -> Path:
    """Return a file of the project, or the test file for a class that transformers lacks."""
    local_files = {"envs/older.txt": "older.txt", "resources/runners/older.py": "older_theirs.py"}
    return HERE / local_files[name] if name in local_files else ROOT / name


class Environments:
    """The environments of `envs/`, without the packages that only GPUs need."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(ROOT / ".cache" / "runners")
        (folder / "envs").mkdir()

    def python(self, name: str) -> str:
        """Return the Python of an environment; install it first if it is missing."""
        pins = f"envs/{name}.txt"
        (self.folder / pins).write_text(GPU_PINS.sub("", _project_file(pins).read_text()))
        folder = install_environment(name, self.store)
        (packages,) = (folder / "lib").glob("python*/site-packages")
        shutil.copy(torchvision_operators.__file__, packages)  # as `make setup` does
        (packages / "operators.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
        return str(folder / "bin" / "python")

    def run(self, name: str, script: str, *arguments: object) -> str:
        """Return the last line of the output of an authors' script in an environment."""
        command = [self.python(name), "-u", str(HERE / "theirs.py"), script, *map(str, arguments)]
        environment = {variable: value for variable, value in os.environ.items() if variable != "PYTHONPATH"}
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        process = subprocess.run(command, capture_output=True, text=True, env=environment | offline)
        assert process.returncode == 0, process.stderr[-3000:]
        return process.stdout.strip().splitlines()[-1] if process.stdout.strip() else ""

    @contextmanager
    def serving(self, name: str, text: str, weights: Path, scores: str | None) -> Iterator[OpenAIAdapter]:
        """Yield the adapter of a model runner with this source."""
        self.python(name)
        (self.folder / "own.py").write_text(text)
        server_settings = ServerSettings(engine="runner", runner="own.py", environment=name, start_minutes=10)
        key_options = {"dtype": "float32", "trust_remote_code": False, "is_video": True, "scores": scores}
        serving = build_serving_key(server_settings, "0" * 64, **key_options)
        log = self.folder / "own.server.log"
        host = ServerProcess(
            serving,
            build_launch_settings(server_settings, gpus=0),
            weights_folder=weights,
            model_name=NAME,
            store=self.store,
            log_file=log,
        )
        settings = {"model": NAME, "frames": "video", "check_frames": False, "scores": scores}
        try:
            spec = model_spec(**settings, concurrency=2, retries=0, timeout_s=1200, **host.start())
            account = Account(self.folder, "toy", None, NO_BUDGET, is_paid=False)
            yield OpenAIAdapter(replace(spec, account=account))
        finally:
            host.close()


@pytest.fixture
def environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environments:
    monkeypatch.chdir(tmp_path)
    return Environments(tmp_path)


def answer_all(adapter: OpenAIAdapter, clip: ClipFrames, ask: str, options: Sequence[str] = ()) -> list[Answer]:
    answers = list(
        adapter.answers(clip, [make_request(question, ask, tuple(options), max_tokens=12) for question in QUESTIONS])
    )
    assert [(answer.error, answer.message) for answer in answers] == [("", "")] * len(QUESTIONS)
    return answers


@pytest.mark.parametrize("name", CASES)
def test_a_runner_gives_the_answers_of_its_authors_code(name: str, environments: Environments, tmp_path: Path) -> None:
    case, weights = CASES[name], tmp_path / "weights"
    clip = clip_frames(barcode_video(tmp_path / "v.mp4", FRAMES, width=case.side, height=case.side), case.frames)
    assert clip.path is not None
    np.save(tmp_path / "frames.npy", np.ascontiguousarray(read_frames(clip.path, clip.indices)))
    query = {"frames": str(tmp_path / "frames.npy"), "indices": clip.indices, "total": FRAMES, "fps": RATE}
    (tmp_path / "asked.json").write_text(json.dumps(query | {"questions": QUESTIONS}))
    environments.run(case.environment, f"{name}_theirs", "make", weights)
    authors_answers = json.loads(
        environments.run(case.environment, f"{name}_theirs", "ask", weights, tmp_path / "asked.json")
    )
    runner_code = _project_file(f"resources/runners/{case.runner or name}.py").read_text()
    text = IMPORT_PATH + (f"import {name}_theirs\n" if case.is_shrunk else "") + runner_code
    with environments.serving(case.environment, text, weights, case.scores) as adapter:
        if case.scores == "similarity":
            answers = answer_all(adapter, clip, "similarity")
            assert [one.scores[0] for one in answers] == pytest.approx(authors_answers, abs=1e-6)
            return
        texts = answer_all(adapter, clip, "write")
        authors_texts = [
            answer["text"].strip() for answer in authors_answers if "text" in answer
        ]  # The code of some authors returns only probabilities.
        assert [answer.text.strip() for answer in texts][: len(authors_texts)] == authors_texts
        if case.scores is not None:
            answers = answer_all(adapter, clip, "score", ("Yes", "No"))
            for answer, authors_answer in zip(answers, authors_answers, strict=True):
                assert answer.scores == pytest.approx(authors_answer["scores"], rel=1e-6)
            text_only_answers = [] if case.needs_frames else answer_all(adapter, NO_FRAMES, "score", ("Yes", "No"))
            distinct_answers = answers[:1] if name == "older" else answers  # The class of `older` ignores the question.
            assert len({one.scores for one in [*answers, *text_only_answers]}) == len(distinct_answers) + len(
                text_only_answers
            ), "frames and questions affect the scores"
