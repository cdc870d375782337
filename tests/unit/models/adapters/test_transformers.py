"""Video-language models: scores and words beside the library's own calls, and how questions and clips are asked."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from reprise.media.decoder import read_footage
from reprise.models.local.transformers import TransformersAdapter
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForImageTextToText, AutoProcessor

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters.natives import QUESTION, YES_NO, Native, check, check_words, load
from tests.unit.models.adapters.tiny_video import VIDEO

OTHER = "Who is spinning slowly?"
INDICES = (3, 17, 17, 30)
SCORE = request(QUESTION, "score", YES_NO)


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


@pytest.mark.parametrize("template", ["{{ bos_token }}", ""], ids=["in the template", "by the tokenizer"])
def test_the_token_that_begins_a_text_comes_once(template: str, folder: Path) -> None:
    (plain,) = TransformersAdapter(spec(folder)).answers(BLIND, [SCORE])
    processor = AutoProcessor.from_pretrained(folder)
    words, whole = processor.tokenizer, processor.chat_template
    words.bos_token = words.pad_token
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{words.bos_token} $A", special_tokens=[(words.bos_token, words.bos_token_id)]
    )
    processor.chat_template = template + whole
    processor.save_pretrained(folder)
    asked = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    text = processor.apply_chat_template(asked, chat_template=whole, add_generation_prompt=True, tokenize=False)
    inputs = words(words.bos_token + text, add_special_tokens=False, return_tensors="pt")
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    with torch.inference_mode():
        probabilities = torch.softmax(model(**inputs, logits_to_keep=1).logits[0, -1].double(), -1)
    (answer,) = TransformersAdapter(spec(folder, engine="plain")).answers(BLIND, [SCORE])
    assert answer.tokens_in == plain.tokens_in + 1
    assert answer.scores == tuple(probabilities[words.convert_tokens_to_ids([*YES_NO])].tolist())


def test_no_question_and_no_clip_alters_another(native: Native, video: Path) -> None:
    asked = [SCORE, request(OTHER, "write"), request(OTHER, "score", YES_NO)]
    clips = [replace(one, questions=len(asked)) for one in (shown(video, INDICES), BLIND, shown(video, (40,)))]
    shared, alone = TransformersAdapter(spec(native.folder)), TransformersAdapter(spec(native.folder))
    found = [list(shared.answers(clip, asked)) for clip in clips]
    for answers, clip in reversed([*zip(found, clips, strict=True)]):
        assert answers == [answer for one in reversed(asked) for answer in alone.answers(clip, [one])][::-1]
    scores = {answer.scores for answers in found for answer in answers[::2]}
    assert len(scores) == 6, "every question and every clip has scores of its own"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_and_frames_have_the_type_that_the_file_names(native: Native, video: Path, dtype: str) -> None:
    clip = shown(video, INDICES)
    (answer,) = TransformersAdapter(spec(native.folder, dtype=dtype, engine="plain")).answers(clip, [SCORE])
    model = type(native.model).from_pretrained(native.folder, dtype=getattr(torch, dtype)).eval()
    given = native.by_hand(clip, SCORE)
    inputs = {name: value.to(model.dtype) if value.is_floating_point() else value for name, value in given.items()}
    with torch.inference_mode():
        probabilities = torch.softmax(model(**inputs, logits_to_keep=1).logits[0, -1].double(), -1)
    words = native.processor.tokenizer.convert_tokens_to_ids(list(YES_NO))
    assert answer.scores == tuple(probabilities[words].tolist())


def test_a_clip_is_decoded_once(native: Native, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    monkeypatch.setattr(
        "reprise.models.local.frames.read_footage",
        lambda path, indices: decoded.append(indices) or read_footage(path, indices),
    )
    list(native.adapter.answers(shown(video, INDICES), [request(str(n), "score", YES_NO) for n in range(3)]))
    assert decoded == [INDICES]
