"""Video-language models: checkpoints that cannot be asked, and questions that fail."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.models.base import Answer, AnswerError
from reprise.models.local.transformers import TransformersAdapter
from safetensors.torch import load_file, save_file
from transformers import LlavaOnevisionModel

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters import tiny

QUESTION = "Does the red circle slide left quickly?"
OTHER = "Who is spinning slowly?"
YES_NO = ("Yes", "No")
INDICES = (3, 30)


@pytest.mark.parametrize("ask", ["score", "write"])
def test_numbers_that_are_not_finite_fail_their_question_alone(ask: str, folder: Path, video: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    next(value for name, value in weights.items() if "projector.linear_1.bias" in name).fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    adapter, asked = TransformersAdapter(spec(folder)), [request(QUESTION, ask, YES_NO), request(OTHER, ask, YES_NO)]
    assert list(adapter.answers(shown(video, INDICES), asked)) == [Answer(error="not_finite")] * 2
    assert [answer.error for answer in adapter.answers(BLIND, asked)] == ["", ""], "only frames reach that weight"


def test_a_full_device_fails_the_clip_by_name(folder: Path, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise torch.cuda.OutOfMemoryError("2.00 GiB")

    monkeypatch.setattr(LlavaOnevisionModel, "get_video_features", full)
    with pytest.raises(AnswerError, match=r"2\.00 GiB") as caught:
        list(TransformersAdapter(spec(folder)).answers(shown(video, INDICES), [request(QUESTION, "score", YES_NO)]))
    assert caught.value.status == "out_of_memory"


def test_options_of_several_tokens_cannot_be_scored(folder: Path) -> None:
    tiny.change(folder / "tokenizer.json", normalizer={"type": "Prepend", "prepend": "_"})
    adapter = TransformersAdapter(spec(folder))
    message = (
        r"'Yes' is \['_', 'Yes'\], 'No' is \['_', 'No'\]; a score needs options that are one token each\. "
        r"Ask this model by a protocol with `ask: choose`"
    )
    with pytest.raises(UserError, match=message):
        list(adapter.answers(BLIND, [request(QUESTION, "score", YES_NO)]))
    (answer,) = adapter.answers(BLIND, [request(QUESTION, "choose", YES_NO)])
    assert answer.tokens_out == 8 and not answer.error


@pytest.mark.parametrize("spoiled", ["tokenizer", "template"])
def test_what_no_question_could_be_asked_with_is_named_before_weights_are_loaded(spoiled: str, folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    if spoiled == "tokenizer":
        tiny.change(folder / "tokenizer.json", normalizer={"type": "Prepend", "prepend": "_"})
        given, message = replace(spec(folder), options=(YES_NO,)), r"'Yes' is \['_', 'Yes'\]"
    else:
        (folder / "chat_template.jinja").write_text("{{ messages[-1]['content'][-1]['text'] }}", encoding="utf-8")
        given, message = replace(spec(folder), shows_frames=True), "neither as a video nor as images"
    with pytest.raises(UserError, match=message):
        TransformersAdapter(given)


def language_model(folder: Path) -> None:
    shutil.rmtree(folder)
    tiny.llama(folder)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda at: (at / "chat_template.jinja").unlink(),
            r"checkpoint has no chat template\. Add the chat_template\.jinja",
        ),
        (
            lambda at: (at / "processor_config.json").unlink(),
            "AutoProcessor cannot load this checkpoint: .* image processor",
        ),
        (
            lambda at: (at / "model.safetensors").unlink(),
            "AutoModelForImageTextToText cannot .* no file named model.safet",
        ),
        (
            lambda at: os.truncate(at / "model.safetensors", 5000),
            "damaged or cut short: its header is not whole, or damaged",
        ),
        (
            lambda at: tiny.change(at / "config.json", model_type="nosuch"),
            "cannot load .* `nosuch` .* Correct .*`adapter`",
        ),
        (language_model, "needs a processor for text and video, found a .* A language model has `adapter: text`"),
    ],
)
def test_a_checkpoint_that_cannot_be_asked_is_named(
    spoil: Callable[[Path], object], message: str, folder: Path
) -> None:
    spoil(folder)
    with pytest.raises(UserError, match=message) as caught:
        TransformersAdapter(spec(folder))
    assert str(caught.value).startswith(str(folder)) and "\n" not in str(caught.value)


def test_attention_without_its_package_is_named(folder: Path) -> None:
    with pytest.raises(UserError, match="FlashAttention2 .* `attention` or `trust_remote_code` in the model's file"):
        TransformersAdapter(spec(folder, attention="flash_attention_2"))


@pytest.mark.parametrize(("key", "value"), [("dtype", "fp16"), ("dtype", "float64"), ("attention", "flash")])
def test_another_type_or_attention_never_reaches_the_adapter(key: str, value: str) -> None:
    known = {"label": "M", "adapter": "transformers", "checkpoint": "weights"}
    Model.model_validate(known)
    with pytest.raises(ValidationError, match=rf"{key}\n.*should be '"):
        Model.model_validate({**known, key: value})


def test_weights_that_are_not_in_the_files_are_named_instead_of_made_up(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    gone = [name for name in weights if "multi_modal_projector" in name]
    kept = {name: value for name, value in weights.items() if name not in gone}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    message = rf"{len(gone)} weights of LlavaOnevisionForConditionalGeneration are not in its files.*: .*linear_1\.bias.* 1 more"
    with pytest.raises(UserError, match=message):
        TransformersAdapter(spec(folder))
