"""Import torch with its process-wide settings; modules import torch from here, before any other import of torch.

The settings have these effects:

- Libraries work offline.
- A torchvision for CUDA can be imported beside a torch for CPUs.
- OpenMP threads do not spin while they wait. Spinning more than doubles the run time of all jobs on the same
  processors.
- GPU memory that was freed by clips of one length can be reused for clips of another length (expandable segments).
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
