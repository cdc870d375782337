"""The seam to Snakemake: a user's mistake ends the parsing of the workflow with one message."""

from typing import Any

from snakemake.exceptions import WorkflowError

from reprise.errors import UserError
from reprise.plan import Plan, load_plan


def load_plan_or_stop(overrides: dict[str, Any]) -> Plan:
    """The plan of the configured suite; Snakemake shows a WorkflowError without a traceback."""
    try:
        return load_plan(overrides)
    except UserError as error:
        raise WorkflowError(str(error)) from None
