"""Test the generation settings of a checkpoint: every engine generates the text of plain transformers."""

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
from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec

QUESTION, MAX_TOKENS = "the red circle slides left. who spins?", 12
REQUEST = make_request(QUESTION, "write", max_tokens=MAX_TOKENS)
# Settings that change the most likely token. `choose_setting` replaces the empty lists by tokens that a checkpoint
# generates; the token ids 5 and 7 are arbitrary.
KEPT_SETTINGS: dict[str, Any] = {
    "repetition_penalty": 40.0, "no_repeat_ngram_size": 1, "min_new_tokens": 8, "min_length": 70, "suppress_tokens": [],
    "begin_suppress_tokens": [], "bad_words_ids": [[]], "sequence_bias": [[[7], 40.0]], "forced_eos_token_id": 5,
    "eos_token_id": [],
}  # fmt: skip
REPLACED_SETTINGS: dict[str, Any] = {
    "use_cache": False, "num_beams": 3, "return_dict_in_generate": True, "output_scores": True, "output_logits": True,
    "output_attentions": True, "output_hidden_states": True, "num_return_sequences": 2, "cache_implementation": "static",
    "do_sample": True, "temperature": 9.0, "top_k": 5, "max_length": 3, "max_time": 1e-9, "renormalize_logits": True,
    "prompt_lookup_num_tokens": 3, "length_penalty": 3.0, "penalty_alpha": 0.6, "remove_invalid_values": True,
}  # fmt: skip


class PlainModel(NamedTuple):
    """A checkpoint in plain transformers, with the inputs of one request."""

    folder: Path
    model: Any
    inputs: Mapping[str, Any]
    tokenizer: Any
    clip: ClipFrames

    def generate(self, **settings: Any) -> Answer:
        """Return the greedy output of `generate` with these settings instead of the checkpoint's settings."""
        with torch.inference_mode():
            ids = self.model.generate(**self.inputs, max_new_tokens=MAX_TOKENS, do_sample=False, **settings)[0]
        tokens_in = self.inputs["input_ids"].shape[1]
        new_tokens = ids[1 if self.model.config.is_encoder_decoder else tokens_in :]
        text = self.tokenizer.decode(new_tokens, skip_special_tokens=True)
        return Answer(text=text, frames_shown=len(self.clip.indices), tokens_in=tokens_in, tokens_out=len(new_tokens))


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory, video: Path) -> PlainModel:
    folder = tiny.llava(tmp_path_factory.mktemp("llava") / "m")
    clip = replace(clip_frames(video, (3, 17, 30)), question_count=2)  # The shared engine needs a second question.
    processor = AutoProcessor.from_pretrained(folder)
    frames = read_frames(video, clip.indices)
    inputs = dict(processor(text=[rendered(QUESTION)], videos=[frames], return_tensors="pt"))
    return PlainModel(
        folder, AutoModelForImageTextToText.from_pretrained(folder).eval(), inputs, processor.tokenizer, clip
    )


@pytest.fixture(scope="module")
def plain_models(llava: PlainModel, tmp_path_factory: pytest.TempPathFactory) -> list[PlainModel]:
    """Return a video model, a decoder-only model and an encoder-decoder model."""
    models = [llava]
    for make_checkpoint, model_class in ((tiny.llama, AutoModelForCausalLM), (tiny.t5, AutoModelForSeq2SeqLM)):
        folder = make_checkpoint(tmp_path_factory.mktemp("text") / "m")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        encoded = tokenizer(QUESTION, return_tensors="pt")
        inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        models.append(PlainModel(folder, model_class.from_pretrained(folder).eval(), inputs, tokenizer, NO_FRAMES))
    return models


def copy_with_settings(
    plain: PlainModel, folder: Path, settings: Mapping[str, Any], *, in_config: bool = False
) -> Path:
    """Copy the checkpoint with these settings in generation_config.json, or in config.json as in older checkpoints."""
    shutil.copytree(plain.folder, folder)
    file = folder / "generation_config.json"
    if in_config:
        file.unlink()
        file = folder / "config.json"
    tiny.update_json(file, **settings)
    return folder


def choose_setting(name: str, plain: PlainModel) -> dict[str, Any]:
    """Return a setting by its name, about tokens that this checkpoint generates.

    A minimum length comes with an end token that the checkpoint generates before it.
    """
    first_tokens = plain.model.generate(**plain.inputs, max_new_tokens=3, do_sample=False)[0][-3:].tolist()
    token_settings = {"suppress_tokens": first_tokens[:1], "begin_suppress_tokens": first_tokens[:1], "bad_words_ids": [first_tokens[:2]], "eos_token_id": first_tokens[2]}  # fmt: skip
    end_token = {"eos_token_id": first_tokens[2]} if name.startswith("min") else {}
    return {name: token_settings.get(name, KEPT_SETTINGS[name]), **end_token}


def query_engines(plain: PlainModel, folder: Path) -> list[Answer]:
    """Return the answer of each engine with this folder's settings."""
    if plain.clip is NO_FRAMES:
        return list(TextAdapter(model_spec(folder)).answers(plain.clip, [REQUEST]))
    adapters = [TransformersAdapter(model_spec(folder, engine=engine)) for engine in ("plain", "shared")]
    return [answer for adapter in adapters for answer in adapter.answers(plain.clip, [REQUEST])]


@pytest.mark.parametrize("name", KEPT_SETTINGS)
def test_settings_that_change_the_likeliest_token_apply_in_every_engine(
    name: str, plain_models: list[PlainModel], tmp_path: Path
) -> None:
    for index, plain in enumerate(plain_models):
        settings = choose_setting(name, plain)
        expected = plain.generate(**settings)
        assert set(query_engines(plain, copy_with_settings(plain, tmp_path / f"{index}", settings))) == {expected}
        assert index or expected != plain.generate(), "the setting changes the video model's text"


@pytest.mark.parametrize("in_config", [False, True])
def test_search_cache_and_return_settings_are_replaced(
    in_config: bool, plain_models: list[PlainModel], tmp_path: Path
) -> None:
    # transformers itself rejects output_attentions in a config.json.
    settings = {
        name: value for name, value in REPLACED_SETTINGS.items() if not in_config or name != "output_attentions"
    }
    for index, plain in enumerate(plain_models):
        folder = copy_with_settings(plain, tmp_path / f"{index}", settings, in_config=in_config)
        assert set(query_engines(plain, folder)) == {plain.generate()}


@pytest.mark.parametrize("setting", [{"stop_strings": ["."]}, {"guidance_scale": 1.5}])
def test_unsupported_generation_settings_are_rejected_by_name(
    setting: dict[str, Any], llava: PlainModel, tmp_path: Path
) -> None:
    folder = copy_with_settings(llava, tmp_path / "m", setting)
    with pytest.raises(UserError, match=rf"/m: `{next(iter(setting))}` in generation_config\.json"):
        TransformersAdapter(model_spec(folder))
