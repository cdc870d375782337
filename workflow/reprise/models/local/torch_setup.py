"""torch with its process-wide settings. Modules import it from here before anything else that imports torch.

It works offline, and a torchvision for CUDA can be imported beside a torch for CPUs. OpenMP threads spin while they
wait unless the environment forbids it before the library is loaded. Beside other jobs on the same processors, spinning
more than doubles the run time of all of them. With expandable segments, GPU memory that was freed by clips of one
length can be reused for clips of another length.
"""

import os

from reprise.models.local.torchvision_operators import declare_when_imported

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTORCH_CUDA_ALLOC_CONF" not in os.environ:  # torch's former name for the same setting
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
declare_when_imported()

import torch as torch  # noqa: E402  after its settings; other modules import it from here
