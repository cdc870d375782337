"""Models that cannot be asked: one clear message each, before anything is asked, and what was answered stays."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.asking.journal import Failures, Journal, Work
from reprise.models.asking.lazy import LazyModel
from reprise.models.base import Clip
from reprise.models.keys import ModelRunKey
from reprise.stages.infer import ask_all

from tests.unit.asked import request, run_key, shown
from tests.unit.models.adapters import tiny
from tests.unit.videos import barcode_video

QUESTIONS = [request(f"Does the red circle {deed}?", "score", ("Yes", "No")) for deed in ("slide", "spin", "grow")]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Clip]:
    folder = tmp_path_factory.mktemp("videos")
    return [shown(barcode_video(folder / f"{name}.mp4", 48, width=96, height=64), (3, 30)) for name in "abc"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Checkpoints without a fault, of which a test spoils a copy."""
    folder = tmp_path_factory.mktemp("sound")
    return {"transformers": tiny.llava(folder / "llava"), "text": tiny.llama(folder / "llama")}


def key_of(folder: Path, adapter: str = "transformers", gpus: int = 0) -> ModelRunKey:
    found = run_key(adapter, checkpoint=str(folder), gpus=gpus)
    return found.model_copy(update={"serving": {"option_share": 0}})  # of random weights


def asked(key: ModelRunKey, clips: Sequence[Clip], folder: Path) -> Any:
    works = [Work(clip, f"recipe {place}", tuple(QUESTIONS)) for place, clip in enumerate(clips)]
    with LazyModel(key, Store(folder), 1) as model:
        return ask_all(works, model, Journal(folder / "j"), Failures(folder / "f", 3), key)


def short(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    tiny.change(folder / "config.json", text_config={**config["text_config"], "max_position_embeddings": 16})


def without_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()


@pytest.mark.parametrize(("adapter", "spoil", "message"), [
    ("text", without_tokenizer, "AutoTokenizer cannot load this checkpoint"),
    ("transformers", short, r"the first 9 questions all failed: beyond_context .*: \d+ tokens and 0 to write; the model reads 16\. Nothing was recorded\. Show the model fewer frames"),
])  # fmt: skip
def test_what_cannot_be_asked(
    adapter: str, spoil: Callable[[Path], None], message: str, clips: list[Clip], sound: dict[str, Path], tmp_path: Path
) -> None:
    """Each fault of a checkpoint alone has its case in tests/unit/models/adapters/test_transformers_failures.py."""
    folder = tmp_path / "model"
    shutil.copytree(sound[adapter], folder)
    spoil(folder)
    with pytest.raises(UserError, match=message) as caught:
        asked(key_of(folder, adapter), clips, tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists(), "nothing was answered, nothing has failed"


@pytest.mark.parametrize(("visible", "message"), [
    (None, r"^config/models/m\.yaml: the model needs 2 GPUs, found 0 here\. Remove the model from the suite's `run:`"),
    ("3", r"the model needs 2 GPUs, found 1 here"),
    ("0,1", r"asks for a GPU \(`gpus`\), and torch .* finds none that it can use\. Install a build of torch for this"),
])  # fmt: skip
def test_a_gpu_that_is_not_there_is_one_message(
    visible: str | None, message: str, clips: list[Clip], sound: dict[str, Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that it is gone afterwards, whoever sets it
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", "")  # without nvidia-smi
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(UserError, match=message):
        asked(key_of(sound["transformers"], gpus=2), clips, tmp_path)
