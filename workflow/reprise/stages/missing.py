"""Stage `missing`: report missing sources and clips, by benchmark and table."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.files import write_sealed
from reprise.core.plain import plain
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, read_table
from reprise.fetch.keys import BenchmarkManifests, MissingClipsKey
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.stages.command import In, Out

MAX_CHARS = 300
MARKUP = re.compile(r"[\\|<>`*_~$&\[\]]")


def format_section(entry: BenchmarkManifests) -> str:
    """Return the section about a benchmark, as Markdown."""
    lines, listings = [f"## {entry.title}", ""], []
    kinds = (("Source", entry.sources, SOURCES, "source_id"), ("Clip", entry.clips, CLIP_MANIFEST, "clip_id"))
    for kind, paths, schema, name in kinds:
        manifest = pl.concat([pl.DataFrame(schema=schema), *(read_table(path, schema) for path in paths)])
        failed = manifest.filter(pl.col("status") != "ok").unique(name, keep="first", maintain_order=True)
        missing = failed.sort(name).to_dicts()
        lines.append(f"{kind}s: {_summary(missing, manifest[name].n_unique())}")
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
    meanings = PERMANENT | STATUSES | {status: f"{meaning} (retried)" for status, meaning in TRANSIENT.items()}
    header = ["", f"| {kind} | Reason | Meaning | Message |", "|---|---|---|---|"]
    return header + [
        f"| {_cell(row.get('source_id') or row['clip_id'])} | {row['status']} | {meanings.get(row['status'], '')} | "
        f"{_cell(row['message'])} |"
        for row in missing
    ]


def _cell(text: str) -> str:
    """Return a text as one table cell, without bars, markup or line breaks."""
    return MARKUP.sub(lambda match: f"&#{ord(match[0])};", plain(text)[:MAX_CHARS])


def main(settings: MissingClipsKey, manifests: In[list[Path]], out: Out[Path]) -> None:
    write_sealed(out, "# Missing videos\n\n" + "\n".join(map(format_section, settings.benchmarks.values())))
