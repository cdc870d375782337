"""Batches made ahead of time in a process of their own."""

import multiprocessing
import sys
from collections.abc import Iterator
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Full

import cv2
from transformers import PreTrainedTokenizerFast

from reprise.toyworld.train.batches import Batch, Encoder, make_batch
from reprise.toyworld.train.config import TrainConfig, load_config

VIDEO_TOKENS = 41
AHEAD = 8
PATIENCE_SECONDS = 5


def batch_kind(config: TrainConfig, step: int) -> str:
    """What a step trains."""
    if step < config.see_steps:
        return "see"
    if step < config.see_steps + config.describe_steps:
        return "describe"
    if step % 40 == 20:
        return "blind"
    if step % 30 == 15:
        return "counts"
    return "reason" if step % 16 == 8 else "mix"


def mix_progress(config: TrainConfig, step: int) -> float:
    """How far the last stage is, 0 to 1."""
    return max(0.0, (step - config.see_steps - config.describe_steps) / max(1, config.mix_steps))


def batch_of_step(config: TrainConfig, encoder: Encoder, step: int) -> Batch:
    """The batch of a step, whatever came before it."""
    return make_batch(encoder, batch_kind(config, step), config.clips, config.seed, step, mix_progress(config, step))


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a run."""
    return PreTrainedTokenizerFast.from_pretrained(folder)


def _put(queue: "Queue[Batch]", batch: Batch) -> None:
    """Wait for room; end with the training process, however that ended."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            queue.put(batch, timeout=PATIENCE_SECONDS)
            return
        except Full:
            continue
    sys.exit(0)


def _produce(queue: "Queue[Batch]", config_file: Path, tokenizer: Path, start: int) -> None:
    cv2.setNumThreads(1)
    config = load_config(config_file)
    encoder = Encoder(load_tokenizer(tokenizer), VIDEO_TOKENS)
    for step in range(start, config.total_steps):
        _put(queue, batch_of_step(config, encoder, step))


def produced_batches(config_file: Path, tokenizer: Path, start: int) -> Iterator[Batch]:
    """The batches from `start` on, made by a second process."""
    total = load_config(config_file).total_steps
    context = multiprocessing.get_context("spawn")
    queue: Queue[Batch] = context.Queue(maxsize=AHEAD)
    worker = context.Process(target=_produce, args=(queue, config_file, tokenizer, start), daemon=True)
    worker.start()
    try:
        for _ in range(start, total):
            yield queue.get()
    finally:
        worker.terminate()
        worker.join()
