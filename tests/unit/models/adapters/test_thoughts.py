"""Models that think before they answer: asked by the arguments of their template, read behind the thought, or refused."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.base import Adapter, Answer, ClipFrames, Request
from reprise.models.inference.job import _is_truncated
from reprise.models.inference.lazy import LazyModel
from reprise.models.inference.response_cache import ClipRequests, Failures, ResponseCache
from reprise.models.local.checks import collect_notes, find_incompatibilities
from reprise.models.local.text import TextAdapter
from reprise.models.local.transformers import TransformersAdapter
from reprise.models.settings import TransformersSettings
from reprise.models.thoughts import strip_thought
from reprise.stages.infer import run_inference
from transformers import AutoModelForCausalLM, AutoProcessor, AutoTokenizer

from tests.unit.models.adapters import tiny
from tests.unit.models.adapters.tiny_video import CHATML, chat
from tests.unit.requests import BLIND, request, run_key, spec

QUESTION = "the red circle slides left. who spins?"
YES_NO = ("Yes", "No")
SCORE, WRITE = request(QUESTION, "score", YES_NO), request(QUESTION, "write", max_tokens=8)
THINKS = "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}"
ADAPTERS: dict[str, Any] = {"transformers": (TransformersAdapter, AutoProcessor), "text": (TextAdapter, AutoTokenizer)}


def sound(folder: Path, adapter: str = "text") -> Path:
    if adapter == "transformers":
        return tiny.llava(folder)
    plain = chat(*CHATML, {}).replace("{% for part in message['content'] %}{% else %}{{ part['text'] }}{% endif %}", "")
    template = plain.replace("{% endfor %}<|im_end|>", "{{ message['content'] }}<|im_end|>", 1)
    return tiny.llama(folder, template, tiny.MANY_WORDS)


def thinking(folder: Path, part: Any = AutoTokenizer) -> Path:
    """Copy a checkpoint with a template that opens a thought, like those of Qwen3-VL-Thinking and Qwen3.5."""
    copy = shutil.copytree(folder, folder.with_name("thinking"))
    prepares, end = part.from_pretrained(copy), "{% endif %}"
    prepares.chat_template = prepares.chat_template.rpartition(end)[0] + THINKS + end
    prepares.save_pretrained(copy)
    return Path(copy)


def answer(model: Adapter, asked: Request) -> Answer:
    return next(iter(model.answers(BLIND, [asked])))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_scores_are_rejected_if_the_template_opens_a_thought(adapter: str, tmp_path: Path) -> None:
    kind, part = ADAPTERS[adapter]
    plain = sound(tmp_path / "plain", adapter)
    folder = thinking(plain, part)
    with pytest.raises(UserError, match=r"/thinking: the chat template opens a thought .*enable_thinking: false"):
        kind(replace(spec(folder), options=(YES_NO,)))
    told = kind(replace(spec(folder, template_arguments={"enable_thinking": False}), options=(YES_NO,)))
    for asked in (SCORE, WRITE):
        assert answer(told, asked) == answer(kind(spec(plain)), asked)
    message = "the thought did not end within 8 tokens. Raise settings.max_tokens in the model's file"
    assert answer(kind(spec(folder)), WRITE) == Answer(error="still_thinking", message=message)


@pytest.mark.parametrize("is_special", [False, True])
def test_the_thought_is_removed_from_an_answer(is_special: bool, tmp_path: Path) -> None:
    folder = thinking(sound(tmp_path / "m"))
    words = AutoTokenizer.from_pretrained(folder)
    words.add_tokens(["</think>"], special_tokens=is_special)
    words.save_pretrained(folder)
    messages = [{"role": "user", "content": WRITE.prompt}]
    text = words.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    inputs = words(text, add_special_tokens=False, return_tensors="pt")

    def written(tokens: int) -> list[int]:
        """Return the tokens that plain transformers writes."""
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        ids = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)[0]
        return [int(one) for one in ids[inputs["input_ids"].shape[1] :]]

    close, first = words.convert_tokens_to_ids("</think>"), written(3)
    assert len(set(first)) == 3
    tiny.change(folder / "generation_config.json", sequence_bias=[[[first[2], close], 1e4]])
    found, new = answer(TextAdapter(spec(folder, max_tokens=11)), WRITE), written(11)
    assert new[3] == close and found.tokens_out == len(new) == 11, "its own number of tokens"
    behind = words.decode([one for one in new[4:] if one != close], skip_special_tokens=True).lstrip()
    assert found.text.replace("</think>", "") == behind and not found.error
    assert words.decode(new[:3]) not in found.text


@pytest.mark.parametrize(("text", "is_open", "expected"), [
    ("Yes", False, "Yes"), ("<think>a</think>\n\nB", False, "B"), ("a</think> B", True, "B"), ("a", True, None),
    ("<think>a", False, None), ("  <think>", False, None), ("I think so", False, "I think so"), ("a</think>", True, ""),
])  # fmt: skip
def test_where_a_thought_ends(text: str, is_open: bool, expected: str | None) -> None:
    assert strip_thought(text, opens_thought=is_open) == expected


# --- what options hold -------------------------------------------------------------------------------------------


def asked(folder: Path, where: Path, clips: int, ask: str = "score", **serving: Any) -> list[dict[str, Any]]:
    key = run_key("text", checkpoint=str(folder)).model_copy(update={"serving": serving})
    questions = tuple(request(f"does {word} slide?", ask, YES_NO) for word in ("it", "he", "red", "blue", "who"))
    works = [ClipRequests(ClipFrames(str(at), None, (), ()), f"r{at}", questions) for at in range(clips)]
    with LazyModel(key, Store(where), 1) as model:
        rows, _ = run_inference(works, model, ResponseCache(where / "j"), Failures(where / "f", 3), key)
    return rows


def test_a_run_aborts_if_the_options_have_too_little_probability(tmp_path: Path) -> None:
    folder = sound(tmp_path / "m")
    message = (
        r"^b/p/s/m: the options have [\d.e-]+ % of the probability of the first token, averaged over the first 8 "
        r"requests; scores need at least 50 %.*see `reprise check`"
    )
    with pytest.raises(UserError, match=message):
        asked(folder, tmp_path, 9)
    assert len(ResponseCache(tmp_path / "j")) == 10, "two clips of nine"
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(UserError, match=message):  # what is known is not asked again to find that out
        asked(folder, tmp_path, 9)
    assert (tmp_path / "j").read_bytes() == before
    with pytest.raises(UserError, match="averaged over the first 5 requests"):
        asked(folder, tmp_path / "few", 1)
    rows = asked(folder, tmp_path, 9, option_share=0.0)
    assert len(rows) == 45
    assert asked(folder, tmp_path, 9) == rows, "of a run that is answered nothing is left to be saved"


def test_a_run_aborts_if_answers_are_truncated_before_an_option(tmp_path: Path) -> None:
    """The thought is unmarked, as from a server without a reasoning parser."""
    message = r"^b/p/s/m: 100 % of the answers to the first 8 requests were truncated before they named an option; at least 50 %"
    folder = sound(tmp_path / "m")
    with pytest.raises(UserError, match=message):
        asked(folder, tmp_path, 9, "choose")
    assert len(asked(folder, tmp_path, 9, "choose", option_share=0.0)) == 45


@pytest.mark.parametrize(("text", "tokens", "expected"), [
    ("Let me consider A.", 8, True), ("Alright, B", 8, True), ("", 8, True), ("Let me see: A", 7, False),
    ("A. The red circle", 8, False), ("**(b)** since", 8, False), (" A", 8, False),
])  # fmt: skip
def test_what_counts_as_truncated_before_an_option(text: str, tokens: int, expected: bool) -> None:
    assert _is_truncated(request("which?", "choose", ("A", "B")), Answer(text, tokens_out=tokens)) == expected


# --- what a check says of the files ------------------------------------------------------------------------------


def test_files_and_settings_without_use_are_named(tmp_path: Path) -> None:
    folder = thinking(tiny.llava(tmp_path / "m"), AutoProcessor)
    assert list(find_incompatibilities("transformers", spec(folder))) == []
    tiny.change(folder / "generation_config.json", repetition_penalty=1.1, top_k=3, do_sample=True)
    (folder / "lora").mkdir()
    for name in ("pytorch_model.bin", "mm_projector.bin", "optimizer.pt", "lora/a.pt", "modeling.py"):
        (folder / name).touch()
    tiny.change(folder / "config.json", auto_map={"AutoModel": "modeling.X"})
    found = "\n".join(collect_notes(spec(folder)))
    assert "kept: repetition_penalty: 1.1 (" in found and "not used: do_sample: True, top_k: 3 (" in found
    assert "lora/a.pt, mm_projector.bin, modeling.py, pytorch_model.bin\n" in found and "optimizer" not in found
    assert "the chat template opens one" in found


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_beside_a_model_is_refused(adapter: str, tmp_path: Path) -> None:
    folder = sound(tmp_path / "m", adapter)
    (folder / "adapter_config.json").write_text("[]")
    (found,) = find_incompatibilities(adapter, spec(folder))
    assert "/adapter_config.json: LoRA adapters are not supported" in found
    with pytest.raises(UserError, match="LoRA adapters are not supported"):
        ADAPTERS[adapter][0](spec(folder))


@pytest.mark.parametrize(("file", "content"), [
    ("processor_config.json", "[1]"),
    ("processor_config.json", '{"image_processor": 3, "processor_class": "LlavaOnevisionProcessor"}'),
    ("chat_template.jinja", "{% for %}"),
    ("tokenizer_config.json", "[]"),
    ("config.json", '{"model_type": "llava_onevision", "text_config": 3}'),
    ("generation_config.json", "[]"),
])  # fmt: skip
def test_a_file_of_an_unknown_form_is_a_message(file: str, content: str, tmp_path: Path) -> None:
    folder = tiny.llava(tmp_path / "m")
    (folder / file).write_text(content)
    found = list(find_incompatibilities("transformers", spec(folder)))
    assert found and str(folder) in found[0]
    with pytest.raises(UserError, match=str(folder)):
        TransformersAdapter(spec(folder))


def test_arguments_that_the_workflow_gives_itself_are_refused() -> None:
    with pytest.raises(ValidationError, match="tokenize: set by the protocol, by other settings or by the workflow"):
        TransformersSettings.model_validate({"template_arguments": {"tokenize": True}})
    assert TransformersSettings().model_dump().keys() == {
        "frames", "min_pixels", "max_pixels", "total_pixels", "engine", "quantised",
    }, "defaults that came later are in no key"  # fmt: skip
