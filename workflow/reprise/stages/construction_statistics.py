"""Stage `construction_statistics`: what every filter dropped, and the paper's numbers of its making beside ours."""

from collections.abc import Sequence
from pathlib import Path

from reprise.construction.filters import Row, filter_counts
from reprise.construction.keys import ConstructionStatisticsKey
from reprise.construction.registry import filters_of, load_step, read_tables
from reprise.construction.review import as_csv
from reprise.construction.tables import COUNTS, STATISTICS
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.plain import plain
from reprise.core.schemas import table_of, write_table
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Count a construction.", key=Path, tables=[Path], filters=Path, csv=Path, md=Path, out=Path
    )  # fmt: skip
    key = read_key(args.key, ConstructionStatisticsKey)
    kind, tables = key.settings.kind, read_tables(key.settings.kind, args.tables)
    numbers = load_step(kind, "statistics")(tables, key.settings)
    counts = filter_counts(tables, filters_of(kind))
    write_table(table_of(numbers, STATISTICS), args.out, STATISTICS, args.made_under)
    write_text(args.filters, as_csv(counts, list(COUNTS)))
    write_text(args.csv, as_csv(numbers, list(STATISTICS)))
    write_text(args.md, _page(key, numbers, counts))
    log.info(f"{len(numbers)} numbers, {len(counts)} filters")


PAGE = """\
# Making {title}
{notice}
## Numbers that the paper states

| what | of | paper | ours | note |
|---|---|---|---|---|
{numbers}

## What each filter dropped

| step | filter | entered | dropped | left |
|---|---|---|---|---|
{counts}

The rows of each step, with the filter and its reason: `<step>.parquet` of `{kind}`.
"""


def _page(key: ConstructionStatisticsKey, numbers: Sequence[Row], counts: Sequence[Row]) -> str:
    def lines(rows: Sequence[Row]) -> str:
        return "\n".join(f"| {' | '.join(map(_cell, row.values()))} |" for row in rows)

    notice = f"\n{key.notice}\n" if key.notice else ""
    listed = {"numbers": lines(numbers), "counts": lines(counts)}
    return PAGE.format(title=key.title, notice=notice, kind=key.settings.kind, **listed)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else plain(str(value)).replace("|", "\\|")


if __name__ == "__main__":
    run_command(main)
