"""What every stage command shares: its arguments."""

import argparse
from typing import Any


# Not typer, as for the commands that people type: over 20 starts of a stage it took 0.2 s of processor time more, which
# each of a run's 860 jobs would pay, and it does not read `--ledgers A B C`.
def arguments(description: str, **options: Any) -> argparse.Namespace:
    """Parse `--name VALUE` options: a type for one value, a list of one type for several."""
    parser = argparse.ArgumentParser(description=description)
    for name, kind in options.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(kind, list):
            parser.add_argument(flag, type=kind[0], nargs="*", default=[])
        else:
            parser.add_argument(flag, type=kind, required=True)
    return parser.parse_args()
