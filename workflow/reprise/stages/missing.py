"""Stage `missing`: report the missing sources and clips of each benchmark, and the tables that they affect."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.files import write_sealed_text
from reprise.core.plain import sanitize_line
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, read_table
from reprise.fetch.keys import BenchmarkManifests, MissingClipsKey
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.stages.command import In, Out

MAX_CHARS = 300  # characters of a table cell
# Characters that have a meaning in Markdown or HTML.
MARKUP = re.compile(r"[\\|<>`*_~$&\[\]]")


def format_section(manifests: BenchmarkManifests) -> str:
    """Return the section about a benchmark, as Markdown."""
    lines, table_lines = [f"## {manifests.title}", ""], []
    kinds = (("Source", manifests.sources, SOURCES, "source_id"), ("Clip", manifests.clips, CLIP_MANIFEST, "clip_id"))
    for kind, paths, schema, id_column in kinds:
        manifest = pl.concat([pl.DataFrame(schema=schema), *(read_table(path, schema) for path in paths)])
        unavailable_rows = manifest.filter(pl.col("status") != "ok").unique(
            id_column, keep="first", maintain_order=True
        )
        missing_rows = unavailable_rows.sort(id_column).to_dicts()
        lines.append(f"{kind}s: {_summary(missing_rows, manifest[id_column].n_unique())}")
        table_lines += _listing(kind, missing_rows)
        if missing_rows and kind == "Clip":
            lines += ["", f"Affected: {', '.join(manifests.tables) or 'no table'}."]
    return "\n".join([*lines, *table_lines, ""])


def _summary(missing_rows: list[dict[str, Any]], total_count: int) -> str:
    """Return how many of the sources or clips are missing, with the number of each reason."""
    if not missing_rows:
        return f"all {total_count} are available."
    reasons = Counter(row["status"] for row in missing_rows)
    return (
        f"{len(missing_rows)} of {total_count} missing: "
        + ", ".join(f"{status_count} {status}" for status, status_count in reasons.most_common())
        + "."
    )


def _listing(kind: str, missing_rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table of the missing sources or clips."""
    if not missing_rows:
        return []
    meaning_by_status = PERMANENT | STATUSES | {status: f"{meaning} (retried)" for status, meaning in TRANSIENT.items()}
    header = ["", f"| {kind} | Reason | Meaning | Message |", "|---|---|---|---|"]
    return header + [
        f"| {_cell(row.get('source_id') or row['clip_id'])} | {row['status']} | "
        f"{meaning_by_status.get(row['status'], '')} | {_cell(row['message'])} |"
        for row in missing_rows
    ]


def _cell(text: str) -> str:
    """Return a text as one table cell, without bars, markup or line breaks."""
    return MARKUP.sub(lambda match: f"&#{ord(match[0])};", sanitize_line(text)[:MAX_CHARS])


def main(settings: MissingClipsKey, manifests: In[list[Path]], out: Out[Path]) -> None:
    write_sealed_text(out, "# Missing videos\n\n" + "\n".join(map(format_section, settings.benchmarks.values())))
