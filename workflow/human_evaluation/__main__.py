"""Run a stage of this package. The rules call `python -m human_evaluation <stage>`."""

import sys

from reprise.core.errors import run_command
from reprise.stages.command import run

if __name__ == "__main__":
    run_command(lambda: run(sys.argv[1:], "human_evaluation.stages", "human_"))
