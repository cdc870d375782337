"""Stage `report`: write the static site with tables, figures, runs and items."""

from pathlib import Path

from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.paths import Results
from reprise.core.store import Store
from reprise.report.build import build
from reprise.report.keys import ReportKey
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Write the report.", key=Path, store=Path, out=Path)
    key = read_key(args.key, ReportKey)
    build(key, Results(key.suite), Store(args.store), args.out.parent)
    log.info(f"{len(key.runs())} runs; open {args.out}")


if __name__ == "__main__":
    run_command(main)
