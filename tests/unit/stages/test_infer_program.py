"""The inference job of a model that is a program: what it writes down."""

from pathlib import Path

import pytest
from reprise.core.schemas import RESPONSES, read_table

from tests.unit.models.serving.engines import own_environment, served_by_program
from tests.unit.stages.served_job import CLIPS, FRAMES, QUESTIONS, Job
from tests.unit.stages.test_infer_hosted import key_of_server

VIDEO = {"frames": "video", "check_frames": False, "concurrency": 2}
PROGRAM = """
def load(folder, device):
    pass

def answer(frames, times, prompt, max_tokens):
    if prompt == "c1 2":
        raise KeyError("seen")
    return f"{prompt} {len(frames)}"
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job(tmp_path)
    own_environment(tmp_path, job.store)
    return job


def test_a_program_answers_a_run_and_an_exception_is_the_failure_of_its_question(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.folder)
    (job.folder / "own.py").write_text(PROGRAM)
    key = key_of_server(job, *served_by_program("own.py", answer_minutes=0.02), **VIDEO)
    assert job.run(key) == 0, job.log
    found = read_table(job.folder / "out.parquet", RESPONSES)
    answers = {row["text"] for row in found.iter_rows(named=True) if not row["error"]}
    expected = {f"c{clip} {n} {len(FRAMES)}" for clip in range(CLIPS) for n in range(QUESTIONS)}
    assert answers == expected - {f"c1 2 {len(FRAMES)}"}
    (failed,) = [row for row in found.iter_rows(named=True) if row["error"]]
    assert (failed["error"], "KeyError: 'seen'" in failed["message"]) == ("failed", True)
