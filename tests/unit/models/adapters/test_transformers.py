"""Video-language models against hand-written calls of the same checkpoints, and the frames that they see."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from reprise.media.decoder import read_footage, read_frames
from reprise.models.base import Answer, Clip, Request
from reprise.models.local.transformers import TransformersAdapter
from tokenizers.processors import TemplateProcessing
from training.prompts import rendered
from transformers import (
    LlavaOnevisionForConditionalGeneration,
    LlavaOnevisionModel,
    LlavaOnevisionProcessor,
    Qwen2VLForConditionalGeneration,
    Qwen2VLModel,
    Qwen2VLProcessor,
)

from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.models.adapters import tiny

QUESTION = "Does the red circle slide left quickly?"
OTHER = "Who is spinning slowly?"
YES_NO = ("Yes", "No")
INDICES = (3, 17, 17, 30)


def qwen_rendered(user: str, system: str = "", video: bool = True) -> str:
    """What Qwen2-VL's template makes of a question."""
    frames = "<|vision_start|><|video_pad|><|vision_end|>" if video else ""
    return (
        f"<|im_start|>system\n{system or 'You are a helpful assistant.'}<|im_end|>\n"
        f"<|im_start|>user\n{frames}{user}<|im_end|>\n<|im_start|>assistant\n"
    )


class Family(NamedTuple):
    """A kind of checkpoint, and how its own classes are called by hand."""

    make: Callable[[Path], Path]
    model: Any
    inner: Any
    processor: Any
    rendered: Callable[..., str]


LLAVA = Family(
    tiny.llava, LlavaOnevisionForConditionalGeneration, LlavaOnevisionModel, LlavaOnevisionProcessor, rendered
)
QWEN = Family(tiny.qwen2_vl, Qwen2VLForConditionalGeneration, Qwen2VLModel, Qwen2VLProcessor, qwen_rendered)
FAMILIES = {
    "llava": LLAVA,
    "qwen2_vl": QWEN,
}


class Subject(NamedTuple):
    """The same checkpoint twice: by the adapter, and by its own classes."""

    family: Family
    folder: Path
    adapter: TransformersAdapter
    model: Any
    processor: Any

    def inputs(self, clip: Clip, question: str, system: str = "") -> dict[str, Any]:
        frames = read_frames(clip.path, clip.indices) if clip.path else None
        text = self.family.rendered(question, system, video=frames is not None)
        videos = None if frames is None else [frames]
        return dict(self.processor(text=[text], videos=videos, return_tensors="pt"))

    def answer(self, clip: Clip, asked: Request) -> Answer:
        return next(iter(self.adapter.answers(clip, [asked])))


def load(family: Family, folder: Path) -> Subject:
    adapter = TransformersAdapter(spec(folder, engine="plain"))
    model = family.model.from_pretrained(folder, dtype=torch.float32).eval()
    return Subject(family, folder, adapter, model, family.processor.from_pretrained(folder))


@pytest.fixture(scope="module", params=FAMILIES)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    family = FAMILIES[request.param]
    return load(family, family.make(tmp_path_factory.mktemp("checkpoint") / request.param))


# --- what is answered --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["", "Be brief."], ids=["plain", "system"])
@pytest.mark.parametrize("indices", [INDICES, ()], ids=["frames", "blind"])
def test_a_score_is_the_probability_of_the_first_answer_token(
    subject: Subject, video: Path, indices: tuple[int, ...], system: str
) -> None:
    clip = shown(video, indices) if indices else BLIND
    inputs = subject.inputs(clip, QUESTION, system)
    with torch.inference_mode():
        found = subject.model.generate(
            **inputs, max_new_tokens=1, do_sample=False, output_logits=True, return_dict_in_generate=True
        )
    probabilities = torch.softmax(found.logits[0][0].double(), -1)
    words = [subject.processor.tokenizer.convert_tokens_to_ids(option) for option in YES_NO]
    expected = Answer(
        scores=tuple(float(probabilities[word]) for word in words),
        frames_shown=len(indices),
        tokens_in=inputs["input_ids"].shape[1],
    )
    answer = subject.answer(clip, request(QUESTION, "score", YES_NO, system=system))
    assert answer == expected, "bit for bit"
    assert answer.scores[0] != answer.scores[1] and 0 < sum(answer.scores) <= 1


def greedy(subject: Subject, inputs: dict[str, Any], limit: int) -> list[int]:
    """The likeliest token, one after the other, each by a forward over everything before it."""
    new: list[int] = []
    end = subject.processor.tokenizer.eos_token_id
    while len(new) < limit and end not in new:
        with torch.inference_mode():
            new.append(int(subject.model(**inputs).logits[0, -1].argmax()))
        for name, value in {"input_ids": new[-1], "attention_mask": 1, "mm_token_type_ids": 0}.items():
            if name in inputs:
                inputs[name] = torch.cat([inputs[name], torch.tensor([[value]])], 1)
    return new


@pytest.mark.parametrize(("ask", "options", "limit"), [("write", (), 12), ("choose", ("A", "B"), 1)])
@pytest.mark.parametrize("indices", [INDICES, ()], ids=["frames", "blind"])
def test_words_are_the_likeliest_ones_up_to_the_limit(
    subject: Subject, video: Path, ask: str, options: tuple[str, ...], limit: int, indices: tuple[int, ...]
) -> None:
    clip = shown(video, indices) if indices else BLIND
    inputs = subject.inputs(clip, QUESTION)
    tokens_in = inputs["input_ids"].shape[1]
    new = greedy(subject, inputs, limit)
    text = subject.processor.tokenizer.decode(new, skip_special_tokens=True)
    answer = subject.answer(clip, request(QUESTION, ask, options, max_tokens=limit))
    assert answer == Answer(text=text, frames_shown=len(indices), tokens_in=tokens_in, tokens_out=len(new))


@pytest.mark.parametrize("template", ["{{ bos_token }}", ""], ids=["in the template", "by the tokenizer"])
def test_the_token_that_begins_a_text_comes_once(template: str, folder: Path) -> None:
    subject, asked = load(LLAVA, folder), request(QUESTION, "score", YES_NO)
    plain, words = subject.answer(BLIND, asked), subject.processor.tokenizer
    words.bos_token = words.pad_token
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{words.bos_token} $A", special_tokens=[(words.bos_token, words.bos_token_id)]
    )
    subject.processor.chat_template = template + subject.processor.chat_template
    subject.processor.save_pretrained(folder)
    inputs = words(words.bos_token + rendered(QUESTION, video=False), add_special_tokens=False, return_tensors="pt")
    with torch.inference_mode():
        probabilities = torch.softmax(subject.model(**inputs, logits_to_keep=1).logits[0, -1].double(), -1)
    (answer,) = TransformersAdapter(spec(folder, engine="plain")).answers(BLIND, [asked])
    assert answer.tokens_in == plain.tokens_in + 1
    assert answer.scores == tuple(probabilities[words.convert_tokens_to_ids([*YES_NO])].tolist())


def test_no_question_and_no_clip_alters_another(subject: Subject, video: Path) -> None:
    asked = [request(QUESTION, "score", YES_NO), request(OTHER, "write"), request(OTHER, "score", YES_NO)]
    clip, other, blind_clip = (
        replace(one, questions=len(asked)) for one in (shown(video, INDICES), shown(video, (40,)), BLIND)
    )
    shared, alone = TransformersAdapter(spec(subject.folder)), TransformersAdapter(spec(subject.folder))
    together = list(shared.answers(clip, asked))
    blind = list(shared.answers(blind_clip, asked))
    elsewhere = list(shared.answers(other, asked))
    for found, where in ((elsewhere, other), (together, clip), (blind, blind_clip)):
        assert found == [answer for one in reversed(asked) for answer in alone.answers(where, [one])][::-1]
    scores = {answer.scores for answers in (together, blind, elsewhere) for answer in answers[::2]}
    assert len(scores) == 6, "every question and every clip has scores of its own"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_and_frames_have_the_type_that_the_file_names(subject: Subject, video: Path, dtype: str) -> None:
    clip, asked = shown(video, INDICES), request(QUESTION, "score", YES_NO)
    (answer,) = TransformersAdapter(spec(subject.folder, dtype=dtype, engine="plain")).answers(clip, [asked])
    model = subject.family.model.from_pretrained(subject.folder, dtype=getattr(torch, dtype)).eval()
    inputs = {
        name: value.to(model.dtype) if value.is_floating_point() else value
        for name, value in subject.inputs(clip, QUESTION).items()
    }
    with torch.inference_mode():
        probabilities = torch.softmax(model(**inputs, logits_to_keep=1).logits[0, -1].double(), -1)
    words = subject.processor.tokenizer.convert_tokens_to_ids(list(YES_NO))
    assert answer.scores == tuple(probabilities[words].tolist())


# --- what is shown -----------------------------------------------------------------------------------------------


def test_a_clip_is_decoded_once(subject: Subject, video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    monkeypatch.setattr(
        "reprise.models.local.frames.read_footage",
        lambda path, indices: decoded.append(indices) or read_footage(path, indices),
    )
    list(subject.adapter.answers(shown(video, INDICES), [request(str(n), "score", YES_NO) for n in range(3)]))
    assert decoded == [INDICES]
