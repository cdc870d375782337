"""Every native class that `config/models` names, and newer ones, with the library's processor: one frame and eight."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.models.local.checks import find_incompatibilities
from reprise.models.local.transformers import TransformersAdapter
from tokenizers.processors import TemplateProcessing
from transformers import AutoProcessor

from tests.unit.models.adapters.natives import QUESTION, YES_NO, Native, check, check_words, load
from tests.unit.models.adapters.tiny import llava
from tests.unit.models.adapters.tiny_video import IMAGES, MORE, VIDEO
from tests.unit.requests import BLIND, request, shown, spec

MADE = {**VIDEO, **IMAGES, **MORE}
EIGHT = (1, 7, 7, 19, 43, 31, 37, 25)


@pytest.fixture(scope="module", params=MADE)
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return load(request.param, MADE[request.param], tmp_path_factory.mktemp("native") / request.param)


def test_a_class_receives_the_planned_frames_and_gives_the_reference_answer(native: Native, video: Path) -> None:
    for indices in ((21,), EIGHT):
        check(native, shown(video, indices))


@pytest.mark.parametrize("name", ["llava_onevision", "qwen2_vl"])
def test_scores_and_words_are_those_of_the_call_by_hand(name: str, video: Path, tmp_path: Path) -> None:
    """This includes a system text, and a text-only question."""
    native = load(name, MADE[name], tmp_path / name)
    for clip in (shown(video, EIGHT), BLIND):
        scores = check(native, clip, system="Be brief.").scores
        assert scores[0] != scores[1] and 0 < sum(scores) <= 1
        check_words(native, clip, system="Be brief.")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_and_frames_have_the_type_that_the_file_names(dtype: str, video: Path, tmp_path: Path) -> None:
    check(load("llava_onevision", llava, tmp_path / "m", dtype), shown(video, EIGHT))


def begun(template: str) -> Callable[[Path], Path]:
    """Return a function that makes a checkpoint whose tokenizer, and maybe its template, adds a first token."""

    def make(folder: Path) -> Path:
        processor = AutoProcessor.from_pretrained(llava(folder))
        words = processor.tokenizer
        words.bos_token = begin = words.pad_token
        marks = [(begin, words.bos_token_id)]
        words.backend_tokenizer.post_processor = TemplateProcessing(single=f"{begin} $A", special_tokens=marks)
        processor.chat_template = template + processor.chat_template
        processor.save_pretrained(folder)
        return folder

    return make


def test_the_token_that_begins_a_text_comes_once(tmp_path: Path) -> None:
    asked = request(QUESTION, "score", YES_NO)
    makes = {"without": llava, "by tokenizer": begun(""), "in template": begun("{{ bos_token }}")}
    natives = {name: load("llava_onevision", make, tmp_path / name) for name, make in makes.items()}
    without, in_template = (natives[name].ask(BLIND, asked)[0] for name in ("without", "in template"))
    by_tokenizer = check(natives["by tokenizer"], BLIND)
    assert in_template == by_tokenizer and by_tokenizer.tokens_in == without.tokens_in + 1


@pytest.mark.parametrize("engine", ["plain", "shared"])
@pytest.mark.parametrize("name", ["ernie4_5_vl_moe", "llama4"])
def test_inputs_of_a_question_are_prepared_for_each_question(
    name: str, engine: str, tmp_path: Path, video: Path
) -> None:
    native = load(name, MADE[name], tmp_path / name, engine=engine)
    for question in ("who?", "the red circle slides left. who spins?"):
        check(native, shown(video, EIGHT), question=question)


def test_an_unsupported_class_is_rejected_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mllama"}')
    (reason,) = find_incompatibilities("transformers", spec(tmp_path))
    assert "models of type mllama are not supported: they receive frames by cross attention" in reason
    with pytest.raises(UserError, match="by cross attention"):
        TransformersAdapter(spec(tmp_path))
