"""The shared engine against the plain one, for every class that shares an encoding; and what must not pass for equal."""

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
from tests.unit.models.adapters.tiny_video import IMAGES, MORE, VIDEO
from tests.unit.requests import BLIND, request, shown, spec

START = "Carefully watch the video. Here is a caption: "
CAPTIONS = ("the red circle slides left.", "who spins? a square", "1 jump", '"blue"')
QUESTIONS = [request(START + caption, "score", ("Yes", "No")) for caption in CAPTIONS]
TEXTS = [request(START + caption, "write", max_tokens=10) for caption in CAPTIONS]
INDICES, OTHERS = (3, 17, 30, 40), (5, 20, 41, 44)
CLOSE = 1e-5
FAMILIES = {**VIDEO, **IMAGES, "glm46v": MORE["glm46v"]}


class Engines:
    """A checkpoint that is loaded with both engines."""

    def __init__(self, folder: Path) -> None:
        plain, shared = (replace(spec(folder, engine=engine), prompt_start=START) for engine in ("plain", "shared"))
        self.plain, self.shared = TransformersAdapter(plain), TransformersAdapter(shared)


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(FAMILIES[request.param](tmp_path_factory.mktemp("checkpoint") / request.param))


def assert_close(found: list[Answer], wanted: list[Answer]) -> None:
    """Check that scores differ only by rounding errors, and everything else is the same."""
    assert [replace(one, scores=()) for one in found] == [replace(one, scores=()) for one in wanted]
    assert not any(one.error for one in found)
    for one, other in zip(found, wanted, strict=True):
        assert one.scores == pytest.approx(other.scores, rel=0, abs=CLOSE)


def test_both_engines_give_the_same_numbers_and_tokens_and_no_question_alters_another(
    engines: Engines, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = engines.shared.model.config.model_type
    monkeypatch.setattr(PrefixCache, "choose_batch_size", lambda *_: 3)  # so that the second batch is filled up
    for clip in (shown(video, INDICES), shown(video, OTHERS[:1])):
        for asked in (QUESTIONS, TEXTS):
            found, plain = (list(one.answers(clip, asked)) for one in (engines.shared, engines.plain))
            assert_close(found, plain)
            assert engines.shared.current_clip is not None and (engines.shared.current_clip.prefix is not None) == (
                kind in VERIFIED_MODEL_TYPES
            )
            assert_close(engines.shared.current_clip.answer_all(asked), plain)  # scores too, as on a GPU
            # As in a job that goes on where another was ended.
            rest = replace(clip, question_count=len(asked))
            assert [answer for one in asked[::-1] for answer in engines.shared.answers(rest, [one])] == found[::-1]
    only = replace(shown(video, INDICES), question_count=1)  # the only question of a run about a clip is read at once
    assert_close(list(engines.shared.answers(only, QUESTIONS[:1])), list(engines.plain.answers(only, QUESTIONS[:1])))
    assert engines.shared.current_clip is not None and engines.shared.current_clip.prefix is None
    assert_close(list(engines.shared.answers(BLIND, TEXTS)), list(engines.plain.answers(BLIND, TEXTS)))


def test_frames_are_encoded_once_a_clip(engines: Engines, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, looked = type(engines.shared.model.model), []
    is_video = engines.shared.preparer.processor.frame_mode == "video" and hasattr(kind, "get_video_features")
    name = "get_video_features" if is_video else "get_image_features"
    look = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda *given, **named: looked.append(1) or look(*given, **named))
    for clip in (shown(video, INDICES), shown(video, OTHERS)):
        list(engines.shared.answers(clip, [*QUESTIONS, *TEXTS]))
    assert len(looked) == 2


# --- a model in parts on several devices -----------------------------------------------------------------------------

# The second device of a machine without GPUs is its disk: accelerate brings each part to where it computes, by the hooks
# that bring a clip's tokens from one GPU to the next.


def spread(one: ModelSpec, share: float) -> ModelSpec:
    """Return the spec with room for a share of the weights in memory, and for all of them on disk."""
    weights = estimate_memory(one.weights, one.dtype, None).weights
    beside = compute_max_reserve(weights // 2)
    return replace(one, memory={"cpu": beside + int(weights * share), "disk": beside + 2 * weights})


@pytest.mark.parametrize(("make", "kind", "share"), [
    (tiny.llava, TransformersAdapter, 0.85), (tiny_video.qwen2_vl, TransformersAdapter, 0.7),
    (tiny.llama, TextAdapter, 0.95), (tiny.t5, TextAdapter, 0.95),
])  # fmt: skip
def test_a_model_in_parts_answers_as_a_whole_one_bit_for_bit(
    make: Callable[[Path], Path], kind: Any, share: float, tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [QUESTIONS[0], TEXTS[0]]
    whole = spec(make(tmp_path / "m"))
    one, parts = kind(whole), kind(spread(whole, share))
    for clip in (BLIND, shown(video, (3, 30))):
        assert list(parts.answers(clip, asked)) == list(one.answers(clip, asked))
    if kind is TransformersAdapter:
        assert set(parts.model.hf_device_map.values()) == {"cpu", "disk"}
        monkeypatch.setattr(PrefixCache, "choose_batch_size", lambda *_: 3)  # in batches, as on a GPU
        assert parts.current_clip.answer_all(asked) == one.current_clip.answer_all(asked)


def on_two_devices(model: Any) -> list[str]:
    """Put the last layer, the norm and the head on `meta`; return the list of devices on which the head computes.

    `meta` computes shapes alone and refuses a tensor of another device, as a GPU does. Nothing comes back from it, so
    the head's output is replaced by zeros.
    """
    decoder, ended = model.get_decoder(), []
    names = {id(module): name for name, module in model.named_modules()}
    last = {names[id(part)]: "meta" for part in (decoder.layers[-1], decoder.norm, model.get_output_embeddings())}
    inside = tuple(f"{name}." for name in last)
    parts = [name for name, part in model.named_modules() if not list(part.children())]
    parts += [name for name, _ in model.named_parameters() if name.rpartition(".")[0] not in parts]
    places = {name: "cpu" for name in parts if not name.startswith(inside)} | last
    dispatch_model(model, places, "cpu", skip_keys=model._skip_keys_device_placement, force_hooks=True)

    def zeros(head: Any, inputs: Any, logits: Any) -> Any:
        ended.append(str(logits.device))
        return torch.zeros(logits.shape)

    model.get_output_embeddings().register_forward_hook(zeros)
    return ended


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() & VERIFIED_MODEL_TYPES))
def test_scores_of_a_model_on_two_devices_are_selected_where_it_ends(
    family: str, tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = FAMILIES[family](tmp_path / "m")
    # Mixed experts have no other number format on `meta`.
    adapter = TransformersAdapter(replace(spec(folder, dtype="bfloat16"), prompt_start=START))
    clip, other = shown(video, INDICES), shown(video, OTHERS)
    list(adapter.answers(clip, QUESTIONS))
    ended = on_two_devices(adapter.model)
    (alone, *_) = adapter.answers(other, QUESTIONS)
    assert adapter.current_clip is not None and adapter.current_clip.prefix is not None
    together = adapter.current_clip.answer_all(QUESTIONS)
    assert set(ended) == {"meta"} and {len(alone.scores)} == {len(one.scores) for one in together} == {2}
