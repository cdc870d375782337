"""One thread: sums in one order, so that two runs can be compared bit by bit; tiny models gain nothing from a second."""

from reprise.models.local.torch_setup import torch

torch.set_num_threads(1)
