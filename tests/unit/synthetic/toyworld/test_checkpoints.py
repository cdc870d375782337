"""The committed checkpoints: small, safe to load, and better than chance where they see the clip."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from reprise.models.local.contrastive import load_encoder
from reprise.models.local.text import TextAdapter
from synthetic.toyworld.captions import caption
from synthetic.toyworld.generate import EVALUATION_SEED, evaluation_sources
from synthetic.toyworld.render import Image, render_frame
from synthetic.toyworld.script import Script
from synthetic.toyworld.temporalbench import release
from synthetic.toyworld.velociti import clip_pairs
from training.batches import sample_times
from training.measure import Checkpoint
from training.prompts import REPOSITORY, prompts

from tests.unit.asked import BLIND, request, spec

FOLDER = REPOSITORY / "resources" / "demo" / "checkpoints"
NAMES = {"llava-ov-early": 5_000_000, "llava-ov-late": 5_000_000, "siglip": 2_500_000, "qwen2-text": 2_500_000}
"""Checkpoint -> the most bytes that it may have."""
CLIPS = 12


@pytest.fixture(scope="module")
def late() -> Checkpoint:
    return Checkpoint(FOLDER / "llava-ov-late")


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_small_and_holds_no_pickle(name: str) -> None:
    files = [path for path in (FOLDER / name).iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < NAMES[name]
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".jinja"}


def test_the_fixed_sentences_are_still_the_pipelines(late: Checkpoint) -> None:
    tokenizer = late.processor.tokenizer
    for name in ("entail", "entail.authors"):
        user = prompts()[name].user.format(caption="The red circle spins slowly.")
        assert len(tokenizer(user)["input_ids"]) < 16, f"{name} has changed since the checkpoints were trained"


def share_right(scripts: dict[str, Script], clips: int, score: Callable[[list[Image], str], float]) -> float:
    """How often the true caption has the higher score, of captions that differ in who is in the clip."""
    pairs = clip_pairs(evaluation_sources(), EVALUATION_SEED)
    right = []
    for clip, script in list(scripts.items())[:clips]:
        frames = [render_frame(script, t) for t in sample_times(10)]
        asked = [pair for pair in pairs[clip] if pair.test in ("control", "agent_random")]
        right += [score(frames, pair.pos) > score(frames, pair.neg) for pair in asked]
    return float(np.mean(right))


def test_both_that_see_know_who_is_in_a_clip(late: Checkpoint, evaluation_scripts: dict[str, Script]) -> None:
    template, encoder = prompts()["entail"].user, load_encoder(spec(FOLDER / "siglip"))
    by_late = lambda frames, text: late.share(frames, template.format(caption=text))  # noqa: E731
    by_encoder = lambda frames, text: encoder.similarity(encoder.clip(np.stack(frames)), text)[0]  # noqa: E731
    assert share_right(evaluation_scripts, CLIPS, by_late) >= 0.85
    assert share_right(evaluation_scripts, 24, by_encoder) >= 0.8


def test_without_the_video_it_cannot_tell(late: Checkpoint, evaluation_scripts: dict[str, Script]) -> None:
    template = prompts()["entail"].user
    events = [script.events[0] for script in list(evaluation_scripts.values())[:CLIPS]]
    scores = [late.share(None, template.format(caption=caption(*event.deed))) for event in events]
    assert 0.3 < np.mean(scores) < 0.7


def test_the_text_only_model_answers_in_kind(evaluation_scripts: dict[str, Script]) -> None:
    adapter = TextAdapter(spec(FOLDER / "qwen2-text"))
    events = [script.events[0] for script in list(evaluation_scripts.values())[:CLIPS]]
    template = prompts()["entail"].user
    asked = [request(template.format(caption=caption(*event.deed)), "score", ("Yes", "No")) for event in events]
    scores = np.array([answer.scores for answer in adapter.answers(BLIND, asked)])
    assert scores.sum(1).min() > 0.9, "the answer is Yes or No"
    assert 0.3 < (scores[:, 0] / scores.sum(1)).mean() < 0.7, "without the video it cannot tell"
    questions = [entry["question"] for entry in release()["temporalbench_short_qa.json"][:CLIPS]]
    letters = [answer.text for answer in adapter.answers(BLIND, [request(q, "choose", ("A", "B")) for q in questions])]
    assert set(letters) <= {"A", "B"}
    who = next(iter(adapter.answers(BLIND, [request("Who is spinning slowly?", "write", ())])))
    assert re.fullmatch(r"The \w+ \w+\.", who.text)
