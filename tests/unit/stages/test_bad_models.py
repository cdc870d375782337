"""Models that cannot be asked: one clear message each, before anything is asked, and what was answered stays."""

import json
import os
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


def huge(folder: Path) -> None:
    """Weights of 8 TB that take no room on the disk."""
    header = {"x.weight": {"dtype": "F32", "shape": [2 * 10**6, 10**6], "data_offsets": [0, 8 * 10**12]}}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        stream.truncate(8 + len(text) + 8 * 10**12)


def cut(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", (folder / "model.safetensors").stat().st_size - 1)


def in_shards(folder: Path) -> None:
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    (folder / "model.safetensors").rename(folder / names[0])
    listed = {"weight_map": dict(zip("ab", names, strict=True))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(listed))


def without_pictures(folder: Path) -> None:
    texts = "{% for part in message['content'] %}{{ part['text'] }}{% endfor %}"
    (folder / "chat_template.jinja").write_text("{% for message in messages %}" + texts + "{% endfor %}")


def change(file: str, **values: Any) -> Callable[[Path], None]:
    return lambda folder: tiny.change(folder / file, **values)


def short(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    tiny.change(folder / "config.json", text_config={**config["text_config"], "max_position_embeddings": 16})


def without(pattern: str) -> Callable[[Path], object]:
    return lambda folder: [path.unlink() for path in folder.glob(pattern)]


CASES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "too little memory": ("transformers", huge, r"too little memory: its weights take 8e\+03 GB, and a device needs 1 GB"),
    "no processor": ("transformers", without("processor_config.json"), "AutoProcessor cannot load .*: Can't load image processor"),
    "no chat template": ("transformers", without("chat_template.jinja"), r"has no chat template\. Add the chat_template\.jinja"),
    "no tokenizer": ("text", without("tokenizer*"), "AutoTokenizer cannot load this checkpoint"),
    "a template without video or images": ("transformers", without_pictures, r"do not show the model frames, neither as a video nor as images\. Use a checkpoint or a revision that does"),
    "Yes in several tokens": ("transformers", change("tokenizer.json", normalizer={"type": "Prepend", "prepend": "_"}), r"'Yes' is \['_', 'Yes'\], .* options that are one token each\. Ask"),
    "a context that is too short": ("transformers", short, r"the first 9 questions all failed: beyond_context .*: \d+ tokens and 0 to write; the model reads 16\. Nothing was recorded\. Show the model fewer frames"),
    "weights cut short": ("transformers", cut, r"model\.safetensors: damaged or cut short: .* incomplete metadata, file not fully covered\. Nothing was asked\. Fetch"),
    "a file of several is missing": ("transformers", in_shards, r"1 of the 2 files that it names are not there: model-00002"),
    "a class that transformers does not know": ("transformers", change("config.json", model_type="nosuch"), "model type `nosuch`"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_asked(case: str, clips: list[Clip], sound: dict[str, Path], tmp_path: Path) -> None:
    adapter, spoil, message = CASES[case]
    folder = tmp_path / "model"
    shutil.copytree(sound[adapter], folder)
    spoil(folder)
    with pytest.raises(UserError, match=message) as caught:
        asked(key_of(folder, adapter), clips, tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists(), "nothing was answered, nothing has failed"


@pytest.mark.parametrize(("visible", "message"), [
    (None, r"the model needs 2 GPUs, found 0 here\. Remove the model from the suite's `run:`"),
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
