"""Test that tables, log lines and records detect damage: a flipped bit never becomes another value."""

import json
import random
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_provenance, read_record, seal_file, verify_sealed_text, write_record
from reprise.core.provenance import Provenance, record_provenance
from reprise.core.schemas import FRAME_PLAN, read_table, write_table
from reprise.core.store import Store, append_lines, read_lines
from reprise.models.base import Answer
from reprise.models.inference.response_cache import ResponseCache, compute_entry_id, get_response_cache_path
from reprise.models.local.weights import get_snapshot_folder, record_file_digests, resolve_weights_folder

from tests.unit.core.programs import write

ROWS = [
    {"clip_id": f"c{n}", "indices": [n, n + 1], "times_s": [n / 3], "note": "", "grid": [n, 2], "shown_clip": None}
    for n in range(50)
]
PROVENANCE = Provenance(
    "frames", {"frames/toy/fps1": {"rule": {"fps": 1}}}, {"results/demo/clip_metadata/toy.parquet": "0123456789abcdef"}
)


def flip_bit(content: bytes, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_every_flipped_bit_of_a_table_is_detected(tmp_path: Path) -> None:
    table = tmp_path / "plan.parquet"
    with record_provenance(PROVENANCE):
        write_table(pl.DataFrame(ROWS, schema=FRAME_PLAN), table, FRAME_PLAN)
    assert pl.read_parquet(table).to_dicts() == ROWS and read_provenance(table) == PROVENANCE._replace(
        file=str(table)
    ), "the file is plain parquet"
    content, random_generator = table.read_bytes(), random.Random(0)
    undetected_by_polars = 0
    for bit in random_generator.sample(range(len(content) * 8), 60):
        table.write_bytes(flip_bit(content, bit))
        with suppress(Exception, pl.exceptions.PanicException):
            undetected_by_polars += pl.read_parquet(table).to_dicts() != ROWS
        with pytest.raises(UserError, match=r"plan\.parquet: damaged.* Delete it and run snakemake again"):
            read_table(table, FRAME_PLAN)
    assert undetected_by_polars, "polars misses some damage, so tables need a checksum"
    table.write_bytes(b"PAR1")
    with pytest.raises(UserError, match="damaged"):
        read_table(table, FRAME_PLAN)
    assert read_provenance(table) is None


def append_values(path: Path, *values: object) -> Path:
    for value in values:
        append_lines(path, json.dumps([value]))
    return path


def test_a_flipped_bit_in_a_log_is_an_error_or_drops_the_last_line(tmp_path: Path) -> None:
    path = append_values(tmp_path / "j.jsonl", "one", "two", "three")
    content = path.read_bytes()
    first, second = content.index(b"\n") + 1, content.index(b"\n", content.index(b"\n") + 1)
    for bit in range(first * 8, second * 8, 3):
        path.write_bytes(flip_bit(content, bit))
        with pytest.raises(UserError, match=r"j\.jsonl: line 2 is damaged: .* store --repair"):
            list(read_lines(path))
    path.write_bytes(flip_bit(content, (len(content) - 1) * 8))
    assert list(read_lines(path)) == [["one"], ["two"]]


def test_an_incomplete_last_line_is_removed_by_the_next_line(tmp_path: Path) -> None:
    path = append_values(tmp_path / "j.jsonl", "one", "two")
    path.write_bytes(path.read_bytes()[:-5])
    assert list(read_lines(path)) == [["one"]]
    assert list(read_lines(append_values(path, "three"))) == [["one"], ["three"]]


def test_repair_restores_no_withdrawn_response(tmp_path: Path) -> None:
    """A damaged line may be a withdrawal: the repair drops the earlier response of its entry and keeps other entries."""
    store, entries = Store(tmp_path), [compute_entry_id("recipe", prompt) for prompt in ("one", "two", "three")]
    path = get_response_cache_path(store, "ab" * 32)
    cache = ResponseCache(path)
    for entry in entries:
        cache.add(entry, Answer(text="x"))
    withdrawal_start = path.stat().st_size
    cache.withdraw(entries[1])
    withdrawal_end = path.stat().st_size
    cache.add(entries[0], Answer(text="new response"))
    content = path.read_bytes()
    for bit in range(withdrawal_start * 8, withdrawal_end * 8, 11):
        path.write_bytes(flip_bit(content, bit))
        list(store.repair_logs())
        repaired = ResponseCache(path)
        assert repaired.get(entries[1]) is None and repaired.get(entries[2]) == Answer(text="x")


def test_a_damaged_record_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record(path, {"status": "ok", "bytes": 12})
    assert read_record(path) == {"status": "ok", "bytes": 12}
    content = path.read_bytes()
    for bit in range(0, (len(content) - 1) * 8, 5):
        path.write_bytes(flip_bit(content, bit))
        assert read_record(path) is None
    assert read_record(tmp_path / "none.json") is None


def test_a_text_file_is_verified_against_its_checksum(tmp_path: Path) -> None:
    path = write(tmp_path / "table2.md", b"| 73.3 |")
    assert verify_sealed_text(path) == path, "an earlier version wrote no checksum"
    seal_file(path)
    assert verify_sealed_text(path) == path
    path.write_text("| 67.6 |")
    with pytest.raises(UserError, match=r"table2\.md: damaged.* delete the file"):
        verify_sealed_text(path)


def test_changed_weights_are_not_loaded(tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = get_snapshot_folder("a/b", "0" * 40, store)
    model = {"repo": "a/b", "revision": "0" * 40}
    for name in ("model.safetensors", "config.json"):
        write(folder / name, name.encode())
    assert resolve_weights_folder(None, model, store) == folder, "an earlier version recorded nothing"
    record_file_digests(folder, store)
    assert resolve_weights_folder(None, model, store) == folder
    path = folder / "config.json"
    path.write_bytes(flip_bit(path.read_bytes(), 30))
    with pytest.raises(UserError, match=r"config\.json: missing, or changed since it was fetched"):
        resolve_weights_folder(None, model, Store(tmp_path))
    assert not (folder / "config.json").exists() and (folder / "model.safetensors").exists()


def test_a_local_checkpoint_that_changed_since_planning_is_not_loaded(tmp_path: Path) -> None:
    store, folder = Store(tmp_path / "store"), tmp_path / "checkpoint"
    weights = write(folder / "model.safetensors", b"before")
    planned = {"checkpoint": store.folder_digest(folder)}
    assert resolve_weights_folder(str(folder), planned, store) == folder
    weights.write_bytes(b"after")
    with pytest.raises(UserError, match="checkpoint: changed since this job was planned"):
        resolve_weights_folder(str(folder), planned, store)


def test_planning_reads_digests_and_records_none(tmp_path: Path) -> None:
    root, path = tmp_path / "store", write(tmp_path / "model.safetensors", b"weights")
    planning = Store(root, is_read_only=True)
    assert planning.digest(path) == file_digest(path) and not root.exists()
    Store(root).digest(path)
    recorded = (root / "digests.jsonl").read_text()
    assert Store(root, is_read_only=True).digest(path) == file_digest(path)
    assert (root / "digests.jsonl").read_text() == recorded
