"""Stage `missing`: report missing sources and clips, by benchmark and table."""

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
    kinds = (("Source", entry.sources, SOURCES, "source_id"), ("Clip", entry.clips, CLIP_LEDGER, "clip_id"))
    for kind, paths, schema, name in kinds:
        ledger = pl.concat([pl.DataFrame(schema=schema), *(read_table(path, schema) for path in paths)])
        failed = ledger.filter(pl.col("status") != "ok").unique(name, keep="first", maintain_order=True)
        missing = failed.sort(name).to_dicts()
        lines.append(f"{kind}s: {_summary(missing, ledger[name].n_unique())}")
        listings += _listing(kind, missing)
        if missing and kind == "Clip":
            lines += ["", f"Affected: {', '.join(entry.tables) or 'no table'}."]
    return "\n".join([*lines, *listings, ""])


def _summary(missing: list[dict[str, Any]], count: int) -> str:
    if not missing:
        return f"all {count} are available."
    reasons = Counter(row["status"] for row in missing)
    return (
        f"{len(missing)} of {count} missing: "
        + ", ".join(f"{number} {status}" for status, number in reasons.most_common())
        + "."
    )


def _listing(kind: str, missing: list[dict[str, Any]]) -> list[str]:
    if not missing:
        return []
    meanings = PERMANENT | STATUSES | {status: f"{words} (tried again)" for status, words in TRANSIENT.items()}
    header = ["", f"| {kind} | Reason | What it means | Message |", "|---|---|---|---|"]
    return header + [
        f"| {_cell(row.get('source_id') or row['clip_id'])} | {row['status']} | {meanings.get(row['status'], '')} | "
        f"{_cell(row['message'])} |"
        for row in missing
    ]


def _cell(text: str) -> str:
    """Return a text as one table cell, without bars, markup or line breaks."""
    return MARKUP.sub(lambda match: f"&#{ord(match[0])};", plain(text)[:LONGEST])


def main(settings: MissingKey, ledgers: In[list[Path]], out: Out[Path]) -> None:
    write_sealed(out, "# Missing videos\n\n" + "\n".join(map(section, settings.benchmarks.values())))
