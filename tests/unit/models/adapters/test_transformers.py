"""Video-language models: what reaches them, checkpoints that cannot be asked, and questions that fail."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from reprise.config.model import Model
from reprise.core.errors import UserError
from reprise.media.decoder import Footage, read_footage
from reprise.models.base import AnswerError
from reprise.models.inference.outcomes import run_requests
from reprise.models.local.checkpoints import get_context_length
from reprise.models.local.clip_inputs import ClipProcessor
from reprise.models.local.transformers import TransformersAdapter
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, Qwen3VLVideoProcessor

from tests.unit.models.adapters import tiny, tiny_video
from tests.unit.requests import BLIND, request, shown, spec

QUESTION = "Does the red circle slide left quickly?"
YES_NO = ("Yes", "No")
INDICES = (3, 17, 30, 42)
SCORE = request(QUESTION, "score", YES_NO)


# --- frames as images --------------------------------------------------------------------------------------------


def test_a_class_that_takes_both_shows_frames_as_its_file_says(folder: Path, video: Path) -> None:
    footage = read_footage(video, INDICES)
    as_video = ClipProcessor(spec(folder)).prepare(footage)
    as_images = ClipProcessor(spec(folder, frames="images")).prepare(footage)
    assert as_video.tensors["pixel_values_videos"].shape[:2] == (1, len(INDICES))
    assert as_images.tensors["pixel_values"].shape[0] == len(INDICES)
    assert as_images.placeholder_count > as_video.placeholder_count, "a video's frames are pooled"
    (answer,) = TransformersAdapter(spec(folder, frames="images")).answers(shown(video, INDICES), [SCORE])
    assert answer.frames_shown == len(INDICES)


# --- what is not the plan ----------------------------------------------------------------------------------------


def test_a_processor_that_ignores_the_frame_plan_fails_the_request(
    tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = Qwen3VLVideoProcessor._decode_and_sample_videos

    def chosen(self: Any, videos: Any, **options: Any) -> Any:
        return [video[:2] for video in videos], decode(self, videos, **options)[1]

    monkeypatch.setattr(Qwen3VLVideoProcessor, "_decode_and_sample_videos", chosen)
    with pytest.raises(AnswerError, match="not_shown: 4 frames are 2 pictures, but Qwen3VLProcessor returned 1"):
        TransformersAdapter(spec(tiny_video.qwen3_vl(tmp_path / "m"))).answers(shown(video, INDICES), [SCORE])


def test_only_a_question_with_placeholder_markers_fails(folder: Path, video: Path) -> None:
    processor = ClipProcessor(spec(folder))
    inputs = processor.prepare(read_footage(video, INDICES))
    assert processor.build_question_inputs(SCORE, inputs)
    with pytest.raises(AnswerError, match=r"not_shown: the prompt has 2 markers <video> instead of 1"):
        processor.build_question_inputs(request("What is <video> here?", "score", YES_NO), inputs)


def test_a_prompt_beyond_the_context_fails_and_says_how_long_it_is(folder: Path, video: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    tiny.change(folder / "config.json", text_config=config["text_config"] | {"max_position_embeddings": 60})
    processor = ClipProcessor(spec(folder))
    inputs = processor.prepare(read_footage(video, INDICES))
    length = processor.build_question_inputs(SCORE, inputs)["input_ids"].shape[1]
    with pytest.raises(
        AnswerError, match=rf"beyond_context: {length} prompt tokens and 40 new tokens exceed the context length of 60"
    ):
        processor.build_question_inputs(request(QUESTION, "write", max_tokens=40), inputs)
    with pytest.raises(AnswerError, match=r"tokens and 0 new tokens exceed the context length of 60"):
        processor.build_question_inputs(request(QUESTION * 9, "score", YES_NO), inputs)


@pytest.mark.parametrize(("scaling", "context"), [
    ({"rope_type": "default", "rope_theta": 1e4}, 4096),
    ({"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}, 8192),
    ({"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 4096}, 16384),
    ({"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 1024}, 4096),
])  # fmt: skip
def test_scaled_positions_reach_further(scaling: dict[str, Any], context: int) -> None:
    assert get_context_length(LlamaConfig(max_position_embeddings=4096, rope_parameters=scaling)) == context


# --- limits of pixels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "settings", "side"), [
    (tiny_video.qwen2_vl, {"min_pixels": 256, "max_pixels": 32 * 64}, (32, 64)),
    (tiny_video.qwen3_vl, {"min_pixels": 256, "max_pixels": 32 * 64}, (32, 64)),
    (tiny_video.qwen2_vl, {"min_pixels": 160 * 320, "max_pixels": 320 * 640}, (160, 320)),
    # half of 3 * 32 * 64 for each of six frames, twice since two are one
    (tiny_video.qwen2_vl, {"min_pixels": 256, "max_pixels": 9999, "total_pixels": 3 * 32 * 64}, (32, 64)),
])  # fmt: skip
def test_limits_of_pixels_are_those_of_a_frame(
    make: Any, settings: dict[str, int], side: tuple[int, int], tmp_path: Path
) -> None:
    processor = ClipProcessor(spec(make(tmp_path / "m"), **settings))
    frames = np.random.default_rng(0).integers(0, 256, (6, 160, 320, 3), np.uint8)
    grid = processor.prepare(Footage(frames, tuple(range(0, 12, 2)), 24.0, 12)).tensors["video_grid_thw"][0]
    assert tuple((grid[1:] * tiny_video.PATCH).tolist()) == side


def test_a_class_of_one_size_has_no_limits_of_pixels(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"settings\.max_pixels: .* LlavaOnevisionVideoProcessor has a fixed size\."):
        TransformersAdapter(spec(tiny.llava(tmp_path / "video"), max_pixels=9999))
    with pytest.raises(UserError, match=r"settings\.min_pixels: .* it receives images\. Remove min_pixels, max_pixels"):
        TransformersAdapter(spec(tiny_video.llava_1_5(tmp_path / "images"), min_pixels=1, max_pixels=9))


@pytest.mark.parametrize(("settings", "message"), [
    ({"max_pixel": 9}, r"unknown key\. Did you mean 'max_pixels'\?"),
    ({"total_pixels": 9}, "total_pixels requires min_pixels and max_pixels"),
    ({"min_pixels": 9, "max_pixels": 8}, "min_pixels 9 is greater than max_pixels 8"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Model.model_validate({"label": "M", "adapter": "transformers", "checkpoint": "weights", "settings": settings})


# --- chat templates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "instead",
    [
        "{{ messages[0]['content'][0]['text'] if messages[0]['role'] == 'system' }}{% for message in messages %}",
        "{% for message in messages if message['role'] != 'system' %}",
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}{% for message in messages %}",
    ],
    ids=["twice", "not at all", "refused"],
)
def test_a_system_text_is_read_once_whatever_the_template_does(instead: str, folder: Path) -> None:
    template = folder / "chat_template.jinja"
    plain = ClipProcessor(spec(folder))
    template.write_text(template.read_text().replace("{% for message in messages %}", instead, 1))
    changed = ClipProcessor(spec(folder))

    def read_by(processor: ClipProcessor, system: str, prompt: str) -> str:
        ids = processor.build_question_inputs(request(prompt, "score", YES_NO, system=system), processor.prepare(None))[
            "input_ids"
        ]
        return str(processor.processor.tokenizer.decode(ids[0]))

    assert read_by(changed, "Be brief.", QUESTION) == read_by(plain, "", f"Be brief.\n\n{QUESTION}")
    assert read_by(plain, "Be brief.", QUESTION).count("Be brief.") == 1


# --- layouts of checkpoints --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["LlavaNextImageProcessor", "LlavaNextVideoImageProcessor"])
def test_llava_next_video_loads_as_the_hub_has_it(kind: str, tmp_path: Path, video: Path) -> None:
    folder, clip = tiny_video.llava_next_video(tmp_path / "m"), shown(video, INDICES)
    expected = list(TransformersAdapter(spec(folder)).answers(clip, [SCORE]))
    file = folder / "processor_config.json"
    own = json.loads(file.read_text())
    image = own.pop("image_processor") | {"image_processor_type": kind}
    del own["video_processor"]
    (folder / "preprocessor_config.json").write_text(json.dumps(image))
    file.write_text(json.dumps(own))
    assert list(TransformersAdapter(spec(folder)).answers(clip, [SCORE])) == expected


def test_weights_in_the_checkpoints_own_type(folder: Path) -> None:
    tiny.change(folder / "config.json", dtype="bfloat16")
    assert TransformersAdapter(spec(folder, dtype="checkpoint")).model.dtype == torch.bfloat16
    assert TransformersAdapter(spec(folder)).model.dtype == torch.float32


# --- checkpoints that cannot be asked, and questions that fail --------------------------------------------------------


@pytest.mark.parametrize("kind", ["score", "write"])
def test_numbers_that_are_not_finite_fail_their_question_alone(kind: str, folder: Path, video: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    next(value for name, value in weights.items() if "projector.linear_1.bias" in name).fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    adapter, asked = (
        TransformersAdapter(spec(folder)),
        [request(QUESTION, kind, YES_NO), request("Who is spinning slowly?", kind, YES_NO)],
    )
    for clip, error in ((shown(video, INDICES), "not_finite"), (BLIND, "")):  # only frames reach that weight
        assert {one.request: one.answer.error for one in run_requests(adapter, clip, asked)} == dict.fromkeys(
            asked, error
        )


def language_model(at: Path) -> None:
    shutil.rmtree(at)
    tiny.llama(at)


def no_marks(at: Path) -> None:
    (at / "model.safetensors").unlink()  # what no question could be asked with is named before weights are loaded
    (at / "chat_template.jinja").write_text("{{ messages[-1]['content'][-1]['text'] }}", encoding="utf-8")


def several_tokens(at: Path) -> None:
    (at / "model.safetensors").unlink()
    tiny.change(at / "tokenizer.json", normalizer={"type": "Prepend", "prepend": "_"})


def one_token(at: Path) -> None:
    (at / "model.safetensors").unlink()
    tiny.change(at / "tokenizer.json", normalizer={"type": "Replace", "pattern": {"String": "Yes"}, "content": "No"})


def unknown_token(at: Path) -> None:
    (at / "model.safetensors").unlink()
    tiny.change(at / "tokenizer_config.json", unk_token="Yes")


def no_projector(at: Path) -> None:
    kept = {name: one for name, one in load_file(at / "model.safetensors").items() if "multi_modal" not in name}
    save_file(kept, at / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize(("spoil", "message"), [
    (lambda at: (at / "chat_template.jinja").unlink(), r"checkpoint has no chat template\. Add the chat_template\.jinja"),
    (lambda at: (at / "processor_config.json").unlink(), "AutoProcessor cannot load this checkpoint: .* image processor"),
    (lambda at: (at / "model.safetensors").unlink(), "AutoModelForImageTextToText cannot .* no file named model.safet"),
    (lambda at: os.truncate(at / "model.safetensors", 5000), "damaged or truncated: .* invalid header length"),
    (lambda at: tiny.change(at / "config.json", model_type="nosuch"), "cannot load .* `nosuch` .* Correct .*`adapter`"),
    (language_model, "needs a processor for text and video, found a .* Use `adapter: text`"),
    (no_marks, "neither as a video nor as images"),
    (several_tokens, r"'Yes' is \['_', 'Yes'\], .*; a score needs options of one token each\. Use"),
    (one_token, r"'Yes' and 'No' are the same token \(\d+\), so their scores are always equal\. Use"),
    (unknown_token, r"its vocabulary has no token 'Yes'\. Use"),
    (no_projector, r"4 weights of LlavaOnevisionForConditionalGeneration are not in its files.*: .*linear_1\.bias.* 1 more"),
])  # fmt: skip
def test_an_unusable_checkpoint_is_named(spoil: Callable[[Path], Any], message: str, folder: Path) -> None:
    spoil(folder)
    with pytest.raises(UserError, match=message) as caught:
        TransformersAdapter(replace(spec(folder), has_frames=True, options=(YES_NO,)))
    assert str(caught.value).startswith(str(folder)) and "\n" not in str(caught.value)
