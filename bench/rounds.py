"""CPU seconds of several ways to do one thing, in interleaved rounds, so that a busy machine disturbs all alike."""

import resource
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

ROUNDS = 5


class Ratio(NamedTuple):
    """A measured number and the bound that it must keep."""

    name: str
    value: float
    bound: float
    is_at_most: bool = True

    @property
    def line(self) -> str:
        """What is printed of it."""
        sign, outcome = "<=" if self.is_at_most else ">=", "ok  " if self.holds else "FAIL"
        return f"{self.value:8.2f} {sign} {self.bound:<5g} {outcome} {self.name}"

    @property
    def holds(self) -> bool:
        return self.value <= self.bound if self.is_at_most else self.value >= self.bound


def cpu_seconds(call: Callable[[], object]) -> float:
    """CPU seconds of this process and of the children that a call waits for."""
    before = _used()
    call()
    return _used() - before


def medians(ways: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median CPU seconds of each way; the first round warms caches and is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, call in ways.items():
            seconds = cpu_seconds(call)
            if number:
                spent[name].append(seconds)
    return {name: median(values) for name, values in spent.items()}


def _used() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
