"""Test models that think before they answer: template arguments, the answer after the thought, and rejected runs."""

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
from tests.unit.requests import NO_FRAMES, make_request, make_run_key, model_spec

QUESTION = "the red circle slides left. who spins?"
YES_NO = ("Yes", "No")
SCORE, WRITE = make_request(QUESTION, "score", YES_NO), make_request(QUESTION, "write", max_tokens=8)
THINKS = "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}"
ADAPTERS: dict[str, Any] = {"transformers": (TransformersAdapter, AutoProcessor), "text": (TextAdapter, AutoTokenizer)}


def make_plain_checkpoint(folder: Path, adapter: str = "text") -> Path:
    if adapter == "transformers":
        return tiny.llava(folder)
    plain = chat(*CHATML, {}).replace("{% for part in message['content'] %}{% else %}{{ part['text'] }}{% endif %}", "")
    template = plain.replace("{% endfor %}<|im_end|>", "{{ message['content'] }}<|im_end|>", 1)
    return tiny.llama(folder, template, tiny.LARGE_VOCABULARY)


def make_thinking_checkpoint(folder: Path, processor_class: Any = AutoTokenizer) -> Path:
    """Copy a checkpoint with a template that opens a thought, like those of Qwen3-VL-Thinking and Qwen3.5."""
    copy = shutil.copytree(folder, folder.with_name("thinking"))
    processor, end = processor_class.from_pretrained(copy), "{% endif %}"
    processor.chat_template = processor.chat_template.rpartition(end)[0] + THINKS + end
    processor.save_pretrained(copy)
    return Path(copy)


def query_model(model: Adapter, request: Request) -> Answer:
    return next(iter(model.answers(NO_FRAMES, [request])))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_scores_are_rejected_if_the_template_opens_a_thought(adapter: str, tmp_path: Path) -> None:
    adapter_class, processor_class = ADAPTERS[adapter]
    plain = make_plain_checkpoint(tmp_path / "plain", adapter)
    folder = make_thinking_checkpoint(plain, processor_class)
    with pytest.raises(UserError, match=r"/thinking: the chat template opens a thought .*enable_thinking: false"):
        adapter_class(replace(model_spec(folder), option_sets=(YES_NO,)))
    without_thought = adapter_class(
        replace(model_spec(folder, template_arguments={"enable_thinking": False}), option_sets=(YES_NO,))
    )
    for request in (SCORE, WRITE):
        assert query_model(without_thought, request) == query_model(adapter_class(model_spec(plain)), request)
    message = "the thought did not end within 8 tokens. Raise settings.max_tokens in the model's file"
    assert query_model(adapter_class(model_spec(folder)), WRITE) == Answer(error="still_thinking", message=message)


@pytest.mark.parametrize("is_special", [False, True])
def test_the_thought_is_removed_from_an_answer(is_special: bool, tmp_path: Path) -> None:
    folder = make_thinking_checkpoint(make_plain_checkpoint(tmp_path / "m"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["</think>"], special_tokens=is_special)
    tokenizer.save_pretrained(folder)
    messages = [{"role": "user", "content": WRITE.prompt}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    inputs = tokenizer(text, add_special_tokens=False, return_tensors="pt")

    def generate_tokens(max_tokens: int) -> list[int]:
        """Return the tokens that plain transformers generates."""
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        ids = model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False)[0]
        return [int(token) for token in ids[inputs["input_ids"].shape[1] :]]

    close_token, first_tokens = tokenizer.convert_tokens_to_ids("</think>"), generate_tokens(3)
    assert len(set(first_tokens)) == 3
    tiny.update_json(folder / "generation_config.json", sequence_bias=[[[first_tokens[2], close_token], 1e4]])
    answer, new_tokens = query_model(TextAdapter(model_spec(folder, max_tokens=11)), WRITE), generate_tokens(11)
    assert new_tokens[3] == close_token and answer.tokens_out == len(new_tokens) == 11, "as many as settings.max_tokens"
    expected_text = tokenizer.decode(
        [token for token in new_tokens[4:] if token != close_token], skip_special_tokens=True
    ).lstrip()
    assert answer.text.replace("</think>", "") == expected_text and not answer.error
    assert tokenizer.decode(new_tokens[:3]) not in answer.text


@pytest.mark.parametrize(("text", "is_open", "expected"), [
    ("Yes", False, "Yes"), ("<think>a</think>\n\nB", False, "B"), ("a</think> B", True, "B"), ("a", True, None),
    ("<think>a", False, None), ("  <think>", False, None), ("I think so", False, "I think so"), ("a</think>", True, ""),
])  # fmt: skip
def test_the_end_of_a_thought_is_found(text: str, is_open: bool, expected: str | None) -> None:
    assert strip_thought(text, opens_thought=is_open) == expected


# --- probability of the options ----------------------------------------------------------------------------------


def run_job(
    folder: Path, cache_folder: Path, clip_count: int, ask: str = "score", **serving: Any
) -> list[dict[str, Any]]:
    key = make_run_key("text", checkpoint=str(folder)).model_copy(update={"serving": serving})
    requests = tuple(make_request(f"does {word} slide?", ask, YES_NO) for word in ("it", "he", "red", "blue", "who"))
    pending = [ClipRequests(ClipFrames(str(index), None, (), ()), f"r{index}", requests) for index in range(clip_count)]
    with LazyModel(key, Store(cache_folder), 1) as model:
        rows, _ = run_inference(pending, model, ResponseCache(cache_folder / "j"), Failures(cache_folder / "f", 3), key)
    return rows


def test_a_run_aborts_if_the_options_have_too_little_probability(tmp_path: Path) -> None:
    folder = make_plain_checkpoint(tmp_path / "m")
    message = (
        r"^b/p/s/m: the options have [\d.e-]+ % of the probability of the first token, averaged over the first 8 "
        r"requests; scores need at least 50 %.*see `reprise check`"
    )
    with pytest.raises(UserError, match=message):
        run_job(folder, tmp_path, 9)
    assert len(ResponseCache(tmp_path / "j")) == 10, "the requests of two of the nine clips"
    cache_content = (tmp_path / "j").read_bytes()
    with pytest.raises(UserError, match=message):  # cached responses suffice for the check
        run_job(folder, tmp_path, 9)
    assert (tmp_path / "j").read_bytes() == cache_content
    with pytest.raises(UserError, match="averaged over the first 5 requests"):
        run_job(folder, tmp_path / "few", 1)
    rows = run_job(folder, tmp_path, 9, option_share=0.0)
    assert len(rows) == 45
    assert run_job(folder, tmp_path, 9) == rows, "a complete run is not aborted"


def test_a_run_aborts_if_answers_are_truncated_before_an_option(tmp_path: Path) -> None:
    """The thought is unmarked, as from a server without a reasoning parser."""
    message = r"^b/p/s/m: 100 % of the answers to the first 8 requests were truncated before they named an option; at least 50 %"
    folder = make_plain_checkpoint(tmp_path / "m")
    with pytest.raises(UserError, match=message):
        run_job(folder, tmp_path, 9, "choose")
    assert len(run_job(folder, tmp_path, 9, "choose", option_share=0.0)) == 45


@pytest.mark.parametrize(("text", "tokens_out", "expected"), [
    ("Let me consider A.", 8, True), ("Alright, B", 8, True), ("", 8, True), ("Let me see: A", 7, False),
    ("A. The red circle", 8, False), ("**(b)** since", 8, False), (" A", 8, False),
])  # fmt: skip
def test_an_answer_without_an_option_at_the_token_limit_is_truncated(
    text: str, tokens_out: int, expected: bool
) -> None:
    assert _is_truncated(make_request("which?", "choose", ("A", "B")), Answer(text, tokens_out=tokens_out)) == expected


# --- checks of a checkpoint's files ------------------------------------------------------------------------------


def test_unused_files_and_settings_are_named(tmp_path: Path) -> None:
    folder = make_thinking_checkpoint(tiny.llava(tmp_path / "m"), AutoProcessor)
    assert list(find_incompatibilities("transformers", model_spec(folder))) == []
    tiny.update_json(folder / "generation_config.json", repetition_penalty=1.1, top_k=3, do_sample=True)
    (folder / "lora").mkdir()
    for name in ("pytorch_model.bin", "mm_projector.bin", "optimizer.pt", "lora/a.pt", "modeling.py"):
        (folder / name).touch()
    tiny.update_json(folder / "config.json", auto_map={"AutoModel": "modeling.X"})
    notes = "\n".join(collect_notes(model_spec(folder)))
    assert (
        "kept for written answers: repetition_penalty: 1.1\n" in notes
        and "not used for written answers: do_sample: True, top_k: 3\n" in notes
    )
    assert "lora/a.pt, mm_projector.bin, modeling.py, pytorch_model.bin\n" in notes and "optimizer" not in notes
    assert "the chat template begins each answer with a thought" in notes


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_lora_adapter_is_rejected(adapter: str, tmp_path: Path) -> None:
    folder = make_plain_checkpoint(tmp_path / "m", adapter)
    (folder / "adapter_config.json").write_text("[]")
    (problem,) = find_incompatibilities(adapter, model_spec(folder))
    assert "/adapter_config.json: LoRA adapters are not supported" in problem
    with pytest.raises(UserError, match="LoRA adapters are not supported"):
        ADAPTERS[adapter][0](model_spec(folder))


@pytest.mark.parametrize(("file", "content"), [
    ("processor_config.json", "[1]"),
    ("processor_config.json", '{"image_processor": 3, "processor_class": "LlavaOnevisionProcessor"}'),
    ("chat_template.jinja", "{% for %}"),
    ("tokenizer_config.json", "[]"),
    ("config.json", '{"model_type": "llava_onevision", "text_config": 3}'),
    ("generation_config.json", "[]"),
])  # fmt: skip
def test_a_malformed_file_gives_a_message(file: str, content: str, tmp_path: Path) -> None:
    folder = tiny.llava(tmp_path / "m")
    (folder / file).write_text(content)
    problems = list(find_incompatibilities("transformers", model_spec(folder)))
    assert problems and str(folder) in problems[0]
    with pytest.raises(UserError, match=str(folder)):
        TransformersAdapter(model_spec(folder))


def test_template_arguments_that_the_workflow_sets_are_rejected() -> None:
    with pytest.raises(ValidationError, match="tokenize: set by the protocol, by other settings or by the workflow"):
        TransformersSettings.model_validate({"template_arguments": {"tokenize": True}})
    assert TransformersSettings().model_dump().keys() == {
        "frames", "min_pixels", "max_pixels", "total_pixels", "engine", "quantised",
    }, "defaults of newer settings are in no key"  # fmt: skip
