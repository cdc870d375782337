"""Provide each file of rules with the keys of its stages, and with input functions from wildcards to paths."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from reprise.core.settings import Settings
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan


class RuleInputs(ABC):
    """Base of the objects that provide keys and input functions to a file of rules."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._results = plan, plan.results

    @abstractmethod
    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the key of each stage, with its name."""
