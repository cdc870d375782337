"""Test inference jobs with a remote server or a server that the job starts: failures, kills, and ended processes."""

import signal
import time
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path

from tests.unit.models.chat_server import ChatServer, error, reply_correctly
from tests.unit.models.serving.engines import build_keys, have_ended, make_environment, read_process_ids
from tests.unit.stages.served_job import (
    CLIP_COUNT,
    REQUESTS_PER_CLIP,
    Job,
    make_divided_key,
    make_key,
    make_text_batches,
    run_in_process,
)


def test_a_server_that_fails_midway_aborts_the_job(tmp_path: Path) -> None:
    with ChatServer() as server:
        key, batches = make_key(server, concurrency=2), make_text_batches(8, 5)
        server.respond = lambda request: (
            reply_correctly(request) if len(server.received) <= 10 else error(503, message="shutting down")
        )
        with pytest.raises(UserError, match=r"the last 6 requests .* server_error: HTTP 503: shutting down\. Answers"):
            run_in_process(key, batches, tmp_path)
        assert len(server.received) < 20, "the other requests are not sent"
        assert len(ResponseCache(get_response_cache_path(Store(tmp_path), key.key))) == 10
        server.respond = reply_correctly
        rows, _ = run_in_process(key, batches, tmp_path)
        assert len({request.prompt for request in server.received}) == 40 and {row["error"] for row in rows} == {""}


def test_a_killed_job_leaves_no_server_and_the_next_job_resumes(tmp_path: Path) -> None:
    hosted = Job(tmp_path)
    make_environment(tmp_path, hosted.store)
    serving, hosting = build_keys(tmp_path / "pids")
    (tmp_path / "weights").mkdir()
    settings = {"url": "http://127.0.0.1/v1", "model": "toy@1", "concurrency": 3, "retries": 0}
    checkpoint_fields = {"checkpoint": str(tmp_path / "weights"), "hosting": hosting}
    key = make_divided_key("openai", settings, serving, without=("url", "key"), **checkpoint_fields)
    identity = {"checkpoint": hosted.store.folder_digest(tmp_path / "weights")}
    key = key.model_copy(update={"answers": key.answers.model_copy(update={"model": identity})})
    process = hosted.start(key)
    while len(hosted.cached_prompts(key)) < 4:
        assert process.poll() is None, hosted.log
        time.sleep(0.005)
    server_processes = read_process_ids(hosted.folder / "pids")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (
        have_ended(server_processes)
        and len(cached_prompts := hosted.cached_prompts(key)) < CLIP_COUNT * REQUESTS_PER_CLIP
    )
    assert hosted.run(key) == 0, hosted.log
    assert have_ended(read_process_ids(hosted.folder / "pids")) and cached_prompts <= hosted.cached_prompts(key)
    (hosted.folder / "pids").unlink()
    assert hosted.run(key) == 0 and not (hosted.folder / "pids").exists(), (
        "all responses are cached, so no server is started"
    )
    log = hosted.log
    assert "vllm is ready after" in log and "its log: log.server.log" in log
    assert "ready" in (hosted.folder / "log.server.log").read_text()
