"""Test every native class that `config/models` names, and newer classes, with one frame and with eight."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.models.local.checks import find_incompatibilities
from reprise.models.local.transformers import TransformersAdapter
from tokenizers.processors import TemplateProcessing
from transformers import AutoProcessor

from tests.unit.models.adapters.natives import QUESTION, YES_NO, Native, check, check_text, load
from tests.unit.models.adapters.tiny import llava
from tests.unit.models.adapters.tiny_video import IMAGE_CLASSES, UNLISTED_CLASSES, VIDEO_CLASSES
from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec

CHECKPOINT_MAKERS = {**VIDEO_CLASSES, **IMAGE_CLASSES, **UNLISTED_CLASSES}
EIGHT_INDICES = (1, 7, 7, 19, 43, 31, 37, 25)


@pytest.fixture(scope="module", params=CHECKPOINT_MAKERS)
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return load(request.param, CHECKPOINT_MAKERS[request.param], tmp_path_factory.mktemp("native") / request.param)


def test_a_class_receives_the_planned_frames_and_gives_the_reference_answer(native: Native, video: Path) -> None:
    for indices in ((21,), EIGHT_INDICES):
        check(native, clip_frames(video, indices))


@pytest.mark.parametrize("name", ["llava_onevision", "qwen2_vl"])
def test_scores_and_texts_equal_those_of_the_model_card_call(name: str, video: Path, tmp_path: Path) -> None:
    """The requests have a system text; one is text-only."""
    native = load(name, CHECKPOINT_MAKERS[name], tmp_path / name)
    for clip in (clip_frames(video, EIGHT_INDICES), NO_FRAMES):
        scores = check(native, clip, system="Be brief.").scores
        assert scores[0] != scores[1] and 0 < sum(scores) <= 1
        check_text(native, clip, system="Be brief.")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_and_frames_have_the_configured_dtype(dtype: str, video: Path, tmp_path: Path) -> None:
    check(load("llava_onevision", llava, tmp_path / "m", dtype), clip_frames(video, EIGHT_INDICES))


def add_begin_token(template: str) -> Callable[[Path], Path]:
    """Return a function that makes a checkpoint whose tokenizer adds a first token; `template` starts its chat template."""

    def make(folder: Path) -> Path:
        processor = AutoProcessor.from_pretrained(llava(folder))
        tokenizer = processor.tokenizer
        tokenizer.bos_token = begin_token = tokenizer.pad_token
        special_tokens = [(begin_token, tokenizer.bos_token_id)]
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{begin_token} $A", special_tokens=special_tokens
        )
        processor.chat_template = template + processor.chat_template
        processor.save_pretrained(folder)
        return folder

    return make


def test_the_begin_token_is_added_once(tmp_path: Path) -> None:
    request = make_request(QUESTION, "score", YES_NO)
    makers = {"without": llava, "by tokenizer": add_begin_token(""), "in template": add_begin_token("{{ bos_token }}")}
    natives = {
        name: load("llava_onevision", make_checkpoint, tmp_path / name) for name, make_checkpoint in makers.items()
    }
    without_token, in_template = (
        natives[name].query_adapter(NO_FRAMES, request)[0] for name in ("without", "in template")
    )
    by_tokenizer = check(natives["by tokenizer"], NO_FRAMES)
    assert in_template == by_tokenizer and by_tokenizer.tokens_in == without_token.tokens_in + 1


@pytest.mark.parametrize("engine", ["plain", "shared"])
@pytest.mark.parametrize("name", ["ernie4_5_vl_moe", "llama4"])
def test_inputs_that_depend_on_the_question_are_prepared_for_each_request(
    name: str, engine: str, tmp_path: Path, video: Path
) -> None:
    native = load(name, CHECKPOINT_MAKERS[name], tmp_path / name, engine=engine)
    for question in ("who?", "the red circle slides left. who spins?"):
        check(native, clip_frames(video, EIGHT_INDICES), question=question)


def test_an_unsupported_class_is_rejected_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mllama"}')
    (reason,) = find_incompatibilities("transformers", model_spec(tmp_path))
    assert "models of type mllama are not supported: they receive frames by cross attention" in reason
    with pytest.raises(UserError, match="by cross attention"):
        TransformersAdapter(model_spec(tmp_path))
