"""Inference jobs with a remote server or a server that the job starts: failures, kills, and no process left running."""

import signal
import time
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path

from tests.unit.models.chat_server import ChatServer, error, reply_correctly
from tests.unit.models.serving.engines import have_ended, make_environment, processes, served_by
from tests.unit.stages.served_job import CLIPS, QUESTIONS, Job, key_of, run_here, run_key, text_batches


def test_a_server_that_fails_midway_aborts_the_job(tmp_path: Path) -> None:
    with ChatServer() as server:
        key, batches = key_of(server, concurrency=2), text_batches(8, 5)
        server.respond = lambda request: (
            reply_correctly(request) if len(server.received) <= 10 else error(503, message="shutting down")
        )
        with pytest.raises(UserError, match=r"the last 6 requests .* server_error: HTTP 503: shutting down\. Answers"):
            run_here(key, batches, tmp_path)
        assert len(server.received) < 20, "the other requests are not sent"
        assert len(ResponseCache(get_response_cache_path(Store(tmp_path), key.key))) == 10
        server.respond = reply_correctly
        rows, _ = run_here(key, batches, tmp_path)
        assert len({request.prompt for request in server.received}) == 40 and {row["error"] for row in rows} == {""}


def test_a_killed_job_leaves_no_server_and_the_next_job_resumes(tmp_path: Path) -> None:
    hosted = Job(tmp_path)
    make_environment(tmp_path, hosted.store)
    serving, hosting = served_by(tmp_path / "pids")
    (tmp_path / "weights").mkdir()
    settings = {"url": "http://127.0.0.1/v1", "model": "toy@1", "concurrency": 3, "retries": 0}
    local = {"checkpoint": str(tmp_path / "weights"), "hosting": hosting}
    key = run_key("openai", settings, serving, without=("url", "key"), **local)
    identity = {"checkpoint": hosted.store.folder_digest(tmp_path / "weights")}
    key = key.model_copy(update={"answers": key.answers.model_copy(update={"model": identity})})
    process = hosted.start(key)
    while len(hosted.cached_prompts(key)) < 4:
        assert process.poll() is None, hosted.log
        time.sleep(0.005)
    server_processes = processes(hosted.folder / "pids")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert have_ended(server_processes) and len(kept := hosted.cached_prompts(key)) < CLIPS * QUESTIONS
    assert hosted.run(key) == 0, hosted.log
    assert have_ended(processes(hosted.folder / "pids")) and kept <= hosted.cached_prompts(key)
    (hosted.folder / "pids").unlink()
    assert hosted.run(key) == 0 and not (hosted.folder / "pids").exists(), (
        "all responses are cached, so no server is started"
    )
    log = hosted.log
    assert "vllm is ready after" in log and "its log: log.server.log" in log
    assert "ready" in (hosted.folder / "log.server.log").read_text()
