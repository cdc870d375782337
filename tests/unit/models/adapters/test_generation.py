"""Settings of a checkpoint's generation_config.json or config.json, under which every engine writes what plain
transformers writes."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from reprise.core.errors import UserError
from reprise.media.decoder import read_frames
from reprise.models.base import Answer, ClipFrames
from reprise.models.local.text import TextAdapter
from reprise.models.local.transformers import TransformersAdapter
from training.prompts import rendered
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    AutoProcessor,
    AutoTokenizer,
)

from tests.unit.models.adapters import tiny
from tests.unit.requests import BLIND, request, shown, spec

QUESTION, LENGTH = "the red circle slides left. who spins?", 12
ASKED = request(QUESTION, "write", max_tokens=LENGTH)
# The numbers of these tokens mean nothing: they are among those that the checkpoints write.
SHAPING: dict[str, Any] = {
    "repetition_penalty": 40.0, "no_repeat_ngram_size": 1, "min_new_tokens": 8, "min_length": 70, "suppress_tokens": [],
    "begin_suppress_tokens": [], "bad_words_ids": [[]], "sequence_bias": [[[7], 40.0]], "forced_eos_token_id": 5,
    "eos_token_id": [],
}  # fmt: skip
OURS: dict[str, Any] = {
    "use_cache": False, "num_beams": 3, "return_dict_in_generate": True, "output_scores": True, "output_logits": True,
    "output_attentions": True, "output_hidden_states": True, "num_return_sequences": 2, "cache_implementation": "static",
    "do_sample": True, "temperature": 9.0, "top_k": 5, "max_length": 3, "max_time": 1e-9, "renormalize_logits": True,
    "prompt_lookup_num_tokens": 3, "length_penalty": 3.0, "penalty_alpha": 0.6, "remove_invalid_values": True,
}  # fmt: skip


class Plain(NamedTuple):
    """A checkpoint with the inputs of plain transformers."""

    folder: Path
    model: Any
    inputs: Mapping[str, Any]
    tokenizer: Any
    clip: ClipFrames

    def written(self, **settings: Any) -> Answer:
        """Return the greedy output of `generate` with these settings instead of the checkpoint's own."""
        with torch.inference_mode():
            ids = self.model.generate(**self.inputs, max_new_tokens=LENGTH, do_sample=False, **settings)[0]
        tokens_in = self.inputs["input_ids"].shape[1]
        new = ids[1 if self.model.config.is_encoder_decoder else tokens_in :]
        text = self.tokenizer.decode(new, skip_special_tokens=True)
        return Answer(text=text, frames_shown=len(self.clip.indices), tokens_in=tokens_in, tokens_out=len(new))


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory, video: Path) -> Plain:
    folder = tiny.llava(tmp_path_factory.mktemp("llava") / "m")
    clip = replace(shown(video, (3, 17, 30)), question_count=2)
    processor = AutoProcessor.from_pretrained(folder)
    frames = read_frames(video, clip.indices)
    inputs = dict(processor(text=[rendered(QUESTION)], videos=[frames], return_tensors="pt"))
    return Plain(folder, AutoModelForImageTextToText.from_pretrained(folder).eval(), inputs, processor.tokenizer, clip)


@pytest.fixture(scope="module")
def plains(llava: Plain, tmp_path_factory: pytest.TempPathFactory) -> list[Plain]:
    """Return a video model, a decoder-only model and an encoder-decoder model."""
    found = [llava]
    for make, kind in ((tiny.llama, AutoModelForCausalLM), (tiny.t5, AutoModelForSeq2SeqLM)):
        folder = make(tmp_path_factory.mktemp("text") / "m")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        encoded = tokenizer(QUESTION, return_tensors="pt")
        inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        found.append(Plain(folder, kind.from_pretrained(folder).eval(), inputs, tokenizer, BLIND))
    return found


def changed(plain: Plain, folder: Path, settings: Mapping[str, Any], *, in_config: bool = False) -> Path:
    """Copy the checkpoint with these settings in generation_config.json, or in config.json as in older checkpoints."""
    shutil.copytree(plain.folder, folder)
    file = folder / "generation_config.json"
    if in_config:
        file.unlink()
        file = folder / "config.json"
    tiny.change(file, **settings)
    return folder


def fitted(name: str, plain: Plain) -> dict[str, Any]:
    """Return a setting about tokens that this checkpoint writes; a minimum length gets an earlier end token."""
    first = plain.model.generate(**plain.inputs, max_new_tokens=3, do_sample=False)[0][-3:].tolist()
    fitting = {"suppress_tokens": first[:1], "begin_suppress_tokens": first[:1], "bad_words_ids": [first[:2]], "eos_token_id": first[2]}  # fmt: skip
    beside = {"eos_token_id": first[2]} if name.startswith("min") else {}
    return {name: fitting.get(name, SHAPING[name]), **beside}


def asked_with(plain: Plain, folder: Path) -> list[Answer]:
    """Return the answer of each engine with this folder's settings."""
    if plain.clip is BLIND:
        return list(TextAdapter(spec(folder)).answers(plain.clip, [ASKED]))
    by = [TransformersAdapter(spec(folder, engine=engine)) for engine in ("plain", "shared")]
    return [answer for adapter in by for answer in adapter.answers(plain.clip, [ASKED])]


@pytest.mark.parametrize("name", SHAPING)
def test_what_shapes_the_likeliest_token_stays_in_every_engine(name: str, plains: list[Plain], tmp_path: Path) -> None:
    for at, plain in enumerate(plains):
        settings = fitted(name, plain)
        expected = plain.written(**settings)
        assert set(asked_with(plain, changed(plain, tmp_path / f"{at}", settings))) == {expected}
        assert at or expected != plain.written(), "or the setting would show nothing"


@pytest.mark.parametrize("in_config", [False, True])
def test_search_cache_and_return_settings_are_replaced(in_config: bool, plains: list[Plain], tmp_path: Path) -> None:
    # What transformers refuses in a config.json itself.
    settings = {name: value for name, value in OURS.items() if not in_config or name != "output_attentions"}
    for at, plain in enumerate(plains):
        folder = changed(plain, tmp_path / f"{at}", settings, in_config=in_config)
        assert set(asked_with(plain, folder)) == {plain.written()}


@pytest.mark.parametrize("setting", [{"stop_strings": ["."]}, {"guidance_scale": 1.5}])
def test_unsupported_generation_settings_are_rejected_by_name(
    setting: dict[str, Any], llava: Plain, tmp_path: Path
) -> None:
    folder = changed(llava, tmp_path / "m", setting)
    with pytest.raises(UserError, match=rf"/m: `{next(iter(setting))}` in generation_config\.json"):
        TransformersAdapter(spec(folder))
