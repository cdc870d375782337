"""Run a short training in one process: bf16 with exact master weights, warm-up, cosine."""

import math
import time
from collections.abc import Callable

from torch import Tensor

from training.config import SmallConfig
from training.optimiser import MasterAdamW

DECAY = 0.02
LAST_RATE = 0.03
LOG_EVERY = 10


def learning_rate(config: SmallConfig, step: int) -> float:
    """Return a linear warm-up, then a cosine down to a small share."""
    warmup = min(1.0, (step + 1) / config.warmup_steps)
    cosine = 0.5 * (1 + math.cos(math.pi * step / config.steps))
    return config.rate * warmup * (LAST_RATE + (1 - LAST_RATE) * cosine)


def fit(optimiser: MasterAdamW, config: SmallConfig, losses: Callable[[int], dict[str, Tensor]]) -> None:
    """Train to the end; `losses` returns the terms of a step's loss, which are summed."""
    start = time.monotonic()
    for step in range(config.steps):
        terms = losses(step)
        sum(terms.values(), start=next(iter(terms.values())).new_zeros(())).backward()
        optimiser.step(optimiser.take_gradient(), learning_rate(config, step))
        if (step + 1) % LOG_EVERY == 0:
            values = " ".join(f"{name} {float(term.detach()):.3f}" for name, term in terms.items())
            print(f"step {step + 1} {time.monotonic() - start:.0f}s {values}", flush=True)
