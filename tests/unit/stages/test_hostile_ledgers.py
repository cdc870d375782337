"""What servers and file names say, where people read it: the list of what is missing, and the release's own errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from reprise.core.schemas import CLIP_LEDGER, SOURCES, write_table
from reprise.fetch.keys import BenchmarkLedgers
from reprise.stages.missing import section

from tests.unit.fetch.server import Behaviour, answering, serving

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


@pytest.mark.parametrize("answer", ["gone", "refused", "page", "nobody", "no-http"])
def test_a_release_that_cannot_be_fetched_is_one_message(answer: str, tmp_path: Path) -> None:
    revision = "0123456789abcdef0123456789abcdef01234567"
    key = {
        "benchmark": "velociti",
        "files": ["*.csv"],
        "release": {"kind": "huggingface", "repo": "some/set", "revision": revision},
    }
    (tmp_path / "key.json").write_text(json.dumps(key))
    path = f"/api/datasets/some/set/revision/{revision}"
    behaviours = {"refused": {path: Behaviour(status=403)}, "page": {path: Behaviour(b"<html>", kind="text/html")}}
    command = [
        sys.executable,
        "-m",
        "reprise.stages",
        "release",
        "--key",
        "key.json",
        "--store",
        "store",
        "--out",
        "out.json",
    ]
    served = answering([b"\x1b[2J\0" * 9]) if answer == "no-http" else serving(behaviours.get(answer, {}))
    with served as found:
        url = found if isinstance(found, str) else found[0]
        url = "http://127.0.0.1:9" if answer == "nobody" else url
        given = {
            "HF_ENDPOINT": url,
            "HF_HUB_OFFLINE": "0",
            "HF_TOKEN": "hf_0123456789abc",
            "HF_HOME": str(tmp_path / "hf"),
        }
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | given)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr, done.stderr
    assert "some/set" in done.stderr
    assert "hf_0123456789abc" not in done.stderr and "\x1b" not in done.stderr
