"""Stage `construction_statistics`: what every filter dropped, and the paper's numbers of its making beside ours."""

from pathlib import Path

from reprise.construction.filters import filter_counts
from reprise.construction.keys import ConstructionStatisticsKey
from reprise.construction.registry import load_step, read_tables
from reprise.construction.review import as_csv
from reprise.construction.tables import COUNTS, FILTERS, STATISTICS
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.plain import plain
from reprise.core.schemas import table_of, write_table
from reprise.stages.command import In, MadeUnder, Out


def main(
    key: In[ConstructionStatisticsKey],
    tables: In[list[Path]],
    filters: Out[Path],
    csv: Out[Path],
    md: Out[Path],
    statistics: Out[Path],
    made_under: MadeUnder,
) -> None:
    kind, found = key.settings.kind, read_tables(key.settings.kind, tables)
    numbers = load_step(kind, "statistics")(found, key.settings)
    counts = filter_counts(found, FILTERS[kind])
    write_table(table_of(numbers, STATISTICS), statistics, STATISTICS, made_under)
    write_text(filters, as_csv(counts, list(COUNTS)))
    write_text(csv, as_csv(numbers, list(STATISTICS)))
    notice = f"\n{key.notice}\n" if key.notice else ""
    listed = {
        name: "\n".join(f"| {' | '.join(map(_cell, row.values()))} |" for row in rows)
        for name, rows in (("numbers", numbers), ("counts", counts))
    }
    write_text(md, PAGE.format(title=key.title, notice=notice, kind=kind, **listed))
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


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else plain(str(value)).replace("|", "\\|")
