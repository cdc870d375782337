"""Prices of a vendor's models, and what a request takes of a budget. Imports no SDK, so that a configuration can."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from reprise.core.settings import Settings

TOKENS = 1_000_000


class Used(NamedTuple):
    """Tokens of a request."""

    input: int
    output: int
    cached: int = 0
    """of the input, those that the vendor had read before"""

    @property
    def total(self) -> int:
        return self.input + self.output


class Price(Settings):
    """What a vendor takes for a model's tokens, in US dollars."""

    input: float = Field(ge=0)
    """For tokens of prompts, frames included."""
    output: float = Field(ge=0)
    """For tokens of answers, thoughts included."""
    cached: float | None = Field(None, ge=0)
    """For tokens of prompts that the vendor says it had in its cache; by default as `input`."""
    per: Literal["1M tokens"] = "1M tokens"
    """What the numbers are for."""
    date: date
    """The day on which the vendor's page said so."""
    source: str = Field(min_length=1)
    """That page."""

    def usd(self, used: Used) -> float:
        """What these tokens cost."""
        cached = self.input if self.cached is None else self.cached
        return ((used.input - used.cached) * self.input + used.cached * cached + used.output * self.output) / TOKENS


class Budget(NamedTuple):
    """What all jobs of a store may spend, ever; nothing by default."""

    usd: float = 0.0
    """by models whose price is known"""
    tokens: int = 0
    """by models whose price is unknown"""

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Budget":
        """Dollars and tokens, as the workflow gives them; nothing where it gives none."""
        usd, tokens = numbers or (0.0, 0.0)
        return cls(usd, int(tokens))

    def permits(self, price: Price | None) -> bool:
        """Whether a model of this price may be asked at all."""
        return (self.tokens if price is None else self.usd) > 0


NO_BUDGET = Budget()


@dataclass(frozen=True)
class Account:
    """Who pays for a run's questions, and out of what."""

    store: Path
    name: str
    """of the run, in the ledger"""
    price: Price | None = None
    budget: Budget = NO_BUDGET
    is_paid: bool = True
    """not where the server is the job's own, whatever its key"""


def needed_budget(price: Price | None) -> str:
    """The setting that a model of this price needs above 0."""
    return "budget_tokens" if price is None else "budget_usd"
