"""Settings of statistics; imports nothing heavy, so that a configuration can."""

from pydantic import Field

from reprise.core.settings import Settings


class Bootstrap(Settings):
    """Intervals of all numbers: a percentile bootstrap over whole videos."""

    draws: int = Field(2000, ge=100)
    """How often the videos are drawn again."""
    level: float = Field(0.95, gt=0.5, lt=1)
    """Share of the draws that lies inside an interval: 0.95 gives 95 % intervals."""
    seed: int = 0
    """Seed of the draws."""
