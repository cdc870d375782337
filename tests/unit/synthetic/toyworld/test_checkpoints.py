"""Test the committed checkpoints: small, safe to load, at chance without frames, and above chance with them."""

import numpy as np
import pytest
from reprise.models.local.contrastive import load_encoder
from reprise.models.local.text import TextAdapter
from synthetic.reviewer import scripts
from synthetic.toyworld.captions import caption
from synthetic.toyworld.generate import EVALUATION_SEED, evaluation_sources
from synthetic.toyworld.render import render_frame
from synthetic.toyworld.velociti import clip_pairs
from training.batches import sample_times
from training.measure import Checkpoint
from training.prompts import REPOSITORY, prompts

from tests.unit.requests import NO_FRAMES, make_request, model_spec

FOLDER = REPOSITORY / "resources" / "demo" / "checkpoints"
MAX_BYTES_BY_CHECKPOINT = {
    "llava-ov-early": 5_000_000,
    "llava-ov-late": 5_000_000,
    "siglip": 2_500_000,
    "qwen2-text": 2_500_000,
}

TEMPLATE = prompts()["entail"].user


@pytest.mark.parametrize("name", MAX_BYTES_BY_CHECKPOINT)
def test_a_checkpoint_is_small_and_has_no_pickle(name: str) -> None:
    files = [path for path in (FOLDER / name).iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES_BY_CHECKPOINT[name]
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".jinja"}


def test_scores_without_frames_are_at_chance() -> None:
    """The short tokenized prompts also show that the fixed sentences, one token each, are those of training."""
    late, text = Checkpoint(FOLDER / "llava-ov-late"), TextAdapter(model_spec(FOLDER / "qwen2-text"))
    filled_prompts = [
        TEMPLATE.format(caption=caption(*script.events[0].deed)) for script in list(scripts().values())[:12]
    ]
    assert all(len(late.processor.tokenizer(prompt)["input_ids"]) < 16 for prompt in filled_prompts)
    assert 0.3 < np.mean([late.share(None, prompt) for prompt in filled_prompts]) < 0.7
    answers = text.answers(NO_FRAMES, [make_request(prompt, "score", ("Yes", "No")) for prompt in filled_prompts])
    scores = np.array([answer.scores for answer in answers])
    assert scores.sum(1).min() > 0.9, "the answer is Yes or No"
    assert 0.3 < (scores[:, 0] / scores.sum(1)).mean() < 0.7


def test_the_dual_encoder_knows_who_is_in_a_clip() -> None:
    """Count how often the true caption is closer, for captions that differ in the agent; the tutorial has other results."""
    encoder, is_correct = load_encoder(model_spec(FOLDER / "siglip")), []
    for clip, pairs in list(clip_pairs(evaluation_sources(), EVALUATION_SEED).items())[:24]:
        clip_features = encoder.encode_clip(np.stack([render_frame(scripts()[clip], t) for t in sample_times(10)]))
        agent_pairs = [pair for pair in pairs if pair.test in ("control", "agent_random")]
        is_correct += [
            encoder.compute_similarity(clip_features, pair.pos)[0]
            > encoder.compute_similarity(clip_features, pair.neg)[0]
            for pair in agent_pairs
        ]
    assert np.mean(is_correct) >= 0.8
