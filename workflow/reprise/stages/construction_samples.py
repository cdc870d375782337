"""Stage `construction_samples`: what the writer wrote, put together to samples, and the filters on both."""

from collections import Counter
from pathlib import Path

from reprise.construction.filters import kept
from reprise.construction.keys import SamplesKey
from reprise.construction.registry import load_step, read_tables, write_tables
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import RESPONSES, read_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Make samples of what the writer wrote.", key=Path, tables=[Path], replies=[Path], out=[Path]
    )  # fmt: skip
    key = read_key(args.key, SamplesKey)
    tables = read_tables(key.settings.kind, args.tables)
    given = [read_table(path, RESPONSES) for path in args.replies]
    found = load_step(key.settings.kind, "samples").samples(tables, given, key.prompts, key.settings)
    for name, table in write_tables(key.settings.kind, found._asdict(), args.out, args.made_under).items():
        dropped = Counter(table.filter(table["filter"] != "")["filter"])
        listed = ", ".join(f"{count} {reason}" for reason, count in dropped.most_common())
        log.info(f"{name}: {table.height} rows, {kept(table).height} kept{f'; dropped: {listed}' if listed else ''}")


if __name__ == "__main__":
    run_command(main)
