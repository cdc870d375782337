"""The inference job of a model that is a program: what it writes down, and what not when the program fails as a whole."""

from pathlib import Path

import pytest
from reprise.core.schemas import RESPONSES, read_table
from reprise.core.store import Store
from reprise.models.asking.failures import Failures, failures_path

from tests.unit.models.serving.engines import own_environment, served_by_program
from tests.unit.stages.served_job import CLIPS, FRAMES, QUESTIONS, Job
from tests.unit.stages.test_infer_hosted import key_of_server

VIDEO = {"frames": "video", "check_frames": False, "concurrency": 2}
TEXT = """
def load(folder, device):
    {loads}

def answer(frames, times, prompt, max_tokens):
    {first}
    return f"{{prompt}} {{len(frames)}}"
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job(tmp_path)
    own_environment(tmp_path, job.store)
    return job


def run(job: Job, monkeypatch: pytest.MonkeyPatch, *, loads: str = "pass", first: str = "pass") -> tuple[int, str]:
    """The end of a job whose program does so, and what it said."""
    monkeypatch.chdir(job.folder)
    (job.folder / "own.py").write_text(TEXT.format(loads=loads, first=first))
    key = key_of_server(job, *served_by_program("own.py", answer_minutes=0.02), **VIDEO)
    return job.run(key), job.log


def test_a_program_answers_a_run_and_an_exception_is_the_failure_of_its_question(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = run(job, monkeypatch, first="if prompt == 'c1 2': raise KeyError('seen')")
    assert code == 0, said
    found = read_table(job.folder / "out.parquet", RESPONSES)
    answers = {row["text"] for row in found.iter_rows(named=True) if not row["error"]}
    expected = {f"c{clip} {n} {len(FRAMES)}" for clip in range(CLIPS) for n in range(QUESTIONS)}
    assert answers == expected - {f"c1 2 {len(FRAMES)}"}
    (failed,) = [row for row in found.iter_rows(named=True) if row["error"]]
    assert (failed["error"], "KeyError: 'seen'" in failed["message"]) == ("failed", True)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"loads": "raise RuntimeError('Found no NVIDIA driver on your system')"}, "own.py: RuntimeError: Found no NVIDIA"),
        ({"first": "import os; os._exit(9)"}, "the server of this job has ended: "),
        ({"first": "import time; time.sleep(99)"}, "own.py: no answer after 1.2 s. If it needs longer, set `served_by.answer"),
    ],
)  # fmt: skip
def test_a_program_that_fails_as_a_whole_ends_its_job_and_nothing_is_recorded(
    job: Job, monkeypatch: pytest.MonkeyPatch, how: dict[str, str], message: str
) -> None:
    code, said = run(job, monkeypatch, **how)
    assert code == 1
    (line,) = [one for one in said.splitlines() if one.startswith("Error: ") or " Error: " in one]
    assert message in line and "run the same command again" in line and "Traceback" not in said
    key = key_of_server(job, *served_by_program("own.py", answer_minutes=0.02), **VIDEO)
    failures = Failures(failures_path(Store(job.store.root), key.key), 3)
    assert not job.journaled(key) and not any(failures.get(entry) for entry in job.entries)
