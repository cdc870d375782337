"""Import order and switches that torch, torchvision and transformers need before the first model."""

import os
from importlib import metadata

# The declarations last as long as the library object does.
_declared: list[object] = []


def prepare() -> None:
    """Once a process: work offline, share processors, and let a CUDA-built torchvision load beside a CPU-built torch.

    Threads of OpenMP spin while they wait, unless they are told not to before the library is loaded: beside other jobs
    on the same processors that more than doubles the time of both.

    The wheel of torchvision that pip takes holds operators compiled against CUDA. On a CPU build of torch they cannot
    be loaded, and torchvision fails to import because it registers fake versions of undeclared operators.
    Declaring them is enough: the video processors use none of them.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch

    if not _declared and torch.version.cuda is None and "+cpu" not in metadata.version("torchvision"):
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _declared.append(library)
