"""Stage `construction_statistics`: what every filter dropped, and the paper's numbers of its making beside ours."""

from pathlib import Path

from reprise.construction.filters import Row
from reprise.construction.keys import ConstructionStatisticsKey
from reprise.construction.registry import load_step, read_tables
from reprise.construction.review import as_csv
from reprise.construction.schemas import COUNTS, STATISTICS
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
    step = load_step(key.settings.kind, "statistics")
    found = read_tables(key.settings.kind, tables)
    numbers, counts = step.statistics(found, key.settings), step.filter_counts(found)
    write_table(table_of(numbers, STATISTICS), statistics, STATISTICS, made_under)
    write_text(filters, as_csv(counts, list(COUNTS)))
    write_text(csv, as_csv(numbers, list(STATISTICS)))
    write_text(md, _page(key, numbers, counts))
    log.info(f"{len(numbers)} numbers, {len(counts)} filters")


def _page(key: ConstructionStatisticsKey, numbers: list[Row], counts: list[Row]) -> str:
    lines = [f"# Making {key.title}", ""]
    lines += [key.notice, ""] if key.notice else []
    lines += ["## Numbers that the paper states", "", "| what | of | paper | ours | note |", "|---|---|---|---|---|"]
    lines += [_line(row["what"], row["group"], row["paper"], row["ours"], row["note"]) for row in numbers]
    lines += [
        "",
        "## What each filter dropped",
        "",
        "| step | filter | entered | dropped | left |",
        "|---|---|---|---|---|",
    ]
    lines += [_line(*row.values()) for row in counts]
    lines += [
        "",
        f"The rows of each step, with the filter and its reason: `<step>.parquet` of `{key.settings.kind}`.",
        "",
    ]
    return "\n".join(lines)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else plain(str(value)).replace("|", "\\|")
