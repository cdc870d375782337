"""Stage `construction_requests`: what the writer is asked in a round, by what the rounds before came to.

The writer is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from pathlib import Path

from reprise.construction.keys import WritingKey
from reprise.construction.registry import load_step, read_tables
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, read_table, table_of, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Derive a round of the writer's requests.", key=Path, tables=[Path], replies=[Path], out=Path
    )  # fmt: skip
    key = read_key(args.key, WritingKey)
    tables = read_tables(key.settings.kind, args.tables)
    given = [read_table(path, RESPONSES) for path in args.replies]
    rows = load_step(key.settings.kind, "requests")(tables, given, key.prompts, key.settings)
    write_table(table_of(rows, REQUESTS), args.out, REQUESTS, args.made_under)
    log.info(f"round {len(given) + 1}: {len(rows)} requests")


if __name__ == "__main__":
    run_command(main)
