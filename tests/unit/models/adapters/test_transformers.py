"""Test video-language models: their inputs, unusable checkpoints, and requests that fail."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
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
from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec

QUESTION = "Does the red circle slide left quickly?"
YES_NO = ("Yes", "No")
INDICES = (3, 17, 30, 42)
SCORE = make_request(QUESTION, "score", YES_NO)


@pytest.fixture
def transformers_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Capture also the messages of transformers, whose loggers do not propagate."""
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


# --- frames as images --------------------------------------------------------------------------------------------


def test_a_class_for_videos_and_images_follows_the_setting(folder: Path, video: Path) -> None:
    footage = read_footage(video, INDICES)
    as_video = ClipProcessor(model_spec(folder)).prepare(footage)
    as_images = ClipProcessor(model_spec(folder, frames="images")).prepare(footage)
    assert as_video.tensors["pixel_values_videos"].shape[:2] == (1, len(INDICES))
    assert as_images.tensors["pixel_values"].shape[0] == len(INDICES)
    assert as_images.placeholder_count > as_video.placeholder_count, "the model pools the frames of a video"
    (answer,) = TransformersAdapter(model_spec(folder, frames="images")).answers(clip_frames(video, INDICES), [SCORE])
    assert answer.frames_shown == len(INDICES)


# --- inputs that differ from the plan ----------------------------------------------------------------------------


def test_a_processor_that_ignores_the_frame_plan_fails_the_request(
    tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = Qwen3VLVideoProcessor._decode_and_sample_videos

    def drop_frames(self: Any, videos: Any, **options: Any) -> Any:
        return [video[:2] for video in videos], decode(self, videos, **options)[1]

    monkeypatch.setattr(Qwen3VLVideoProcessor, "_decode_and_sample_videos", drop_frames)
    with pytest.raises(AnswerError, match="not_shown: 4 frames are 2 pictures, but Qwen3VLProcessor returned 1"):
        TransformersAdapter(model_spec(tiny_video.qwen3_vl(tmp_path / "m"))).answers(
            clip_frames(video, INDICES), [SCORE]
        )


def test_only_a_request_with_placeholder_markers_fails(folder: Path, video: Path) -> None:
    processor = ClipProcessor(model_spec(folder))
    inputs = processor.prepare(read_footage(video, INDICES))
    assert processor.build_question_inputs(SCORE, inputs)
    with pytest.raises(AnswerError, match=r"not_shown: the prompt has 2 markers <video> instead of 1"):
        processor.build_question_inputs(make_request("What is <video> here?", "score", YES_NO), inputs)


def test_a_prompt_beyond_the_context_fails_with_its_length(folder: Path, video: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    tiny.update_json(folder / "config.json", text_config=config["text_config"] | {"max_position_embeddings": 60})
    processor = ClipProcessor(model_spec(folder))
    inputs = processor.prepare(read_footage(video, INDICES))
    length = processor.build_question_inputs(SCORE, inputs)["input_ids"].shape[1]
    with pytest.raises(
        AnswerError, match=rf"beyond_context: {length} prompt tokens and 40 new tokens exceed the context length of 60"
    ):
        processor.build_question_inputs(make_request(QUESTION, "write", max_tokens=40), inputs)
    with pytest.raises(AnswerError, match=r"tokens and 0 new tokens exceed the context length of 60"):
        processor.build_question_inputs(make_request(QUESTION * 9, "score", YES_NO), inputs)


@pytest.mark.parametrize(("scaling", "context"), [
    ({"rope_type": "default", "rope_theta": 1e4}, 4096),
    ({"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}, 8192),
    ({"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 4096}, 16384),
    ({"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 1024}, 4096),
])  # fmt: skip
def test_scaled_positions_extend_the_context(scaling: dict[str, Any], context: int) -> None:
    assert get_context_length(LlamaConfig(max_position_embeddings=4096, rope_parameters=scaling)) == context


# --- limits of pixels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make_checkpoint", "settings", "frame_size"), [
    (tiny_video.qwen2_vl, {"min_pixels": 256, "max_pixels": 32 * 64}, (32, 64)),
    (tiny_video.qwen3_vl, {"min_pixels": 256, "max_pixels": 32 * 64}, (32, 64)),
    (tiny_video.qwen2_vl, {"min_pixels": 160 * 320, "max_pixels": 320 * 640}, (160, 320)),
    # Six frames share 3 * 32 * 64 pixels; the model merges two frames into one, so each frame has 32 * 64.
    (tiny_video.qwen2_vl, {"min_pixels": 256, "max_pixels": 9999, "total_pixels": 3 * 32 * 64}, (32, 64)),
])  # fmt: skip
def test_pixel_limits_apply_to_one_frame(
    make_checkpoint: Any, settings: dict[str, int], frame_size: tuple[int, int], tmp_path: Path
) -> None:
    processor = ClipProcessor(model_spec(make_checkpoint(tmp_path / "m"), **settings))
    frames = np.random.default_rng(0).integers(0, 256, (6, 160, 320, 3), np.uint8)
    grid = processor.prepare(Footage(frames, tuple(range(0, 12, 2)), 24.0, 12)).tensors["video_grid_thw"][0]
    assert tuple((grid[1:] * tiny_video.PATCH).tolist()) == frame_size


def test_a_class_with_a_fixed_size_rejects_pixel_limits(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"settings\.max_pixels: .* LlavaOnevisionVideoProcessor has a fixed size\."):
        TransformersAdapter(model_spec(tiny.llava(tmp_path / "video"), max_pixels=9999))
    with pytest.raises(UserError, match=r"settings\.min_pixels: .* it receives images\. Remove min_pixels, max_pixels"):
        TransformersAdapter(model_spec(tiny_video.llava_1_5(tmp_path / "images"), min_pixels=1, max_pixels=9))


@pytest.mark.parametrize(("settings", "message"), [
    ({"max_pixel": 9}, r"unknown key\. Did you mean 'max_pixels'\?"),
    ({"total_pixels": 9}, "total_pixels requires min_pixels and max_pixels"),
    ({"min_pixels": 9, "max_pixels": 8}, "min_pixels 9 is greater than max_pixels 8"),
])  # fmt: skip
def test_invalid_settings_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Model.model_validate({"label": "M", "adapter": "transformers", "checkpoint": "weights", "settings": settings})


# --- chat templates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "replacement",
    [
        "{{ messages[0]['content'][0]['text'] if messages[0]['role'] == 'system' }}{% for message in messages %}",
        "{% for message in messages if message['role'] != 'system' %}",
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}{% for message in messages %}",
    ],
    ids=["twice", "never", "rejected"],
)
def test_a_system_text_is_included_once_with_any_template(replacement: str, folder: Path) -> None:
    template = folder / "chat_template.jinja"
    plain = ClipProcessor(model_spec(folder))
    template.write_text(template.read_text().replace("{% for message in messages %}", replacement, 1))
    changed = ClipProcessor(model_spec(folder))

    def build_prompt(processor: ClipProcessor, system: str, prompt: str) -> str:
        ids = processor.build_question_inputs(
            make_request(prompt, "score", YES_NO, system=system), processor.prepare(None)
        )["input_ids"]
        return str(processor.processor.tokenizer.decode(ids[0]))

    assert build_prompt(changed, "Be brief.", QUESTION) == build_prompt(plain, "", f"Be brief.\n\n{QUESTION}")
    assert build_prompt(plain, "Be brief.", QUESTION).count("Be brief.") == 1


# --- layouts of checkpoints --------------------------------------------------------------------------------------


@pytest.mark.parametrize("image_processor_type", ["LlavaNextImageProcessor", "LlavaNextVideoImageProcessor"])
def test_llava_next_video_loads_in_the_layout_of_the_hub(
    image_processor_type: str, tmp_path: Path, video: Path
) -> None:
    folder, clip = tiny_video.llava_next_video(tmp_path / "m"), clip_frames(video, INDICES)
    expected = list(TransformersAdapter(model_spec(folder)).answers(clip, [SCORE]))
    file = folder / "processor_config.json"
    processor_config = json.loads(file.read_text())
    image_config = processor_config.pop("image_processor") | {"image_processor_type": image_processor_type}
    del processor_config["video_processor"]
    (folder / "preprocessor_config.json").write_text(json.dumps(image_config))
    file.write_text(json.dumps(processor_config))
    assert list(TransformersAdapter(model_spec(folder)).answers(clip, [SCORE])) == expected


def test_dtype_checkpoint_keeps_the_type_of_the_weights(folder: Path) -> None:
    tiny.update_json(folder / "config.json", dtype="bfloat16")
    assert TransformersAdapter(model_spec(folder, dtype="checkpoint")).model.dtype == torch.bfloat16
    assert TransformersAdapter(model_spec(folder)).model.dtype == torch.float32


# --- unusable checkpoints, and requests that fail ---------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["score", "write"])
def test_non_finite_numbers_fail_only_their_request(ask: str, folder: Path, video: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    next(value for name, value in weights.items() if "projector.linear_1.bias" in name).fill_(float("nan"))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    adapter, requests = (
        TransformersAdapter(model_spec(folder)),
        [make_request(QUESTION, ask, YES_NO), make_request("Who is spinning slowly?", ask, YES_NO)],
    )
    for clip, error in ((clip_frames(video, INDICES), "not_finite"), (NO_FRAMES, "")):  # only frames use this weight
        assert {
            response.request: response.answer.error for response in run_requests(adapter, clip, requests)
        } == dict.fromkeys(requests, error)


def replace_by_language_model(folder: Path) -> None:
    shutil.rmtree(folder)
    tiny.llama(folder)


def remove_placeholder_markers(folder: Path) -> None:
    (folder / "model.safetensors").unlink()  # the check precedes the loading of weights
    (folder / "chat_template.jinja").write_text("{{ messages[-1]['content'][-1]['text'] }}", encoding="utf-8")


def split_option_into_tokens(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    tiny.update_json(folder / "tokenizer.json", normalizer={"type": "Prepend", "prepend": "_"})


def merge_option_tokens(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    tiny.update_json(
        folder / "tokenizer.json", normalizer={"type": "Replace", "pattern": {"String": "Yes"}, "content": "No"}
    )


def make_option_unknown(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    tiny.update_json(folder / "tokenizer_config.json", unk_token="Yes")


def remove_projector(folder: Path) -> None:
    other_weights = {
        name: weight for name, weight in load_file(folder / "model.safetensors").items() if "multi_modal" not in name
    }
    save_file(other_weights, folder / "model.safetensors", {"format": "pt"})


def change_shapes(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    changed = {name: weight[:-1].clone() if "multi_modal" in name else weight for name, weight in weights.items()}
    save_file(changed, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize(("damage", "message"), [
    (lambda folder: (folder / "chat_template.jinja").unlink(), r"checkpoint has no chat template\. Add the chat_template\.jinja"),
    (lambda folder: (folder / "processor_config.json").unlink(), "AutoProcessor cannot load this checkpoint: .* image processor"),
    (lambda folder: (folder / "model.safetensors").unlink(), "AutoModelForImageTextToText cannot .* no file named model.safet"),
    (lambda folder: os.truncate(folder / "model.safetensors", 5000), "damaged or truncated: .* invalid header length"),
    (lambda folder: tiny.update_json(folder / "config.json", model_type="nosuch"), "cannot load .* `nosuch` .* Correct .*`adapter`"),
    (replace_by_language_model, "needs a processor for text and video, found a .* Use `adapter: text`"),
    (remove_placeholder_markers, "neither as a video nor as images"),
    (split_option_into_tokens, r"'Yes' is \['_', 'Yes'\], .*; a score needs options of one token each\. Use"),
    (merge_option_tokens, r"'Yes' and 'No' are the same token \(\d+\), so their scores are always equal\. Use"),
    (make_option_unknown, r"its vocabulary has no token 'Yes'\. Use"),
    (remove_projector, r"4 weights of LlavaOnevisionForConditionalGeneration are not in its files.*: .*linear_1\.bias.* 1 more"),
    (change_shapes, r"4 weights of LlavaOnevisionForConditionalGeneration are not in its files, or have another shape: .* 1 more"),
])  # fmt: skip
def test_an_unusable_checkpoint_is_named(
    damage: Callable[[Path], Any], message: str, folder: Path, transformers_log: pytest.LogCaptureFixture
) -> None:
    damage(folder)
    with pytest.raises(UserError, match=message) as caught:
        TransformersAdapter(replace(model_spec(folder), has_frames=True, option_sets=(YES_NO,)))
    assert str(caught.value).startswith(str(folder)) and "\n" not in str(caught.value)
    assert "LOAD REPORT" not in transformers_log.text


def test_unused_weights_are_named_in_one_line(folder: Path, transformers_log: pytest.LogCaptureFixture) -> None:
    weights = load_file(folder / "model.safetensors")
    extra = {f"extra.{number}.weight": torch.zeros(2) for number in range(5)}
    save_file(weights | extra, folder / "model.safetensors", {"format": "pt"})
    TransformersAdapter(replace(model_spec(folder), has_frames=True))
    assert "LOAD REPORT" not in transformers_log.text
    assert "does not use 5 weights of its files: extra.0.weight, extra.1.weight, extra.2.weight, and 2 more." in (
        transformers_log.text
    )
