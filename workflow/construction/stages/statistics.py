"""Stage `construction_statistics`: count what each filter dropped, and compare with the paper's own statistics."""

from pathlib import Path

from human_evaluation.tasks import as_csv
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.plain import sanitize_line
from reprise.core.schemas import CONSTRUCTION_STATISTICS, build_table, write_table
from reprise.stages.command import In, Out

from construction.filters import filter_counts
from construction.keys import ConstructionStatisticsKey
from construction.registry import load_step, read_tables
from construction.tables import COUNTS, FILTERS


def main(
    settings: ConstructionStatisticsKey,
    tables: In[list[Path]],
    filters: Out[Path],
    csv: Out[Path],
    md: Out[Path],
    statistics: Out[Path],
) -> None:
    construction = settings.settings
    kind = construction.kind  # the benchmark that is constructed
    named_tables = read_tables(kind, tables)
    statistics_rows = load_step(kind, "statistics")(named_tables, construction)
    filter_rows = filter_counts(named_tables, FILTERS[kind])
    write_table(build_table(statistics_rows, CONSTRUCTION_STATISTICS), statistics, CONSTRUCTION_STATISTICS)
    write_text(filters, as_csv(filter_rows, list(COUNTS)))
    write_text(csv, as_csv(statistics_rows, list(CONSTRUCTION_STATISTICS)))
    notice = f"\n{settings.notice}\n" if settings.notice else ""
    markdown_rows = {
        name: "\n".join(f"| {' | '.join(map(_cell, row.values()))} |" for row in rows)
        for name, rows in (("statistics_rows", statistics_rows), ("filter_rows", filter_rows))
    }
    write_text(md, PAGE.format(title=settings.title, notice=notice, **markdown_rows))
    log.info(f"{len(statistics_rows)} statistics, {len(filter_rows)} filters")


PAGE = """\
# Construction of {title}
{notice}
## Statistics, with the paper's values

| statistic | group | paper | reproduced | note |
|---|---|---|---|---|
{statistics_rows}

## Rows dropped by each filter

| step | filter | entered | dropped | left |
|---|---|---|---|---|
{filter_rows}

The rows of each step, with filter and reason, are in `<step>.parquet` in the folder of this page.
"""


def _cell(value: object) -> str:
    """Return a value as a cell of a Markdown table: two decimals at most, `-` for None."""
    if value is None:
        return "-"
    return (
        f"{value:.2f}".rstrip("0").rstrip(".")
        if isinstance(value, float)
        else sanitize_line(str(value)).replace("|", "\\|")
    )
