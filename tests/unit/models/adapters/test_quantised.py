"""Weights that are quantised, on loading or in the checkpoint: asked on the CPU, where bitsandbytes computes too."""

from pathlib import Path

import pytest
import torch
from reprise.core.errors import UserError
from reprise.models.base import ModelSpec
from reprise.models.local.checkpoints import load_model
from reprise.models.local.devices import needed
from reprise.models.local.examine import differences
from reprise.models.local.text import TextAdapter
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.unit.asked import BLIND, request, spec
from tests.unit.models.adapters import tiny

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
    need = needed(WORDS, "float32", quantised).weights
    # What nf4 keeps beside its numbers is not in the library's count.
    assert need - need // 14 <= model.get_memory_footprint() <= need + 1024


def test_a_checkpoint_that_is_quantised_is_known_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    load_model(AutoModelForCausalLM, spec(WORDS, quantised="int8")).save_pretrained(folder)
    AutoTokenizer.from_pretrained(WORDS).save_pretrained(folder)
    with pytest.raises(UserError, match="are quantised by bitsandbytes. Write `quantised: bitsandbytes` below"):
        TextAdapter(spec(folder))
    loaded, quantised = scores(spec(folder, quantised="bitsandbytes")), scores(spec(WORDS, quantised="int8"))
    torch.testing.assert_close(loaded, quantised, rtol=1e-5, atol=0)  # their layout differs, and with it the last bit
    assert needed(folder, "float32", "bitsandbytes").weights == pytest.approx(
        needed(WORDS, "float32", "int8").weights, rel=0.03
    )


@pytest.mark.parametrize(("stated", "quantised", "message"), [
    (None, "gptq", r"`settings\.quantised: gptq` is in the model's file, and .* no quantization_config\. Remove"),
    ("gptq", None, "are quantised by gptq. Write `quantised: gptq`"),
    ("gptq", "gptq", r"needs optimum and gptqmodel, not installed here\. Run: pip install optimum gptqmodel"),
    ("spqr", None, r"are quantised by spqr\. .* can be loaded are quantised by awq, bitsandbytes, "),
])  # fmt: skip
def test_what_the_file_and_the_checkpoint_say_must_agree(
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
        assert str(caught.value) in differences("text", one)
