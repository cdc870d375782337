"""Run every comparison, print each ratio beside its bound, and fail if one does not hold."""

import sys
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import media, scoring


def main() -> None:
    failed = 0
    with TemporaryDirectory() as folder:
        for ratio in chain(media.ratios(Path(folder)), scoring.ratios(Path(folder))):
            sign = "<=" if ratio.is_at_most else ">="
            print(
                f"{ratio.value:8.2f} {sign} {ratio.bound:<5g} {'ok  ' if ratio.holds else 'FAIL'} {ratio.name}",
                flush=True,
            )
            failed += not ratio.holds
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
