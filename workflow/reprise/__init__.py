"""Reprise: evaluate Video-LLMs, and reproduce the numbers of video-language benchmarks."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reprise.core.version import VERSION

if TYPE_CHECKING:
    from reprise.commands.answers import answers as answers
    from reprise.commands.answers import results as results
    from reprise.commands.api import evaluate as evaluate
    from reprise.core.errors import UserError as UserError
    from reprise.figures.trend import trend as trend

__version__ = VERSION

# Most jobs have one core, but polars would start a thread for every core of the machine and wait for them.
os.environ.setdefault("POLARS_MAX_THREADS", "1")


# What notebooks and programs use, and its modules, which are imported at the first use.
MODULES = {
    "UserError": "reprise.core.errors",
    "answers": "reprise.commands.answers",
    "evaluate": "reprise.commands.api",
    "results": "reprise.commands.answers",
    "trend": "reprise.figures.trend",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'reprise' has no attribute '{name}'")
    return getattr(import_module(MODULES[name]), name)
