"""The committed checkpoints: small, safe to load, at chance without the clip, and better where they see it."""

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

from tests.unit.requests import BLIND, request, spec

FOLDER = REPOSITORY / "resources" / "demo" / "checkpoints"
NAMES = {"llava-ov-early": 5_000_000, "llava-ov-late": 5_000_000, "siglip": 2_500_000, "qwen2-text": 2_500_000}
"""Checkpoint -> the most bytes that it may have."""
TEMPLATE = prompts()["entail"].user


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_small_and_holds_no_pickle(name: str) -> None:
    files = [path for path in (FOLDER / name).iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < NAMES[name]
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".jinja"}


def test_without_the_video_scores_are_at_chance() -> None:
    """Nor have the fixed sentences of the prompts changed since training, which are one token each."""
    late, text = Checkpoint(FOLDER / "llava-ov-late"), TextAdapter(spec(FOLDER / "qwen2-text"))
    asked = [TEMPLATE.format(caption=caption(*script.events[0].deed)) for script in list(scripts().values())[:12]]
    assert all(len(late.processor.tokenizer(prompt)["input_ids"]) < 16 for prompt in asked)
    assert 0.3 < np.mean([late.share(None, prompt) for prompt in asked]) < 0.7
    answers = text.answers(BLIND, [request(prompt, "score", ("Yes", "No")) for prompt in asked])
    scores = np.array([answer.scores for answer in answers])
    assert scores.sum(1).min() > 0.9, "the answer is Yes or No"
    assert 0.3 < (scores[:, 0] / scores.sum(1)).mean() < 0.7


def test_the_dual_encoder_knows_who_is_in_a_clip() -> None:
    """How often the true caption is closer, of captions that differ in that; the tutorial has what the others know."""
    encoder, right = load_encoder(spec(FOLDER / "siglip")), []
    for clip, pairs in list(clip_pairs(evaluation_sources(), EVALUATION_SEED).items())[:24]:
        seen = encoder.encode_clip(np.stack([render_frame(scripts()[clip], t) for t in sample_times(10)]))
        asked = [pair for pair in pairs if pair.test in ("control", "agent_random")]
        right += [
            encoder.compute_similarity(seen, pair.pos)[0] > encoder.compute_similarity(seen, pair.neg)[0]
            for pair in asked
        ]
    assert np.mean(right) >= 0.8
