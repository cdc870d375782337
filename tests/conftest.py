"""Fixtures of all tests: restore the environment after each test, and collect garbage less often."""

import gc
import os
from collections.abc import Iterator

import pytest

# Garbage collection over all loaded libraries takes an eighth of the tests' time.
gc.set_threshold(100_000)


@pytest.fixture(autouse=True)
def environment_is_restored() -> Iterator[None]:
    """Restore environment variables that the tested code changes, such as CUDA_VISIBLE_DEVICES."""
    before = dict(os.environ)
    yield
    current = {name for name in os.environ if name != "PYTEST_CURRENT_TEST"}
    for name in current - before.keys():
        del os.environ[name]
    for name, value in before.items():
        if name != "PYTEST_CURRENT_TEST" and os.environ.get(name) != value:
            os.environ[name] = value
