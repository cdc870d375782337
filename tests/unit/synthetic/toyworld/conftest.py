"""What the toy world's tests share."""

import pytest
from reprise.models.local.torch_setup import prepare
from synthetic.toyworld.generate import evaluation_sources
from synthetic.toyworld.script import Script

prepare()


@pytest.fixture(scope="session")
def evaluation_scripts() -> dict[str, Script]:
    """The evaluation clips by id."""
    return {clip: script for source in evaluation_sources() for clip, script in source.clips().items()}
