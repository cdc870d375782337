"""What servers and file names say, where people read it: the list of what is missing."""

from pathlib import Path

import polars as pl
from reprise.core.schemas import CLIP_LEDGER, SOURCES, write_table
from reprise.fetch.keys import BenchmarkLedgers
from reprise.stages.missing import section

NASTY = "x\u202e|<script>alert(1)</script>\x00\x1b[2J![i](http://127.0.0.1/)&lt;$\\\n# head"


def test_the_list_of_what_is_missing_shows_text_and_obeys_none(tmp_path: Path) -> None:
    row = {
        "source_id": NASTY, "unit": "u", "status": "failed", "transient": False, "attempts": 1, "object": "", "sha256": "",
        "bytes": 0, "message": NASTY,
    }  # fmt: skip
    write_table(pl.DataFrame([row], schema=SOURCES), tmp_path / "s.parquet", SOURCES)
    write_table(pl.DataFrame(schema=CLIP_LEDGER), tmp_path / "c.parquet", CLIP_LEDGER)
    ledgers = BenchmarkLedgers(title="Toy", sources=(tmp_path / "s.parquet",), clips=(tmp_path / "c.parquet",))
    line = next(line for line in section(ledgers).splitlines() if line.startswith("| x"))
    assert line.count("|") == 5
    assert not any(sign in line for sign in "\u202e\x00\x1b<>[]\\$")
    assert line.count("U+202E") == 2 and "&#38;lt;" in line
