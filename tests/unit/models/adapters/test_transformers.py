"""Video-language models: scores and words beside the library's own calls."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.models.local.transformers import TransformersAdapter
from tokenizers.processors import TemplateProcessing
from transformers import AutoProcessor

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters.natives import QUESTION, YES_NO, Native, check, check_words, load
from tests.unit.models.adapters.tiny import llava
from tests.unit.models.adapters.tiny_video import VIDEO

INDICES = (3, 17, 17, 30)


@pytest.fixture(scope="module", params=["llava_onevision", "qwen2_vl"])
def native(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Native:
    return load(request.param, VIDEO[request.param], tmp_path_factory.mktemp("checkpoint") / request.param)


@pytest.mark.parametrize("system", ["", "Be brief."], ids=["plain", "system"])
@pytest.mark.parametrize("indices", [INDICES, ()], ids=["frames", "blind"])
def test_scores_and_words_are_those_of_the_call_by_hand(
    native: Native, video: Path, indices: tuple[int, ...], system: str
) -> None:
    clip = shown(video, indices) if indices else BLIND
    scores = check(native, clip, system=system).scores
    assert scores[0] != scores[1] and 0 < sum(scores) <= 1
    for tokens in (1, 12):
        check_words(native, clip, system=system, tokens=tokens)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_and_frames_have_the_type_that_the_file_names(dtype: str, video: Path, tmp_path: Path) -> None:
    check(load("llava_onevision", llava, tmp_path / "m", dtype), shown(video, INDICES))


def begun(template: str) -> Callable[[Path], Path]:
    """A checkpoint whose tokenizer writes a token that begins a text, and whose template may write it too."""

    def make(folder: Path) -> Path:
        processor = AutoProcessor.from_pretrained(llava(folder))
        words = processor.tokenizer
        words.bos_token = words.pad_token
        begin = [(words.bos_token, words.bos_token_id)]
        words.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{words.bos_token} $A", special_tokens=begin
        )
        processor.chat_template = template + processor.chat_template
        processor.save_pretrained(folder)
        return folder

    return make


def test_the_token_that_begins_a_text_comes_once(tmp_path: Path, folder: Path) -> None:
    asked = [request(QUESTION, "score", YES_NO)]
    (without,) = TransformersAdapter(spec(folder, engine="plain")).answers(BLIND, asked)
    by_tokenizer = check(load("llava_onevision", begun(""), tmp_path / "a"), BLIND)
    (in_template,) = TransformersAdapter(spec(begun("{{ bos_token }}")(tmp_path / "b"), engine="plain")).answers(
        BLIND, asked
    )
    assert in_template == by_tokenizer and by_tokenizer.tokens_in == without.tokens_in + 1
