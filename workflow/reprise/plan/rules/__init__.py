"""What each file of rules asks of a suite: the keys of its stages, and input functions from wildcards to paths."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from snakemake.common import overwrite_function_params

from reprise.plan.runs import Plan


class Asked:
    def __init__(self, plan: Plan) -> None:
        self._plan, self._results = plan, plan.results

    def __init_subclass__(cls) -> None:
        for function in vars(cls).values():
            if callable(function):
                note_parameters(function)


def note_parameters(function: Callable[..., Any]) -> None:
    """Note the parameters of an input function once: Snakemake would find them out several times for each job."""
    overwrite_function_params(function, signature(function).parameters)
