"""Stage `missing`: a report of missing sources and clips, by benchmark and table."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.files import write_sealed
from reprise.core.plain import plain
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.fetch.keys import BenchmarkLedgers, MissingKey
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.stages.command import In, Out

LONGEST = 300
MARKUP = re.compile(r"[\\|<>`*_~$&\[\]]")


def section(entry: BenchmarkLedgers) -> str:
    lines, listings = [f"## {entry.title}", ""], []
    of_both = (("Source", entry.sources, SOURCES, "source_id"), ("Clip", entry.clips, CLIP_LEDGER, "clip_id"))
    for what, paths, schema, name in of_both:
        ledger = pl.concat([pl.DataFrame(schema=schema), *(read_table(path, schema) for path in paths)])
        failed = ledger.filter(pl.col("status") != "ok").unique(name, keep="first", maintain_order=True)
        gone = failed.sort(name).to_dicts()
        lines.append(f"{what}s: {_summary(gone, ledger[name].n_unique())}")
        listings += _listing(what, gone)
        if gone and what == "Clip":
            lines += ["", f"Affected: {', '.join(entry.tables) or 'no table'}."]
    return "\n".join([*lines, *listings, ""])


def _summary(gone: list[dict[str, Any]], count: int) -> str:
    if not gone:
        return f"all {count} are available."
    reasons = Counter(row["status"] for row in gone)
    return f"{len(gone)} of {count} missing: " + ", ".join(f"{n} {status}" for status, n in reasons.most_common()) + "."


def _listing(what: str, gone: list[dict[str, Any]]) -> list[str]:
    if not gone:
        return []
    meaning = PERMANENT | STATUSES | {status: f"{words} (tried again)" for status, words in TRANSIENT.items()}
    head = ["", f"| {what} | Reason | What it means | Message |", "|---|---|---|---|"]
    return head + [
        f"| {_cell(row.get('source_id') or row['clip_id'])} | {row['status']} | {meaning.get(row['status'], '')} | "
        f"{_cell(row['message'])} |"
        for row in gone
    ]


def _cell(text: str) -> str:
    """One table cell: no bar, no markup, no line break out of it."""
    return MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", plain(text)[:LONGEST])


def main(settings: MissingKey, ledgers: In[list[Path]], out: Out[Path]) -> None:
    write_sealed(out, "# Missing videos\n\n" + "\n".join(map(section, settings.benchmarks.values())))
