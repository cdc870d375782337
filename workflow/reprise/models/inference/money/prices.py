"""Compute the cost of requests from vendors' prices, and record a store's spending in a ledger.

Before a request is sent, its maximum cost is written to the ledger; afterwards, its actual cost. If a job is killed,
its requests in flight count with their maximum cost, because their actual cost is unknown. The configuration imports
this module, so it imports no SDK.
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
from reprise.core.locks import file_lock
from reprise.core.settings import Day, Settings
from reprise.core.store import append_lines

TOKENS_PER_PRICE = 1_000_000  # Vendors state prices per million tokens.
MAX_COUNT = 2**31 - 1  # The responses table has 32-bit counts of tokens and frames.
# Tolerance for rounding errors in sums of dollars.
ROUNDING_TOLERANCE = 1e-9


class TokenUsage(NamedTuple):
    """Numbers of tokens that a request uses."""

    input: int
    output: int
    cached: int = 0
    """input tokens from the vendor's prompt cache, which are included in `input`"""

    @property
    def total(self) -> int:
        """Return the number of input and output tokens."""
        return self.input + self.output


class Price(Settings):
    """Price of a model's tokens at a vendor, in US dollars."""

    input: float = Field(ge=0)
    """Price of prompt tokens, including those of frames."""
    output: float = Field(ge=0)
    """Price of answer tokens, including those of the reasoning."""
    cached: float | None = Field(None, ge=0)
    """Price of cached prompt tokens; by default that of `input`."""
    per: Literal["1M tokens"] = "1M tokens"
    """Number of tokens that the prices are for."""
    date: Day
    """Date of the vendor's price list."""
    source: str = Field(min_length=1)
    """Page with the price list."""

    def compute_usd(self, usage: TokenUsage) -> float:
        """Return the cost of a request in US dollars."""
        cached_price = self.input if self.cached is None else self.cached
        return (
            (usage.input - usage.cached) * self.input + usage.cached * cached_price + usage.output * self.output
        ) / TOKENS_PER_PRICE


class Budget(NamedTuple):
    """The maximum total spending of all jobs of a store; nothing by default."""

    usd: float = 0.0
    """for models whose price is known"""
    tokens: int = 0
    """for models whose price is unknown"""

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> "Budget":
        """Return the budget for a pair of dollars and tokens; no budget if the sequence is empty."""
        usd, tokens = numbers or (0.0, 0.0)
        return cls(usd, int(tokens))

    def permits(self, price: Price | None) -> bool:
        """Return whether the budget allows any query of a model with this price."""
        return (self.tokens if price is None else self.usd) > 0


NO_BUDGET = Budget()


@dataclass(frozen=True)
class Account:
    """The account that pays the requests of a run."""

    store_folder: Path
    name: str
    """name of the run in the ledger"""
    price: Price | None = None
    budget: Budget = NO_BUDGET
    is_paid: bool = True
    """False if the job starts the server itself, even if that server has a key"""


def get_budget_setting(price: Price | None) -> str:
    """Return the name of the budget setting that applies to a model with this price."""
    return "budget_tokens" if price is None else "budget_usd"


class Spending(NamedTuple):
    """The total spending, including the maximum cost of requests in flight."""

    usd: float = 0.0
    tokens: int = 0
    """tokens of models whose price is unknown"""


class RequestCost(NamedTuple):
    """The cost of one request: dollars, or tokens if its model's price is unknown."""

    usd: float | None
    tokens: int

    @classmethod
    def from_usage(cls, usage: TokenUsage, price: Price | None) -> "RequestCost":
        """Return the cost of a request with this token usage."""
        return cls(None if price is None else price.compute_usd(usage), usage.total)

    def add_to(self, spending: Spending, sign: int = 1) -> Spending:
        """Return the spending plus this cost, or minus this cost if `sign` is -1."""
        if self.usd is None:
            return Spending(spending.usd, spending.tokens + sign * self.tokens)
        return Spending(spending.usd + sign * self.usd, spending.tokens)


class Ledger:
    """The spending of all jobs and suites of a store, in one append-only file.

    Each line is a JSON array: `reserved` or `settled`, the reservation's id, dollars, tokens and perhaps the run.
    """

    def __init__(self, store_folder: Path) -> None:
        self.path = store_folder / "spent.jsonl"
        self._lock = store_folder / "locks" / "spent.lock"
        self._inode, self._offset = -1, 0
        self._spending = Spending()
        self._reserved_costs: dict[str, RequestCost] = {}

    def read_spending(self) -> Spending:
        """Return the spending of all jobs so far; read only the lines appended since the last call."""
        if not self.path.is_file():
            return self._spending
        with self.path.open("rb") as stream:
            inode = os.fstat(stream.fileno()).st_ino
            if inode != self._inode:  # A repair writes a new file without the damaged lines.
                self._inode, self._offset, self._spending, self._reserved_costs = inode, 0, Spending(), {}
            stream.seek(self._offset)
            content = stream.read()
        complete_lines = content[: content.rfind(b"\n") + 1]  # A kill may have truncated the last line.
        for line in complete_lines.splitlines():
            try:
                kind, reservation_id, usd, tokens, *_ = cast(list[Any], parse_line(line))
            except ValueError as error:
                raise UserError(
                    f"{self.path}: a line is damaged: {error}. Run `reprise store --repair`, which drops "
                    "damaged lines; their amounts then no longer count as spent. Then run the same command again."
                ) from error
            cost = RequestCost(usd, tokens)
            if kind == "reserved":
                self._reserved_costs[str(reservation_id)] = cost
            elif reservation_id in self._reserved_costs:
                self._spending = self._reserved_costs.pop(str(reservation_id)).add_to(self._spending, -1)
            self._spending = cost.add_to(self._spending)
        self._offset += len(complete_lines)
        return self._spending

    def reserve(self, run: str, max_cost: RequestCost, budget: Budget) -> str:
        """Reserve the maximum cost of a request; return the reservation's id, or "" if the budget is too small."""
        with file_lock(self._lock):
            total = max_cost.add_to(self.read_spending())
            if max_cost.usd is None:
                is_over_budget = total.tokens > budget.tokens
            else:
                is_over_budget = total.usd > budget.usd + ROUNDING_TOLERANCE
            if is_over_budget:
                return ""
            reservation_id = uuid4().hex
            self._append("reserved", reservation_id, max_cost, run, should_sync=True)
            return reservation_id

    def settle(self, reservation_id: str, cost: RequestCost) -> None:
        """Replace a reservation by the actual cost; if a power cut loses the line, the larger reservation counts."""
        with file_lock(self._lock):
            self._append("settled", reservation_id, cost, should_sync=False)

    def _append(self, kind: str, reservation_id: str, cost: RequestCost, *details: str, should_sync: bool) -> None:
        append_lines(
            self.path, canonical_json([kind, reservation_id, cost.usd, cost.tokens, *details]), should_sync=should_sync
        )
