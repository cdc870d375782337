"""Full tests of native models: `make test-models`."""

from tests.unit.models.adapters.conftest import video  # noqa: F401
