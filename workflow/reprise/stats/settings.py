"""Settings of statistics; imports nothing heavy, so that a configuration can."""

from pydantic import Field

from reprise.core.keyfile import Settings


class Bootstrap(Settings):
    """How intervals are drawn."""

    draws: int = Field(2000, ge=100)
    level: float = Field(0.95, gt=0.5, lt=1)
    seed: int = 0
