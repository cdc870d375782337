"""The seam to Snakemake: a user's mistake ends the workflow with one message and no traceback."""

from collections.abc import Callable
from typing import TypeVar

from snakemake.exceptions import WorkflowError

from reprise.core.errors import UserError

T = TypeVar("T")


def or_stop(function: Callable[..., T], *arguments: object) -> T:
    """Call a function of the library; Snakemake shows its UserError as a WorkflowError."""
    try:
        return function(*arguments)
    except UserError as error:
        raise WorkflowError(str(error)) from None
