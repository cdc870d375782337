"""torch, set up: modules take it from here, before they import anything else that imports it.

It works offline, shares processors, and a torchvision for CUDA is loaded beside another torch. Threads of OpenMP spin
while they wait, unless they are told not to before the library is loaded: beside other jobs on the same processors that
more than doubles the time of both.
"""

import os

from reprise.models.local.torchvision_operators import declare_when_imported

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
declare_when_imported()

import torch as torch  # noqa: E402  after what it is told; others import it from here
