"""Fixtures of all tests: the environment is restored after each of them, and garbage is searched for less often."""

import gc
import os
from collections.abc import Iterator

import pytest

# Libraries stay in use, and to search all of them for garbage takes an eighth of the tests' time.
gc.set_threshold(100_000)


@pytest.fixture(autouse=True)
def environment_is_restored() -> Iterator[None]:
    """Take back variables that the code under test has set, such as CUDA_VISIBLE_DEVICES for the GPUs that it took."""
    before = dict(os.environ)
    yield
    current = {name for name in os.environ if name != "PYTEST_CURRENT_TEST"}
    for name in current - before.keys():
        del os.environ[name]
    for name, value in before.items():
        if name != "PYTEST_CURRENT_TEST" and os.environ.get(name) != value:
            os.environ[name] = value
