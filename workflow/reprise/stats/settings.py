"""Settings of statistics; imports nothing heavy, so that a configuration can."""

from pydantic import Field

from reprise.core.settings import Settings


class Bootstrap(Settings):
    """Intervals of all numbers and tests of `compare`, by whole videos (docs/reference/statistics.md)."""

    draws: int = Field(2000, ge=100)
    """Patterns of signs that a test of `compare` draws where it cannot try all."""
    level: float = Field(0.95, gt=0.5, lt=1)
    """How often an interval is to hold the true value: 0.95 gives 95 % intervals."""
    seed: int = 0
    """Seed of the draws."""
