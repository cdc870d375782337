# What all rules share. The methods of PLAN are their input functions.
import sys

from reprise.core.errors import UserError
from reprise.plan.workflow import load_workflow
from snakemake.exceptions import WorkflowError

PYTHON = sys.executable
try:
    PLAN = load_workflow(config, sys.argv)
except UserError as error:
    # Raised here, so that Snakemake shows no file of the library.
    raise WorkflowError(str(error)) from None
SUITE = PLAN.suite
STORE = PLAN.store
ATTEMPTS = PLAN.answer_attempts


wildcard_constraints:
    **PLAN.constraints(),


onsuccess:
    PLAN.report_failures()


onerror:
    PLAN.report_failures()
