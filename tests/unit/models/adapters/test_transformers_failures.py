"""Video-language models: checkpoints that cannot be asked, and questions that fail."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.models.asking.outcomes import ask
from reprise.models.local.transformers import TransformersAdapter
from safetensors.torch import load_file, save_file

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters import tiny

QUESTION = "Does the red circle slide left quickly?"
OTHER = "Who is spinning slowly?"
YES_NO = ("Yes", "No")
INDICES = (3, 30)


@pytest.mark.parametrize("kind", ["score", "write"])
def test_numbers_that_are_not_finite_fail_their_question_alone(kind: str, folder: Path, video: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    next(value for name, value in weights.items() if "projector.linear_1.bias" in name).fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    adapter, asked = TransformersAdapter(spec(folder)), [request(QUESTION, kind, YES_NO), request(OTHER, kind, YES_NO)]
    for clip, error in ((shown(video, INDICES), "not_finite"), (BLIND, "")):  # only frames reach that weight
        assert {one.request: one.answer.error for one in ask(adapter, clip, asked)} == dict.fromkeys(asked, error)


def language_model(at: Path) -> None:
    shutil.rmtree(at)
    tiny.llama(at)


def no_marks(at: Path) -> None:
    (at / "model.safetensors").unlink()  # what no question could be asked with is named before weights are loaded
    (at / "chat_template.jinja").write_text("{{ messages[-1]['content'][-1]['text'] }}", encoding="utf-8")


def several_tokens(at: Path) -> None:
    (at / "model.safetensors").unlink()
    tiny.change(at / "tokenizer.json", normalizer={"type": "Prepend", "prepend": "_"})


def no_projector(at: Path) -> None:
    kept = {name: one for name, one in load_file(at / "model.safetensors").items() if "multi_modal" not in name}
    save_file(kept, at / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize(("spoil", "message"), [
    (lambda at: (at / "chat_template.jinja").unlink(), r"checkpoint has no chat template\. Add the chat_template\.jinja"),
    (lambda at: (at / "processor_config.json").unlink(), "AutoProcessor cannot load this checkpoint: .* image processor"),
    (lambda at: (at / "model.safetensors").unlink(), "AutoModelForImageTextToText cannot .* no file named model.safet"),
    (lambda at: os.truncate(at / "model.safetensors", 5000), "damaged or cut short: .* invalid header length"),
    (lambda at: tiny.change(at / "config.json", model_type="nosuch"), "cannot load .* `nosuch` .* Correct .*`adapter`"),
    (language_model, "needs a processor for text and video, found a .* A language model has `adapter: text`"),
    (no_marks, "neither as a video nor as images"),
    (several_tokens, r"'Yes' is \['_', 'Yes'\], .*; a score needs options that are one token each\. Ask"),
    (no_projector, r"4 weights of LlavaOnevisionForConditionalGeneration are not in its files.*: .*linear_1\.bias.* 1 more"),
])  # fmt: skip
def test_a_checkpoint_that_cannot_be_asked_is_named(spoil: Callable[[Path], Any], message: str, folder: Path) -> None:
    spoil(folder)
    with pytest.raises(UserError, match=message) as caught:
        TransformersAdapter(replace(spec(folder), shows_frames=True, options=(YES_NO,)))
    assert str(caught.value).startswith(str(folder)) and "\n" not in str(caught.value)
