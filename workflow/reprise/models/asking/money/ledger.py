"""The ledger of a store: what requests to vendors may cost is written before they are sent, what they cost after.

A request that was on its way when its job was killed counts with all that it may have cost: nobody knows better.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import uuid4

from filelock import FileLock

from reprise.core.errors import UserError
from reprise.core.files import canonical_json, value_of_line
from reprise.core.store import append_line
from reprise.models.asking.money.prices import Budget, Price, Used

RESERVED, SETTLED = "reserved", "settled"
# Of sums of rounded dollars.
ROUNDING = 1e-9


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
            return spent._replace(tokens=spent.tokens + sign * self.tokens)
        return spent._replace(usd=spent.usd + sign * self.usd)


class Ledger:
    """One file for all jobs and suites of a store; only ever appended to."""

    def __init__(self, store: Path) -> None:
        self.path = store / "spent.jsonl"
        self._lock = store / "locks" / "spent.lock"
        self._file, self._read_to = -1, 0
        self._spent = Spent()
        self._open: dict[str, Entry] = {}

    def spent(self) -> Spent:
        """What all jobs have spent so far."""
        self._read_on()
        return self._spent

    def reserve(self, who: str, worst: Entry, budget: Budget) -> str:
        """Write down what a request may cost; returns its name, or nothing where the budget does not hold as much."""
        with self._alone():
            after = worst.added(self.spent())
            if after.tokens > budget.tokens if worst.usd is None else after.usd > budget.usd + ROUNDING:
                return ""
            name = uuid4().hex
            self._append(RESERVED, name, worst, who, to_disk=True)
            return name

    def settle(self, name: str, cost: Entry) -> None:
        """What it did cost; a line that a power cut loses leaves the larger number."""
        with self._alone():
            self._append(SETTLED, name, cost, to_disk=False)

    def _alone(self) -> FileLock:
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        # The operating system's lock or none: it ends with its process, also by a kill.
        return FileLock(self._lock, poll_interval=0.002, fallback_to_soft=False, thread_local=False)

    def _append(self, kind: str, name: str, entry: Entry, *more: str, to_disk: bool) -> None:
        append_line(self.path, canonical_json([kind, name, entry.usd, entry.tokens, *more]), to_disk=to_disk)

    def _read_on(self) -> None:
        """Take in what was written since."""
        if not self.path.is_file():
            return
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
            if kind == RESERVED:
                self._open[str(name)] = entry
            elif name in self._open:
                self._spent = self._open.pop(str(name)).added(self._spent, -1)
            self._spent = entry.added(self._spent)
        self._read_to += len(whole)
