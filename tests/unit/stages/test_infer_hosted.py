"""The inference job that starts the server of its model: kills, a server that ends in the middle, nothing left running."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.journal import Failures, failures_path
from reprise.models.keys import ModelRunKey
from reprise.models.remote.serving.settings import Hosting, Serving
from reprise.models.settings import OpenAISettings

from tests.unit.models.serving.engines import are_gone, processes, served_by, stand_in_environment
from tests.unit.stages.served_job import CLIPS, QUESTIONS, Job

NAME = "toy@1"


def hosted_key(job: Job, how: str = "") -> ModelRunKey:
    """The key of a run whose job starts its server."""
    return key_of_server(job, *served_by(job.folder / "pids", how))


def key_of_server(job: Job, serving: Serving, hosting: Hosting, **settings: Any) -> ModelRunKey:
    own = {"url": "http://127.0.0.1/v1", "model": NAME, "concurrency": 3, "retries": 0}
    whole = OpenAISettings.model_validate(own | settings).model_dump()
    beside = ADAPTERS["openai"].beside_answers
    (job.folder / "weights").mkdir(exist_ok=True)
    return ModelRunKey.model_validate({
        "run": "b/p/s/m", "key": "k" * 64, "checkpoint": str(job.folder / "weights"), "hosting": hosting,
        "serving": {name: value for name, value in whole.items() if name in beside - {"url", "key"}},
        "answers": {
            "adapter": "openai", "sampling": {"rule": "linspace"}, "model": {"checkpoint": "1"}, "dtype": "float32",
            "settings": {name: value for name, value in whole.items() if name not in beside}, "serving": serving,
            "attention": "sdpa", "trust_remote_code": False, "prompt": {"system": "", "user": "{x}"}, "form": "f",
            "ask": "write", "max_tokens": 8, "versions": {},
        },
    })  # fmt: skip


@pytest.fixture
def hosted(tmp_path: Path) -> Job:
    job = Job(tmp_path)
    stand_in_environment(tmp_path, job.store)
    return job


def test_a_killed_job_leaves_no_server_and_the_next_one_goes_on(hosted: Job) -> None:
    key = hosted_key(hosted)
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


def test_a_server_that_ends_in_the_middle_ends_its_job_and_loses_nothing(hosted: Job) -> None:
    key = hosted_key(hosted, "ends")
    assert hosted.run(key) == 1
    said = hosted.log
    assert (
        "Error: the server of this job has ended: loading the weights / ready / the server ended with code -9" in said
    )
    assert "Traceback" not in said
    assert 1 <= len(hosted.journaled(key)) < CLIPS * QUESTIONS
    failures = Failures(failures_path(Store(hosted.store.root), key.key), 3)
    assert not any(failures.get(entry) for entry in hosted.entries), "no question is at fault"
    assert are_gone(processes(hosted.folder / "pids"))
