# What all rules share. SUITE has an object for each file of rules, whose methods are their input functions; SITE is what
# all jobs are told alike.
import gc
import sys

from snakemake.exceptions import WorkflowError

# What planning reads stays in use: to search all of it for garbage takes a seventh of a dry run's time.
gc.set_threshold(100_000)

try:
    from reprise.core.errors import UserError
    from reprise.plan.suite import load_suite
    from reprise.stages.command import command
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"This Snakemake is not of the project's environment: {sys.executable} has no module '{error.name}'. "
        "Set the environment up with `make setup`, then run .venv/bin/snakemake, or `source .venv/bin/activate` first."
    ) from None

PYTHON = sys.executable
try:
    SUITE = load_suite(config, sys.argv)
except UserError as error:
    # Raised here, so that Snakemake shows no file of the library.
    raise WorkflowError(str(error)) from None
SITE = SUITE.for_jobs


# No wildcard: Snakemake finds the rule of a file by what its path begins with.
pathvars:
    suite=f"results/{SUITE.name}",


wildcard_constraints:
    **SUITE.wildcards(),


onsuccess:
    SUITE.say_outcome()


onerror:
    SUITE.say_failures()
