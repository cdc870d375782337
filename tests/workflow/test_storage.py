"""A store whose locks lie elsewhere, and videos encoded on a node's own disk: the same answers."""

import os
from pathlib import Path

import pytest
from reprise.core.files import file_digest

from tests.workflow.conftest import Project
from tests.workflow.test_retries import RESPONSES, TABLE


def test_locks_elsewhere_and_a_disk_of_the_node_make_the_same_bytes(
    finished_small: Path, fresh: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, disk = tmp_path / "elsewhere", tmp_path / "disk"
    fresh.edit("config/config.yaml", "suite: small", f"suite: small\nlocks: {elsewhere}\nscratch: $NODE_DISK")
    done = fresh.snakemake(TABLE)
    assert done.returncode != 0 and "a variable in it is not set on" in done.stdout + done.stderr
    monkeypatch.setenv("NODE_DISK", str(disk))
    fresh.made(TABLE)
    assert file_digest(fresh.root / RESPONSES) == file_digest(finished_small / RESPONSES)
    store = fresh.root / "resources/store"
    assert (store / "locks").resolve() == elsewhere / "locks" and any((elsewhere / "locks").glob("appending-*.lock"))
    assert list((disk / f"reprise-{os.getuid()}").iterdir()) == [], "what was finished was moved to the store"
    assert not (store / "tmp").exists(), "nothing was written there meanwhile"
    assert fresh.made(TABLE) == []
