"""Videos over HTTP from a server that fails for a while: the next run asks again, for these and only these."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest
from reprise.core.shards import shard_of

from tests.workflow.conftest import Project


class Videos(ThreadingHTTPServer):
    """Serves a folder; a name in `failing` is answered with its status instead."""

    folder: Path
    failing: dict[str, int]
    asked: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Videos

    def do_GET(self) -> None:
        name = self.path.strip("/")
        self.server.asked.append(name)
        status = self.server.failing.get(name, 200)
        body = (self.server.folder / name).read_bytes() if status == 200 else b"no"
        self.send_response(status)
        self.send_header("Content-Type", "video/mp4" if status == 200 else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is not a server's log."""


@pytest.fixture
def served(fresh: Project) -> Iterator[Videos]:
    server = Videos(("127.0.0.1", 0), Handler)
    server.folder, server.failing, server.asked = fresh.root / "videos", {}, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    route = f'{{kind: http, url: "http://127.0.0.1:{server.server_port}/{{source_id}}.mp4", retries: 0, attempts: 3}}'
    fresh.edit("config/suites/small.yaml", '{kind: folder, path: videos, pattern: "{source_id}.mp4"}', route)
    yield server
    server.shutdown()


def statuses(project: Project) -> dict[str, str]:
    ledgers = (project.root / "results/small/sources/velociti").glob("*.parquet")
    return dict(pl.concat([pl.read_parquet(path) for path in ledgers]).select("source_id", "status").iter_rows())


def test_transient_failures_are_tried_again_and_nothing_else(fresh: Project, served: Videos) -> None:
    served.failing = {"bbbbbbbbbbb.mp4": 503}
    fresh.made("results/tables/velociti/table2.md")
    assert statuses(fresh) == {"aaaaaaaaaaa": "ok", "bbbbbbbbbbb": "server_error"}
    served.asked.clear()
    served.failing = {}
    other_shard = fresh.root / f"results/small/clips/velociti/{shard_of('aaaaaaaaaaa', 2)}.parquet"
    before = other_shard.stat().st_mtime_ns
    jobs = fresh.made("results/tables/velociti/table2.md")
    assert statuses(fresh) == {"aaaaaaaaaaa": "ok", "bbbbbbbbbbb": "ok"}
    assert set(served.asked) == {"bbbbbbbbbbb.mp4"}
    if shard_of("aaaaaaaaaaa", 2) != shard_of("bbbbbbbbbbb", 2):
        assert jobs.count("sources") == 1 and other_shard.stat().st_mtime_ns == before
    assert fresh.made("results/tables/velociti/table2.md") == []


def test_tries_are_bounded_and_permanent_failures_wait_for_a_word(fresh: Project, served: Videos) -> None:
    served.failing = {"bbbbbbbbbbb.mp4": 404}
    fresh.made("results/tables/velociti/table2.md")
    assert statuses(fresh)["bbbbbbbbbbb"] == "not_found"
    assert fresh.made("results/tables/velociti/table2.md") == []
    served.asked.clear()
    served.failing = {"bbbbbbbbbbb.mp4": 503}
    assert fresh.reprise("reprise", "retry", "not_found").returncode == 0
    for _ in range(3):
        fresh.made("results/tables/velociti/table2.md")
    assert set(served.asked) == {"bbbbbbbbbbb.mp4"} and len(served.asked) == 3
    assert fresh.made("results/tables/velociti/table2.md") == [], "three tries are all"
    assert "server_error" in (text := _missing(fresh)) and "Clips: 1 of 3 missing" in text


def _missing(project: Project) -> str:
    project.made("results/small/sources/missing.md")
    return (project.root / "results/small/sources/missing.md").read_text()
