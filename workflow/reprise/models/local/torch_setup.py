"""torch, set up: modules take it from here, before they import anything else that imports it.

It works offline, shares processors, and a torchvision for CUDA is loaded beside another torch. Threads of OpenMP spin
while they wait, unless they are told not to before the library is loaded: beside other jobs on the same processors that
more than doubles the time of both. Memory of a GPU that clips of one length have left free serves those of another
length as well where its segments can grow.
"""

import os

from reprise.models.local.torchvision_operators import declare_when_imported

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTORCH_CUDA_ALLOC_CONF" not in os.environ:  # torch's earlier name of the same setting
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
declare_when_imported()

import torch as torch  # noqa: E402  after what it is told; others import it from here
