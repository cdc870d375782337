"""Import order and switches that torch, torchvision and transformers need before the first model."""

import os

from reprise.models.local.torchvision_operators import declare_when_imported


def prepare() -> None:
    """Once a process: work offline, share processors, and let a torchvision for CUDA load beside another torch.

    Threads of OpenMP spin while they wait, unless they are told not to before the library is loaded: beside other jobs
    on the same processors that more than doubles the time of both.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    declare_when_imported()
