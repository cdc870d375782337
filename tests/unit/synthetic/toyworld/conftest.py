"""What the toy world's tests share."""

from reprise.models.local.torch_setup import torch

import pytest
from synthetic.toyworld.generate import evaluation_sources
from synthetic.toyworld.script import Script

# Sums in one order, so that two runs can be compared bit by bit; tiny models gain nothing from a second thread.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def evaluation_scripts() -> dict[str, Script]:
    """The evaluation clips by id."""
    return {clip: script for source in evaluation_sources() for clip, script in source.clips().items()}
