# What all rules share. The methods of PLAN are their input functions.
import sys

from snakemake.exceptions import WorkflowError

try:
    from reprise.core.errors import UserError
    from reprise.plan.workflow import load_workflow
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"This Snakemake is not of the project's environment: {sys.executable} has no module '{error.name}'. "
        "Set the environment up with `make setup`, then run .venv/bin/snakemake, or `source .venv/bin/activate` first."
    ) from None

PYTHON = sys.executable
try:
    PLAN = load_workflow(config, sys.argv)
except UserError as error:
    # Raised here, so that Snakemake shows no file of the library.
    raise WorkflowError(str(error)) from None
SUITE = PLAN.suite
STORE = PLAN.store
SCRATCH = PLAN.scratch
ATTEMPTS = PLAN.answer_attempts
BUDGET = PLAN.budget


# No wildcard: Snakemake finds the rule of a file by what its path begins with.
pathvars:
    suite=f"results/{SUITE}",


wildcard_constraints:
    **PLAN.constraints(),


onsuccess:
    PLAN.report_success()


onerror:
    PLAN.report_failures()
