"""What every stage command shares: its arguments."""

import argparse
from pathlib import Path
from typing import Any

from reprise.core.files import file_digest

KEY_DIGITS = 16


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
    return with_keys(parser.parse_args())


def with_keys(args: argparse.Namespace) -> argparse.Namespace:
    """Add `made_under`: the digests of the key files among the arguments, as they are before the work begins."""
    keys = [path for name, path in vars(args).items() if name.endswith("key") and isinstance(path, Path)]
    args.made_under = {str(path): file_digest(path)[:KEY_DIGITS] for path in keys if path.is_file()}
    return args
