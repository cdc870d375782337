"""Use one thread: sums then have one order, and two runs are bitwise equal. Tiny models gain nothing from more threads."""

from reprise.models.local.torch_setup import torch

torch.set_num_threads(1)
