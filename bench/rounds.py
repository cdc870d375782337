"""Compare the CPU seconds of several calls in interleaved rounds, so that a busy machine disturbs all of them alike."""

import resource
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

ROUNDS = 5


class Ratio(NamedTuple):
    """A measured number and its bound."""

    name: str
    value: float
    bound: float
    is_at_most: bool = True

    @property
    def line(self) -> str:
        """Return the printed line."""
        sign, outcome = "<=" if self.is_at_most else ">=", "ok  " if self.holds else "FAIL"
        return f"{self.value:8.2f} {sign} {self.bound:<5g} {outcome} {self.name}"

    @property
    def holds(self) -> bool:
        return self.value <= self.bound if self.is_at_most else self.value >= self.bound


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds of this process and of the children that a call waits for."""
    start = _cpu_time()
    call()
    return _cpu_time() - start


def medians(calls: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median CPU seconds of each call; the first round warms caches and is not counted."""
    seconds_by_name: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            seconds = cpu_seconds(call)
            if number:
                seconds_by_name[name].append(seconds)
    return {name: median(values) for name, values in seconds_by_name.items()}


def _cpu_time() -> float:
    usages = (resource.getrusage(target) for target in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
