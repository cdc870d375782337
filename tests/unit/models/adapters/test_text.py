"""Scores of language models without eyes, and VERA's head, against a plain computation with the same checkpoint.

What they write: test_generation.py.
"""

from pathlib import Path

import pytest
import torch
from reprise.models.base import Answer, Request
from reprise.models.local.text import TextAdapter
from transformers import AutoTokenizer, LlamaForCausalLM, T5EncoderModel, T5ForConditionalGeneration

from tests.unit.asked import BLIND, request, spec
from tests.unit.models.adapters import tiny

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
