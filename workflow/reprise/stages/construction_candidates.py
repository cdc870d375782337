"""Stage `construction_candidates`: from raw annotations to what is to be written, and what for."""

from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import CandidatesKey
from reprise.construction.registry import load_step, write_tables
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import FACTS, read_table
from reprise.core.tabular import listed_files
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Make a construction's candidates of raw annotations.", key=Path, files=Path, facts=[Path], out=[Path]
    )
    settings = read_key(args.key, CandidatesKey).settings
    measured = [read_table(path, FACTS) for path in args.facts]
    found = load_step(settings.kind, "candidates")(listed_files(args.files), settings, *measured)
    tables = write_tables(settings.kind, found._asdict(), args.out, args.made_under)
    for name in ("pool", "candidates"):
        log.info(f"{name}: {tables[name].height} rows, {kept(tables[name]).height} kept")


if __name__ == "__main__":
    run_command(main)
