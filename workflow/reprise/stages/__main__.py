"""`python -m reprise.stages <stage>`: what the rules run."""

import sys

from reprise.stages.warm import is_run_warm

if __name__ == "__main__" and not is_run_warm(sys.argv[1:]):
    from reprise.core.errors import run_command
    from reprise.stages.command import run

    run_command(lambda: run(sys.argv[1:]))
