"""Compute entailment scores of a model on clips and caption pairs, directly from the renderer."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import torch
from synthetic.toyworld.generate import CLIPS_PER_SOURCE, make_source
from synthetic.toyworld.pairs import TESTS, Pair
from synthetic.toyworld.render import render_frame
from synthetic.toyworld.script import Script
from synthetic.toyworld.velociti import clip_pairs
from torch import Tensor
from transformers import LlavaOnevisionForConditionalGeneration

from training.batches import IMAGE_SIZE, Encoder, sample_times
from training.packed import PLAIN, frame_tokens, packed_hidden
from training.prompts import prompts
from training.tasks import Segment

VALIDATION_SEED = 777001
FRAMES = 10


class Case(NamedTuple):
    """A clip and the caption pairs to score on it."""

    script: Script
    pairs: tuple[Pair, ...]


class Score(NamedTuple):
    """The scores e(pos) and e(neg) of one pair."""

    test: str
    pos: float
    neg: float


def validation_cases(sources: int) -> list[Case]:
    """Generate clips like those of the evaluation set, but from another seed."""
    generated = [make_source(VALIDATION_SEED, index) for index in range(sources)]
    pairs = clip_pairs(generated, VALIDATION_SEED)
    scripts = {clip: script for source in generated for clip, script in source.clips().items()}
    assert len(scripts) == sources * CLIPS_PER_SOURCE
    return [Case(script, tuple(pairs[clip])) for clip, script in scripts.items()]


def clip_frames(script: Script) -> Tensor:
    """Render the frames as the pipeline samples them, at the model's size."""
    images = [render_frame(script, time) for time in sample_times(FRAMES)]
    small = [cv2.resize(image, (IMAGE_SIZE, IMAGE_SIZE), interpolation=cv2.INTER_AREA) for image in images]
    return torch.from_numpy(np.stack(small))


class Scorer:
    """Computes p(Yes) / (p(Yes) + p(No)) in fp32, for all captions of a clip at once."""

    def __init__(self, model: LlavaOnevisionForConditionalGeneration, encoder: Encoder, yes: int, no: int) -> None:
        self._model, self._encoder, self._yes, self._no = model, encoder, yes, no

    def entailment(self, frames: Tensor | None, captions: Sequence[str], prompt: str = "entail") -> list[float]:
        """Return one score per caption."""
        video = frames is not None
        segments = [Segment(prompts()[prompt].user.format(caption=caption), "Yes") for caption in captions]
        # Without the answer and the end token, the last row predicts the answer.
        ids = [self._encoder.segment(segment, video)[0][:-2] for segment in segments]
        packed = torch.zeros(1, len(ids), max(map(len, ids)), dtype=torch.long)
        for row, tokens_of_segment in enumerate(ids):
            packed[0, row, : len(tokens_of_segment)] = torch.tensor(tokens_of_segment)
        with torch.no_grad():
            tokens = None if frames is None else frame_tokens(self._model, frames, PLAIN)[None]
            count = 0 if tokens is None else tokens.shape[1] * tokens.shape[2] + 1
            prefix = torch.tensor([self._encoder.prefix("", count)])
            hidden = packed_hidden(self._model, prefix, tokens, [packed]).groups[0][0]
            last = hidden[
                torch.arange(len(ids)), torch.tensor([len(tokens_of_segment) - 1 for tokens_of_segment in ids])
            ]
            logits = self._model.lm_head(last).float()
            scores: list[float] = torch.sigmoid(logits[:, self._yes] - logits[:, self._no]).tolist()
        return scores

    def run(self, cases: Sequence[Case], view: str = "own", prompt: str = "entail") -> list[Score]:
        """Score all pairs; `view` shows the clip itself, another clip (`other`) or none (`none`)."""
        scores = []
        for number, case in enumerate(cases):
            script = cases[(number + len(cases) // 2) % len(cases)].script if view == "other" else case.script
            frames = None if view == "none" else clip_frames(script)
            values = self.entailment(frames, [text for pair in case.pairs for text in (pair.pos, pair.neg)], prompt)
            halves = zip(case.pairs, values[0::2], values[1::2], strict=True)
            scores += [Score(pair.test, pos, neg) for pair, pos, neg in halves]
        return scores


def classic_and_strict(scores: Sequence[Score]) -> dict[str, tuple[float, float]]:
    """Return by test the percentages of pairs with e(pos) > e(neg), and with e(pos) > 0.5 > e(neg)."""
    by_test: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_test[score.test].append(score)
    return {
        test: (
            100 * float(np.mean([pair_score.pos > pair_score.neg for pair_score in by_test[test]])),
            100 * float(np.mean([pair_score.pos > 0.5 > pair_score.neg for pair_score in by_test[test]])),
        )
        for test in TESTS
        if by_test[test]
    }


def summary(scores: Sequence[Score]) -> str:
    """Summarise in one line: classic/strict by test, then their means."""
    table = classic_and_strict(scores)
    cells = [f"{test} {classic:.0f}/{strict:.0f}" for test, (classic, strict) in table.items()]
    means = [float(np.mean([value[column] for value in table.values()])) for column in (0, 1)]
    return " ".join([*cells, f"mean {means[0]:.1f}/{means[1]:.1f}"])
