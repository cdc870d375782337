# What all rules share. The methods of PLAN are their input functions.
import sys

from reprise.plan.workflow import load_workflow

PYTHON = sys.executable
PLAN = load_workflow(config, sys.argv)
SUITE = PLAN.suite
STORE = PLAN.store


wildcard_constraints:
    **PLAN.constraints(),
