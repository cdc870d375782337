"""Reprise: evaluate Video-LLMs, and reproduce the numbers of video-language benchmarks."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.core.version import VERSION

if TYPE_CHECKING:
    import polars as pl

__version__ = VERSION

# Most jobs have one core, but polars would start a thread for every core of the machine and wait for them.
os.environ.setdefault("POLARS_MAX_THREADS", "1")


def results(table: str, folder: str | Path = ".") -> "pl.DataFrame":
    """Return the numbers of an existing table, such as `velociti/table2` or `overview` (docs/howto/notebook.md)."""
    from reprise.commands import answers as data_frames

    return data_frames.results(table, folder)


def answers(run: str, suite: str | None = None, folder: str | Path = ".") -> "pl.DataFrame":
    """Return the answers of a run, one per row (docs/howto/notebook.md)."""
    from reprise.commands import answers as data_frames

    return data_frames.answers(run, suite, folder)
