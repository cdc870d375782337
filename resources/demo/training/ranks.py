"""Run the training in one process or several, each with a share of the batch on one core.

Small kernels gain little from a second thread; two processes that synchronise once per step use two cores fully.
"""

import os
import threading
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from reprise.models.local.torch_setup import torch

from reprise.core.errors import UserError

from training.config import load_config
from training.exchange import make_exchange


def train(config_file: Path, folder: Path, resume: bool, checkpoint: Path | None = None) -> None:
    """Run the training; `resume` continues a killed run, `checkpoint` provides initial weights and words."""
    from training.loop import STATE, check_words, lead, log, make_trainer
    from training.tokenizer import save_tokenizer

    ranks = load_config(config_file).ranks
    if resume != (folder / STATE).exists():
        hint = "remove --resume to start" if resume else "add --resume to continue, or choose another --out"
        raise UserError(f"{folder}: {'no saved state' if resume else 'contains a run'}; {hint}.")
    if not resume:
        save_tokenizer(folder / "tokenizer")
        if checkpoint:
            check_words(folder / "tokenizer", checkpoint)
    trainer = make_trainer(config_file, folder, resume, checkpoint)
    followers = []
    if ranks > 1:
        context = torch.multiprocessing.get_context("spawn")
        trainer.exchange = make_exchange(ranks, trainer.optimiser.master.numel(), context)
        for rank in range(1, ranks):
            arguments = (config_file, folder, resume, checkpoint, trainer.exchange, rank)
            followers.append(context.Process(target=_run_follower, args=arguments, daemon=True))
            followers[-1].start()
    lead(trainer)
    for follower in followers:
        follower.join()
    trainer.save()
    trainer.export("llava-ov-late")
    log(f"END step {trainer.step} {trainer.progress_line()}")


def _run_follower(*arguments: Any) -> None:
    """Train as another rank, in its own process."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    from training.loop import follow

    follow(*arguments)


def _exit_with_parent() -> None:
    """Exit with the parent process, because a rank alone would wait forever at the barrier."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
