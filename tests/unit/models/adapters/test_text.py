"""Language models without eyes, and VERA's head: scores against a plain computation with the same checkpoint, also of weights that
are quantised, on loading or in the checkpoint. What they write: test_generation.py."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from reprise.core.errors import UserError
from reprise.models.base import Answer, ModelSpec, Request
from reprise.models.local import checkpoints
from reprise.models.local.checkpoints import load_model, set_thread_count
from reprise.models.local.checks import find_incompatibilities
from reprise.models.local.device_memory import estimate_memory
from reprise.models.local.text import TextAdapter
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaForCausalLM,
    T5EncoderModel,
    T5ForConditionalGeneration,
)

from tests.unit.models.adapters import tiny
from tests.unit.requests import BLIND, request, spec

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }} {{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
)
QUESTION = "Does the red circle slide left quickly?"
OPTIONS = ("Yes", "No")


def ask(folder: Path, asked: Request, **settings: str) -> Answer:
    return next(iter(TextAdapter(spec(folder, **settings)).answers(BLIND, [asked])))


@pytest.mark.parametrize(("template", "system", "prompt"), [
    (None, "", QUESTION),
    (None, "Be brief.", f"Be brief.\n\n{QUESTION}"),
    (TEMPLATE, "", f"<|im_start|>user {QUESTION}<|im_end|><|im_start|>assistant "),
    (TEMPLATE, "Be brief.", f"<|im_start|>system Be brief.<|im_end|><|im_start|>user {QUESTION}<|im_end|><|im_start|>assistant "),
])  # fmt: skip
def test_a_decoder_scores_over_its_whole_vocabulary(
    template: str | None, system: str, prompt: str, tmp_path: Path
) -> None:
    folder = tiny.llama(tmp_path / "model", template)
    model, words = LlamaForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = words(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        probabilities = torch.softmax(model(input_ids=ids).logits[0, -1].double(), -1)
    expected = [float(probabilities[words(option, add_special_tokens=False)["input_ids"][0]]) for option in OPTIONS]
    answer = ask(folder, request(QUESTION, "score", OPTIONS, system=system))
    assert answer.scores == pytest.approx(expected, rel=1e-5)
    assert (answer.frames_shown, answer.tokens_in) == (0, ids.shape[1])


@pytest.mark.parametrize(("small", "threads"), [(10**3, 2), (10**9, 1)])
def test_small_models_get_one_thread(small: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SINGLE_THREAD_MAX_WEIGHTS", small)
    set_thread_count(replace(spec(tiny.llama(tmp_path / "model")), threads=2))
    assert torch.get_num_threads() == threads


def test_an_encoder_with_a_decoder_scores_at_its_first_word(tmp_path: Path) -> None:
    folder = tiny.t5(tmp_path / "model")
    model, words = T5ForConditionalGeneration.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = words(QUESTION, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = model(input_ids=ids, decoder_input_ids=torch.tensor([[words.pad_token_id]])).logits[0, -1]
    probabilities = torch.softmax(logits.double(), -1)
    expected = [float(probabilities[words(option, add_special_tokens=False)["input_ids"][0]]) for option in OPTIONS]
    assert ask(folder, request(QUESTION, "score", OPTIONS)).scores == pytest.approx(expected, rel=1e-5)


def test_vera_reads_its_head_out_of_the_embedding_matrix(tmp_path: Path) -> None:
    folder = tiny.vera(tmp_path / "model")
    model, words = T5EncoderModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    table = model.shared.weight
    weight, bias, temperature = table[32099], table[32098, 0], table[32097, 0].item()
    assert temperature == pytest.approx(1.7)
    found = []
    for caption in ("The red circle slides left quickly.", "The red circle slides left slowly."):
        with torch.no_grad():
            hidden = model(words(caption, return_tensors="pt")["input_ids"]).last_hidden_state[0, -1, :]
            expected = float(((hidden @ weight + bias) / temperature).sigmoid())
        found.append(ask(folder, request(caption, "similarity"), head="vera").scores[0])
        assert found[-1] == pytest.approx(expected, rel=1e-4)
    assert found[0] != found[1]


# --- quantised weights, asked on the CPU, where bitsandbytes computes too ---------------------------------------------

WORDS = Path("resources/demo/checkpoints/qwen2-text")
ASKED = [request(f"Does the red circle {deed}?", "score", ("Yes", "No")) for deed in ("slide left", "spin", "grow")]


def scores(one: ModelSpec) -> torch.Tensor:
    return torch.tensor([answer.scores for answer in TextAdapter(one).answers(BLIND, ASKED)])


@pytest.fixture(scope="module")
def whole() -> torch.Tensor:
    return scores(spec(WORDS))


@pytest.mark.parametrize(("quantised", "most"), [("int8", 0.15), ("nf4", 0.6)])
def test_weights_are_quantised_on_loading(quantised: str, most: float, whole: torch.Tensor) -> None:
    found = scores(spec(WORDS, quantised=quantised))
    assert 0 < (found / whole - 1).abs().max() < most
    model = load_model(AutoModelForCausalLM, spec(WORDS, quantised=quantised))
    need = estimate_memory(WORDS, "float32", quantised).weights
    # What nf4 keeps beside its numbers is not in the library's count.
    assert need - need // 14 <= model.get_memory_footprint() <= need + 1024


def test_a_quantised_checkpoint_is_detected_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    load_model(AutoModelForCausalLM, spec(WORDS, quantised="int8")).save_pretrained(folder)
    AutoTokenizer.from_pretrained(WORDS).save_pretrained(folder)
    with pytest.raises(UserError, match="are quantised by bitsandbytes. Set `settings.quantised: bitsandbytes`"):
        TextAdapter(spec(folder))
    loaded, quantised = scores(spec(folder, quantised="bitsandbytes")), scores(spec(WORDS, quantised="int8"))
    torch.testing.assert_close(loaded, quantised, rtol=1e-5, atol=0)  # their layout differs, and with it the last bit
    assert estimate_memory(folder, "float32", "bitsandbytes").weights == pytest.approx(
        estimate_memory(WORDS, "float32", "int8").weights, rel=0.03
    )


@pytest.mark.parametrize(("stated", "quantised", "message"), [
    (None, "gptq", r"the model's file has `settings\.quantised: gptq`, but .* no quantization_config\. Remove"),
    ("gptq", None, "are quantised by gptq. Set `settings.quantised: gptq`"),
    ("gptq", "gptq", r"needs optimum and gptqmodel, which is not installed\. Run: pip install optimum gptqmodel"),
    ("spqr", None, r"are quantised by spqr\. .* Supported methods: awq, bitsandbytes, "),
])  # fmt: skip
def test_the_quantisation_of_file_and_checkpoint_must_agree(
    stated: str | None, quantised: str | None, message: str, tmp_path: Path
) -> None:
    folder = tiny.llama(tmp_path / "m")
    if stated:
        tiny.change(folder / "config.json", quantization_config={"quant_method": stated, "bits": 4})
    one = spec(folder, **({"quantised": quantised} if quantised else {}))
    with pytest.raises(UserError, match=message) as caught:
        TextAdapter(one)
    if "pip install" not in message:  # named before any weights are fetched
        (folder / "model.safetensors").unlink()
        assert str(caught.value) in find_incompatibilities("text", one)
