"""Test the shared engine against the plain engine for every class that shares an encoding, and models on two devices."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import dispatch_model
from reprise.models.base import Answer, ModelSpec
from reprise.models.local.device_memory import compute_max_reserve, estimate_memory
from reprise.models.local.text import TextAdapter
from reprise.models.local.transformers import VERIFIED_MODEL_TYPES, PrefixCache, TransformersAdapter

from tests.unit.models.adapters import tiny, tiny_video
from tests.unit.models.adapters.tiny_video import IMAGE_CLASSES, UNLISTED_CLASSES, VIDEO_CLASSES
from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec

START = "Carefully watch the video. Here is a caption: "
CAPTIONS = ("the red circle slides left.", "who spins? a square", "1 jump", '"blue"')
SCORE_REQUESTS = [make_request(START + caption, "score", ("Yes", "No")) for caption in CAPTIONS]
TEXT_REQUESTS = [make_request(START + caption, "write", max_tokens=10) for caption in CAPTIONS]
INDICES, OTHER_INDICES = (3, 17, 30, 40), (5, 20, 41, 44)
TOLERANCE = 1e-5
CHECKPOINT_MAKERS = {**VIDEO_CLASSES, **IMAGE_CLASSES, "glm46v": UNLISTED_CLASSES["glm46v"]}


class Engines:
    """A checkpoint that is loaded with both engines."""

    def __init__(self, folder: Path) -> None:
        plain, shared = (
            replace(model_spec(folder, engine=engine), prompt_start=START) for engine in ("plain", "shared")
        )
        self.plain, self.shared = TransformersAdapter(plain), TransformersAdapter(shared)


@pytest.fixture(scope="module", params=sorted(CHECKPOINT_MAKERS))
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(CHECKPOINT_MAKERS[request.param](tmp_path_factory.mktemp("checkpoint") / request.param))


def assert_close(answers: list[Answer], expected: list[Answer]) -> None:
    """Check that scores differ only by rounding errors, and everything else is the same."""
    assert [replace(answer, scores=()) for answer in answers] == [replace(answer, scores=()) for answer in expected]
    assert not any(answer.error for answer in answers)
    for answer, expected_answer in zip(answers, expected, strict=True):
        assert answer.scores == pytest.approx(expected_answer.scores, rel=0, abs=TOLERANCE)


def test_both_engines_give_the_same_answers_and_no_request_affects_another(
    engines: Engines, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_type = engines.shared.model.config.model_type
    monkeypatch.setattr(PrefixCache, "choose_batch_size", lambda *_: 3)  # the second batch is then padded
    for clip in (clip_frames(video, INDICES), clip_frames(video, OTHER_INDICES[:1])):
        for requests in (SCORE_REQUESTS, TEXT_REQUESTS):
            shared, plain = (list(adapter.answers(clip, requests)) for adapter in (engines.shared, engines.plain))
            assert_close(shared, plain)
            assert engines.shared.current_clip is not None and (engines.shared.current_clip.prefix is not None) == (
                model_type in VERIFIED_MODEL_TYPES
            )
            assert_close(engines.shared.current_clip.answer_all(requests), plain)  # batches of scores too, as on a GPU
            # A job that resumes after another sends the remaining requests about a clip.
            resumed_clip = replace(clip, question_count=len(requests))
            resumed = [
                answer for request in requests[::-1] for answer in engines.shared.answers(resumed_clip, [request])
            ]
            assert resumed == shared[::-1]
    # The engine does not share the encoding of a clip with a single request.
    single = replace(clip_frames(video, INDICES), question_count=1)
    assert_close(
        list(engines.shared.answers(single, SCORE_REQUESTS[:1])),
        list(engines.plain.answers(single, SCORE_REQUESTS[:1])),
    )
    assert engines.shared.current_clip is not None and engines.shared.current_clip.prefix is None
    assert_close(
        list(engines.shared.answers(NO_FRAMES, TEXT_REQUESTS)), list(engines.plain.answers(NO_FRAMES, TEXT_REQUESTS))
    )


def test_frames_are_encoded_once_per_clip(engines: Engines, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_class, encoder_calls = type(engines.shared.model.model), []
    is_video = engines.shared.preparer.processor.frame_mode == "video" and hasattr(model_class, "get_video_features")
    name = "get_video_features" if is_video else "get_image_features"
    encode = getattr(model_class, name)
    monkeypatch.setattr(
        model_class, name, lambda *arguments, **options: encoder_calls.append(1) or encode(*arguments, **options)
    )
    for clip in (clip_frames(video, INDICES), clip_frames(video, OTHER_INDICES)):
        list(engines.shared.answers(clip, [*SCORE_REQUESTS, *TEXT_REQUESTS]))
    assert len(encoder_calls) == 2


# --- a model in parts on several devices -----------------------------------------------------------------------------

# A machine without GPUs uses its disk as the second device. accelerate moves each part to its device with the hooks that
# also move a clip's tokens between GPUs.


def spread_model(spec: ModelSpec, share: float) -> ModelSpec:
    """Return the spec with memory for a share of the weights and disk space for all of them."""
    weights = estimate_memory(spec.weights_folder, spec.dtype, None).weight_bytes
    reserve = compute_max_reserve(weights // 2)
    return replace(spec, free_bytes_by_device={"cpu": reserve + int(weights * share), "disk": reserve + 2 * weights})


@pytest.mark.parametrize(("make_checkpoint", "adapter_class", "share"), [
    (tiny.llava, TransformersAdapter, 0.85), (tiny_video.qwen2_vl, TransformersAdapter, 0.7),
    (tiny.llama, TextAdapter, 0.95), (tiny.t5, TextAdapter, 0.95),
])  # fmt: skip
def test_a_model_in_parts_answers_bitwise_like_a_model_on_one_device(
    make_checkpoint: Callable[[Path], Path],
    adapter_class: Any,
    share: float,
    tmp_path: Path,
    video: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = [SCORE_REQUESTS[0], TEXT_REQUESTS[0]]
    spec = model_spec(make_checkpoint(tmp_path / "m"))
    single_device, parts = adapter_class(spec), adapter_class(spread_model(spec, share))
    for clip in (NO_FRAMES, clip_frames(video, (3, 30))):
        assert list(parts.answers(clip, requests)) == list(single_device.answers(clip, requests))
    if adapter_class is TransformersAdapter:
        assert set(parts.model.hf_device_map.values()) == {"cpu", "disk"}
        monkeypatch.setattr(PrefixCache, "choose_batch_size", lambda *_: 3)  # in batches, as on a GPU
        assert parts.current_clip.answer_all(requests) == single_device.current_clip.answer_all(requests)


def dispatch_on_two_devices(model: Any) -> list[str]:
    """Put the last layer, the norm and the head on `meta`; return the list of devices on which the head computes.

    Like a GPU, `meta` rejects a tensor of another device, but it computes only shapes. Zeros therefore replace the
    head's output.
    """
    decoder, head_devices = model.get_decoder(), []
    names = {id(module): name for name, module in model.named_modules()}
    meta_parts = {names[id(part)]: "meta" for part in (decoder.layers[-1], decoder.norm, model.get_output_embeddings())}
    meta_prefixes = tuple(f"{name}." for name in meta_parts)
    parts = [name for name, part in model.named_modules() if not list(part.children())]
    parts += [name for name, _ in model.named_parameters() if name.rpartition(".")[0] not in parts]
    device_by_part = {name: "cpu" for name in parts if not name.startswith(meta_prefixes)} | meta_parts
    dispatch_model(model, device_by_part, "cpu", skip_keys=model._skip_keys_device_placement, force_hooks=True)

    def return_zeros(head: Any, inputs: Any, logits: Any) -> Any:
        head_devices.append(str(logits.device))
        return torch.zeros(logits.shape)

    model.get_output_embeddings().register_forward_hook(return_zeros)
    return head_devices


@pytest.mark.parametrize("model_type", sorted(CHECKPOINT_MAKERS.keys() & VERIFIED_MODEL_TYPES))
def test_scores_of_a_model_on_two_devices_are_selected_on_the_last_device(
    model_type: str, tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CHECKPOINT_MAKERS[model_type](tmp_path / "m")
    # On `meta`, mixtures of experts support only bfloat16.
    adapter = TransformersAdapter(replace(model_spec(folder, dtype="bfloat16"), prompt_start=START))
    clip, other_clip = clip_frames(video, INDICES), clip_frames(video, OTHER_INDICES)
    list(adapter.answers(clip, SCORE_REQUESTS))
    head_devices = dispatch_on_two_devices(adapter.model)
    (single_answer, *_) = adapter.answers(other_clip, SCORE_REQUESTS)
    assert adapter.current_clip is not None and adapter.current_clip.prefix is not None
    batched_answers = adapter.current_clip.answer_all(SCORE_REQUESTS)
    assert set(head_devices) == {"meta"} and {len(single_answer.scores)} == {
        len(answer.scores) for answer in batched_answers
    } == {2}
