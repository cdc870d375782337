"""The tests of models in full length: `make test-models`."""

from tests.unit.models.adapters.conftest import video  # noqa: F401
