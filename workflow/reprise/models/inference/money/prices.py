"""Prices of a vendor's models, budgets, and the ledger of a store's spending.

The most that a request may cost is written to the ledger before it is sent, its actual cost afterwards. A request that
was in flight when its job was killed counts with the most that it may have cost, since its actual cost is unknown. This
module imports no SDK, so that the configuration can import it.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from uuid import uuid4

from pydantic import Field

from reprise.core.errors import UserError
from reprise.core.files import canonical_json, parse_line
from reprise.core.locks import locked
from reprise.core.settings import Day, Settings
from reprise.core.store import append_line

TOKENS_PER_PRICE = 1_000_000
MAX_COUNT = 2**31 - 1  # The responses table has 32-bit counts of tokens and frames.
# Tolerance for rounding errors in sums of dollars.
ROUNDING_TOLERANCE = 1e-9


class TokenUsage(NamedTuple):
    """Token usage of a request."""

    input: int
    output: int
    cached: int = 0
    """input tokens that came from the vendor's prompt cache, part of `input`"""

    @property
    def total(self) -> int:
        return self.input + self.output


class Price(Settings):
    """Price of a model's tokens at a vendor, in US dollars."""

    input: float = Field(ge=0)
    """Price of prompt tokens, including those of frames."""
    output: float = Field(ge=0)
    """Price of answer tokens, including those of thoughts."""
    cached: float | None = Field(None, ge=0)
    """Price of prompt tokens that the vendor reports as cached; by default the price of `input`."""
    per: Literal["1M tokens"] = "1M tokens"
    """Number of tokens that the prices are for."""
    date: Day
    """Date of the vendor's price list."""
    source: str = Field(min_length=1)
    """Page with the price list."""

    def compute_usd(self, usage: TokenUsage) -> float:
        cached = self.input if self.cached is None else self.cached
        return (
            (usage.input - usage.cached) * self.input + usage.cached * cached + usage.output * self.output
        ) / TOKENS_PER_PRICE


class Budget(NamedTuple):
    """The most that all jobs of a store may ever spend; nothing by default."""

    usd: float = 0.0
    """for models whose price is known"""
    tokens: int = 0
    """for models whose price is unknown"""

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> "Budget":
        """Return the budget of the workflow's pair of dollars and tokens; no budget if the sequence is empty."""
        usd, tokens = numbers or (0.0, 0.0)
        return cls(usd, int(tokens))

    def permits(self, price: Price | None) -> bool:
        """Return whether a model with this price may be queried at all."""
        return (self.tokens if price is None else self.usd) > 0


NO_BUDGET = Budget()


@dataclass(frozen=True)
class Account:
    """The account by which a run's requests are paid."""

    store: Path
    name: str
    """name of the run in the ledger"""
    price: Price | None = None
    budget: Budget = NO_BUDGET
    is_paid: bool = True
    """false where the job starts the server itself, even if that server has a key"""


def get_budget_setting(price: Price | None) -> str:
    """Return the name of the setting that must be above 0 for a model with this price."""
    return "budget_tokens" if price is None else "budget_usd"


class Spending(NamedTuple):
    """The total spending, including the most that requests in flight may cost."""

    usd: float = 0.0
    tokens: int = 0
    """tokens of models whose price is unknown"""


class RequestCost(NamedTuple):
    """The cost of one request: dollars, or tokens where its model's price is unknown."""

    usd: float | None
    tokens: int

    @classmethod
    def from_usage(cls, usage: TokenUsage, price: Price | None) -> "RequestCost":
        return cls(None if price is None else price.compute_usd(usage), usage.total)

    def add_to(self, spent: Spending, sign: int = 1) -> Spending:
        if self.usd is None:
            return Spending(spent.usd, spent.tokens + sign * self.tokens)
        return Spending(spent.usd + sign * self.usd, spent.tokens)


class Ledger:
    """The spending of all jobs and suites of a store, in one append-only file."""

    def __init__(self, store: Path) -> None:
        self.path = store / "spent.jsonl"
        self._lock = store / "locks" / "spent.lock"
        self._inode, self._offset = -1, 0
        self._spent = Spending()
        self._reserved: dict[str, RequestCost] = {}

    def spent(self) -> Spending:
        """Return the spending of all jobs so far; read only what was appended since the last call."""
        if not self.path.is_file():
            return self._spent
        with self.path.open("rb") as stream:
            inode = os.fstat(stream.fileno()).st_ino
            if inode != self._inode:  # A repair, which drops damaged lines, writes a new file.
                self._inode, self._offset, self._spent, self._reserved = inode, 0, Spending(), {}
            stream.seek(self._offset)
            content = stream.read()
        complete_lines = content[: content.rfind(b"\n") + 1]  # A kill may have truncated the last line.
        for line in complete_lines.splitlines():
            try:
                kind, name, usd, tokens, *_ = cast(list[Any], parse_line(line))
            except ValueError as error:
                raise UserError(
                    f"{self.path}: a line is damaged: {error}. Run `python -m reprise store --repair`, which drops "
                    "damaged lines; their amounts then no longer count as spent. Then run the same command again."
                ) from error
            entry = RequestCost(usd, tokens)
            if kind == "reserved":
                self._reserved[str(name)] = entry
            elif name in self._reserved:
                self._spent = self._reserved.pop(str(name)).add_to(self._spent, -1)
            self._spent = entry.add_to(self._spent)
        self._offset += len(complete_lines)
        return self._spent

    def reserve(self, account: str, max_cost: RequestCost, budget: Budget) -> str:
        """Reserve the most that a request may cost; return the reservation's name, or "" if the budget is too small."""
        with locked(self._lock):
            total = max_cost.add_to(self.spent())
            if total.tokens > budget.tokens if max_cost.usd is None else total.usd > budget.usd + ROUNDING_TOLERANCE:
                return ""
            name = uuid4().hex
            self._append("reserved", name, max_cost, account, to_disk=True)
            return name

    def settle(self, name: str, cost: RequestCost) -> None:
        """Replace a reservation by the actual cost; a line lost in a power cut leaves the larger, reserved amount."""
        with locked(self._lock):
            self._append("settled", name, cost, to_disk=False)

    def _append(self, kind: str, name: str, entry: RequestCost, *details: str, to_disk: bool) -> None:
        append_line(self.path, canonical_json([kind, name, entry.usd, entry.tokens, *details]), to_disk=to_disk)
