"""Determine what each step of a run trains: its stage, its batch and its learning rate."""

import math
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from training.batches import Batch, Encoder, make_batch
from training.config import TrainConfig

VIDEO_TOKENS = 41
# The batch kinds of the last stage in turn, which adds the questions of the other benchmarks.
TUNE = (
    *("benchmarks", "pictures", "joined", "long", "pictures", "sparse", "central", "mix", "pictures"),
    *("thinking joined", "long", "benchmarks", "pictures", "reason", "central", "joined", "long", "pictures"),
    *("subtitled", "thinking", "pictures", "mix", "long", "examples", "central", "pictures", "counts", "joined"),
    *("long", "benchmarks", "pictures", "blind", "central", "dense"),
)
LAST_RATE = 0.03


def batch_kind(config: TrainConfig, step: int) -> str:
    """Return the kind of batch that a step trains."""
    if step < config.see_steps:
        return "see"
    if step < config.see_steps + config.describe_steps:
        return "describe"
    if config.total_steps - config.tune_steps <= step < config.total_steps:
        return TUNE[step % len(TUNE)]
    if step % 40 == 20:
        return "blind"
    if step % 30 == 15:
        return "counts"
    return "reason" if step % 16 == 8 else "mix"


def mix_progress(config: TrainConfig, step: int) -> float:
    """Return the progress of the mix stage, from 0 to 1."""
    return max(0.0, (step - config.see_steps - config.describe_steps) / max(1, config.mix_steps))


def batch_of_step(config: TrainConfig, encoder: Encoder, step: int, rank: int) -> Batch:
    """Build a rank's share of the batch of a step, independently of earlier steps."""
    clips, seed = config.clips // config.ranks, (config.seed, step, rank)
    return make_batch(encoder, batch_kind(config, step), clips, seed, mix_progress(config, step))


def learning_rate(config: TrainConfig, step: int) -> float:
    """Return a linear decay in the first stage; then a warm-up, a flat part and a cosine."""
    if step < config.see_steps:
        return config.see_rate * (1 - step / config.see_steps)
    elapsed, total = step - config.see_steps, config.describe_steps + config.mix_steps + config.tune_steps
    if elapsed < config.warmup_steps:
        return config.rate * (elapsed + 1) / config.warmup_steps
    share = (elapsed / total - config.flat_share) / (1 - config.flat_share)
    return config.rate * (LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * max(0.0, share))))


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Load the tokenizer of a run."""
    return PreTrainedTokenizerFast.from_pretrained(folder)
