"""Run a stage: `python -m reprise.stages <stage>`, the command of the rules."""

import sys

from reprise.core.errors import run_command
from reprise.stages.command import run

if __name__ == "__main__":
    run_command(lambda: run(sys.argv[1:]))
