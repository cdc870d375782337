"""Prices of a vendor's models, budgets, and the ledger of a store: what requests may cost is written before they are
sent, what they cost after. Imports no SDK, so that a configuration can.

A request that was on its way when its job was killed counts with all that it may have cost: nobody knows better.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from uuid import uuid4

from pydantic import Field

from reprise.core.errors import UserError
from reprise.core.files import canonical_json, value_of_line
from reprise.core.locks import locked
from reprise.core.settings import Day, Settings
from reprise.core.store import append_line

TOKENS = 1_000_000
LARGEST_COUNT = 2**31 - 1  # of tokens and frames: the responses hold 32 bits
# Of sums of rounded dollars.
ROUNDING = 1e-9


class Used(NamedTuple):
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
    date: Day
    """The day on which the vendor's page said so."""
    source: str = Field(min_length=1)
    """That page."""

    def usd(self, used: Used) -> float:
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


class Spent(NamedTuple):
    """What was spent, with what requests on their way may cost."""

    usd: float = 0.0
    tokens: int = 0
    """of models whose price is unknown"""


class Entry(NamedTuple):
    """What one request takes: dollars, or tokens where its model's price is unknown."""

    usd: float | None
    tokens: int

    @classmethod
    def of(cls, used: Used, price: Price | None) -> "Entry":
        return cls(None if price is None else price.usd(used), used.total)

    def added(self, spent: Spent, sign: int = 1) -> Spent:
        if self.usd is None:
            return Spent(spent.usd, spent.tokens + sign * self.tokens)
        return Spent(spent.usd + sign * self.usd, spent.tokens)


class Ledger:
    """One file for all jobs and suites of a store; only ever appended to."""

    def __init__(self, store: Path) -> None:
        self.path = store / "spent.jsonl"
        self._lock = store / "locks" / "spent.lock"
        self._file, self._read_to = -1, 0
        self._spent = Spent()
        self._open: dict[str, Entry] = {}

    def spent(self) -> Spent:
        """What all jobs have spent so far; what was written since it was asked last is read."""
        if not self.path.is_file():
            return self._spent
        with self.path.open("rb") as stream:
            file = os.fstat(stream.fileno()).st_ino
            if file != self._file:  # another one, since damaged lines were dropped
                self._file, self._read_to, self._spent, self._open = file, 0, Spent(), {}
            stream.seek(self._read_to)
            content = stream.read()
        whole = content[: content.rfind(b"\n") + 1]  # a kill may have cut the last line short
        for line in whole.splitlines():
            try:
                kind, name, usd, tokens, *_ = cast(list[Any], value_of_line(line))
            except ValueError as error:
                raise UserError(
                    f"{self.path}: a line is damaged: {error}. Run `python -m reprise store --repair`, which drops "
                    "damaged lines; what stood in them is then not counted as spent. Then run the same command again."
                ) from error
            entry = Entry(usd, tokens)
            if kind == "reserved":
                self._open[str(name)] = entry
            elif name in self._open:
                self._spent = self._open.pop(str(name)).added(self._spent, -1)
            self._spent = entry.added(self._spent)
        self._read_to += len(whole)
        return self._spent

    def reserve(self, who: str, worst: Entry, budget: Budget) -> str:
        """Write down what a request may cost; returns its name, or nothing where the budget does not hold as much."""
        with locked(self._lock):
            after = worst.added(self.spent())
            if after.tokens > budget.tokens if worst.usd is None else after.usd > budget.usd + ROUNDING:
                return ""
            name = uuid4().hex
            self._append("reserved", name, worst, who, to_disk=True)
            return name

    def settle(self, name: str, cost: Entry) -> None:
        """What it did cost; a line that a power cut loses leaves the larger number."""
        with locked(self._lock):
            self._append("settled", name, cost, to_disk=False)

    def _append(self, kind: str, name: str, entry: Entry, *more: str, to_disk: bool) -> None:
        append_line(self.path, canonical_json([kind, name, entry.usd, entry.tokens, *more]), to_disk=to_disk)
