"""The inference job of a model at a server, and of one that it starts: who answered, kills, a server that ends, nothing left running."""

import signal
import time
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.models.asking.journal import Journal, journal_path

from tests.unit.models.chat_server import ChatServer, error, well
from tests.unit.models.serving.engines import are_gone, make_environment, processes, served_by
from tests.unit.stages.served_job import CLIPS, QUESTIONS, Job, asked_here, blind_works, key_of, run_key


def test_a_server_that_dies_in_the_middle_is_given_up(tmp_path: Path) -> None:
    with ChatServer() as server:
        key, works = key_of(server, concurrency=2), blind_works(8, 5)
        server.says = lambda one: well(one) if len(server.asked) <= 10 else error(503, message="shutting down")
        with pytest.raises(UserError, match=r"the last 6 questions .* server_error: HTTP 503: shutting down\. Answers"):
            asked_here(key, works, tmp_path)
        assert len(server.asked) < 20, "the others are not tried"
        assert len(Journal(journal_path(Store(tmp_path), key.key))) == 10
        server.says = well
        rows, _ = asked_here(key, works, tmp_path)
        assert len({one.prompt for one in server.asked}) == 40 and {row["error"] for row in rows} == {""}


def test_a_killed_job_leaves_no_server_and_the_next_one_goes_on(tmp_path: Path) -> None:
    hosted = Job(tmp_path)
    make_environment(tmp_path, hosted.store)
    serving, hosting = served_by(tmp_path / "pids")
    (tmp_path / "weights").mkdir()
    own = {"url": "http://127.0.0.1/v1", "model": "toy@1", "concurrency": 3, "retries": 0}
    given = {"checkpoint": str(tmp_path / "weights"), "hosting": hosting}
    key = run_key("openai", own, serving, without=("url", "key"), **given)
    identity = {"checkpoint": hosted.store.folder_digest(tmp_path / "weights")}
    key = key.model_copy(update={"answers": key.answers.model_copy(update={"model": identity})})
    process = hosted.start(key)
    while len(hosted.journaled(key)) < 4:
        assert process.poll() is None, hosted.log
        time.sleep(0.005)
    found = processes(hosted.folder / "pids")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert are_gone(found) and len(kept := hosted.journaled(key)) < CLIPS * QUESTIONS
    assert hosted.run(key) == 0, hosted.log
    assert are_gone(processes(hosted.folder / "pids")) and kept <= hosted.journaled(key)
    (hosted.folder / "pids").unlink()
    assert hosted.run(key) == 0 and not (hosted.folder / "pids").exists(), "all is answered: no server is started"
    said = hosted.log
    assert "vllm answers after" in said and "its log: log.server.log" in said
    assert "ready" in (hosted.folder / "log.server.log").read_text()
