"""Test language models and VERA's head: scores against a plain computation, also with quantised weights.

For generated texts, see test_generation.py.
"""

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
from tests.unit.requests import NO_FRAMES, make_request, model_spec

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }} {{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
)
QUESTION = "Does the red circle slide left quickly?"
OPTIONS = ("Yes", "No")


def query_model(folder: Path, request: Request, **settings: str) -> Answer:
    return next(iter(TextAdapter(model_spec(folder, **settings)).answers(NO_FRAMES, [request])))


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
    model, tokenizer = LlamaForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        probabilities = torch.softmax(model(input_ids=ids).logits[0, -1].double(), -1)
    expected = [float(probabilities[tokenizer(option, add_special_tokens=False)["input_ids"][0]]) for option in OPTIONS]
    answer = query_model(folder, make_request(QUESTION, "score", OPTIONS, system=system))
    assert answer.scores == pytest.approx(expected, rel=1e-5)
    assert (answer.frames_shown, answer.tokens_in) == (0, ids.shape[1])


@pytest.mark.parametrize(("small", "threads"), [(10**3, 2), (10**9, 1)])
def test_small_models_get_one_thread(small: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SINGLE_THREAD_MAX_WEIGHTS", small)
    set_thread_count(replace(model_spec(tiny.llama(tmp_path / "model")), threads=2))
    assert torch.get_num_threads() == threads


def test_an_encoder_decoder_scores_its_first_token(tmp_path: Path) -> None:
    folder = tiny.t5(tmp_path / "model")
    model, tokenizer = T5ForConditionalGeneration.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(QUESTION, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = model(input_ids=ids, decoder_input_ids=torch.tensor([[tokenizer.pad_token_id]])).logits[0, -1]
    probabilities = torch.softmax(logits.double(), -1)
    expected = [float(probabilities[tokenizer(option, add_special_tokens=False)["input_ids"][0]]) for option in OPTIONS]
    assert query_model(folder, make_request(QUESTION, "score", OPTIONS)).scores == pytest.approx(expected, rel=1e-5)


def test_vera_takes_its_head_from_the_embedding_matrix(tmp_path: Path) -> None:
    folder = tiny.vera(tmp_path / "model")
    model, tokenizer = T5EncoderModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    table = model.shared.weight
    weight, bias, temperature = table[32099], table[32098, 0], table[32097, 0].item()
    assert temperature == pytest.approx(1.7)
    scores = []
    for caption in ("The red circle slides left quickly.", "The red circle slides left slowly."):
        with torch.no_grad():
            hidden = model(tokenizer(caption, return_tensors="pt")["input_ids"]).last_hidden_state[0, -1, :]
            expected = float(((hidden @ weight + bias) / temperature).sigmoid())
        scores.append(query_model(folder, make_request(caption, "similarity"), head="vera").scores[0])
        assert scores[-1] == pytest.approx(expected, rel=1e-4)
    assert scores[0] != scores[1]


# --- quantised weights, on the CPU, which bitsandbytes supports -------------------------------------------------------

CHECKPOINT = Path("resources/demo/checkpoints/qwen2-text")
REQUESTS = [
    make_request(f"Does the red circle {action}?", "score", ("Yes", "No")) for action in ("slide left", "spin", "grow")
]


def compute_scores(spec: ModelSpec) -> torch.Tensor:
    return torch.tensor([answer.scores for answer in TextAdapter(spec).answers(NO_FRAMES, REQUESTS)])


@pytest.fixture(scope="module")
def unquantised_scores() -> torch.Tensor:
    return compute_scores(model_spec(CHECKPOINT))


@pytest.mark.parametrize(("quantised", "max_relative_error"), [("int8", 0.15), ("nf4", 0.6)])
def test_weights_are_quantised_on_loading(
    quantised: str, max_relative_error: float, unquantised_scores: torch.Tensor
) -> None:
    quantised_scores = compute_scores(model_spec(CHECKPOINT, quantised=quantised))
    assert 0 < (quantised_scores / unquantised_scores - 1).abs().max() < max_relative_error
    model = load_model(AutoModelForCausalLM, model_spec(CHECKPOINT, quantised=quantised))
    estimated_bytes = estimate_memory(CHECKPOINT, "float32", quantised).weight_bytes
    # The library's count leaves out the scales of nf4.
    assert estimated_bytes - estimated_bytes // 14 <= model.get_memory_footprint() <= estimated_bytes + 1024


def test_a_quantised_checkpoint_is_detected_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    load_model(AutoModelForCausalLM, model_spec(CHECKPOINT, quantised="int8")).save_pretrained(folder)
    AutoTokenizer.from_pretrained(CHECKPOINT).save_pretrained(folder)
    with pytest.raises(UserError, match="are quantised by bitsandbytes. Set `settings.quantised: bitsandbytes`"):
        TextAdapter(model_spec(folder))
    loaded, quantised = (
        compute_scores(model_spec(folder, quantised="bitsandbytes")),
        compute_scores(model_spec(CHECKPOINT, quantised="int8")),
    )
    torch.testing.assert_close(loaded, quantised, rtol=1e-5, atol=0)  # another memory layout changes the last bit
    assert estimate_memory(folder, "float32", "bitsandbytes").weight_bytes == pytest.approx(
        estimate_memory(CHECKPOINT, "float32", "int8").weight_bytes, rel=0.03
    )


@pytest.mark.parametrize(("checkpoint_method", "quantised", "message"), [
    (None, "gptq", r"the model's file has `settings\.quantised: gptq`, but .* no quantization_config\. Remove"),
    ("gptq", None, "are quantised by gptq. Set `settings.quantised: gptq`"),
    ("gptq", "gptq", r"needs optimum and gptqmodel, which is not installed\. Run: pip install optimum gptqmodel"),
    ("spqr", None, r"are quantised by spqr\. .* Supported methods: awq, bitsandbytes, "),
])  # fmt: skip
def test_the_quantisation_of_file_and_checkpoint_must_agree(
    checkpoint_method: str | None, quantised: str | None, message: str, tmp_path: Path
) -> None:
    folder = tiny.llama(tmp_path / "m")
    if checkpoint_method:
        tiny.update_json(folder / "config.json", quantization_config={"quant_method": checkpoint_method, "bits": 4})
    spec = model_spec(folder, **({"quantised": quantised} if quantised else {}))
    with pytest.raises(UserError, match=message) as caught:
        TextAdapter(spec)
    if "pip install" not in message:  # the check needs no weights
        (folder / "model.safetensors").unlink()
        assert str(caught.value) in find_incompatibilities("text", spec)
