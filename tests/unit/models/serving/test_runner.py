"""Test model runners behind the adapter `openai`: their inputs, their errors, and the recorded answers."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reprise.core.errors import MachineError, UserError
from reprise.core.store import Store
from reprise.media.decoder import read_frames
from reprise.models.base import Answer, ClipFrames, Request
from reprise.models.inference.money.prices import NO_BUDGET, Account
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import check_runner

from tests.unit.models.serving.engines import NAME, TEST_PYTHON, build_runner_keys, make_environment, make_server
from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec
from tests.unit.videos import RATE, barcode_video

EXACT_SCORES = "logprob_token_ids"
LOAD = "def load(folder, device): pass\n"
ECHO_RUNNER = """
import hashlib

def load(folder, device):
    global location
    location = f"{folder}|{device}"

def answer(frames, times, prompt, max_tokens):
    pixels = hashlib.sha256(frames.tobytes()).hexdigest()
    return f"{pixels}|{frames.shape}|{[round(time, 4) for time in times]}|{times.duration}|{prompt}|{max_tokens}|{location}"

def scores(frames, times, prompt, options):
    return [0.75 if option in prompt else 0.0 for option in options]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a clone whose environment is the tests' environment."""
    monkeypatch.chdir(tmp_path)
    make_environment(tmp_path, Store(tmp_path / "store"), TEST_PYTHON)
    return tmp_path


def make_runner_server(root: Path, source: str, answer_minutes: float = 1, scores: str | None = None) -> ServerProcess:
    """Return the server of a model runner with this source."""
    (root / "own.py").write_text(source)
    return make_server(root, build_runner_keys(answer_minutes, scores))


def query_server(
    host: ServerProcess, requests: list[Request], clip: ClipFrames = NO_FRAMES, scores: str = EXACT_SCORES
) -> list[Answer]:
    account = Account(Path(), "toy", None, NO_BUDGET, is_paid=False)
    settings = {"model": NAME, "scores": scores, "frames": "video", "check_frames": False, "retries": 0}
    spec = model_spec(**settings, **host.start())
    return list(OpenAIAdapter(replace(spec, account=account)).answers(clip, requests))


def test_a_runner_receives_exact_frames_with_their_times_and_the_clips_length(root: Path) -> None:
    video, indices = barcode_video(root / "v.mp4", 48), (0, 7, 7, 30)
    host = make_runner_server(root, ECHO_RUNNER)
    requests = [make_request("Which?", "write", max_tokens=5), make_request("Why?", "write", system="Be short.")]
    requests.append(replace(make_request("Look: what?", "write"), lead="Look:"))
    answers = query_server(host, requests, clip_frames(video, indices))
    host.close()
    host = make_runner_server(root, ECHO_RUNNER)
    without_frames, scored = query_server(
        host, [make_request("Which?", "write"), make_request("Is it Yes?", "score", ("Yes", "No"))]
    )
    host.close()
    assert "|(0, 0, 0, 3)|[]|0.0|Which?|" in without_frames.text and scored.scores == pytest.approx((0.75, 0.0))
    frames = np.ascontiguousarray(read_frames(video, indices))
    start = f"{hashlib.sha256(frames.tobytes()).hexdigest()}|{frames.shape}|"
    start += f"{[round(index / RATE, 4) for index in indices]}|{48 / RATE}|"
    end = f"|{root / 'weights'}|cpu"
    assert [answer.text for answer in answers] == [
        f"{start}Which?|5{end}",
        f"{start}Be short.\nWhy?|8{end}",
        f"{start}Look: what?|8{end}",
    ]
    assert {(answer.error, answer.frames_shown) for answer in answers} == {("", len(indices))}


FAULTY_ANSWERS = [
    ("import sys; print('HTTP/1.1 200 OK'); sys.stdout.close(); raise ValueError('no')", "failed", "ValueError: no"),
    ("raise SystemExit(2)", "failed", "SystemExit: 2"),
    ("raise MemoryError('too much')", "out_of_memory", "MemoryError: too much"),
    ("return 7", "malformed", "`answer` returned 7, not a string"),
    ("return '\\ud800'", "bad_text", "UnicodeEncodeError"),
    ("return '  '", "empty", "finish_reason: stop"),
]
FAULTY_SCORES = {
    "[0.5]": "`scores` returned [0.5], not a probability for each of 2 options",
    "[0.5, float('nan')]": "not a probability",
    "None": "`scores` returned None, not a probability",
}


def test_an_error_of_a_runner_fails_only_its_request(root: Path) -> None:
    branches = "".join(
        f"    if prompt == 'bad {index}':\n        {statement}\n"
        for index, (statement, *_) in enumerate(FAULTY_ANSWERS)
    )
    scores_function = f"def scores(frames, times, prompt, options): return [{', '.join(FAULTY_SCORES)}][int(prompt)]\n"
    host = make_runner_server(
        root, f"{LOAD}{scores_function}def answer(frames, times, prompt, max_tokens):\n{branches}    return 'good'\n"
    )
    text_requests = [
        make_request(f"{kind} {index}", "write") for index in range(len(FAULTY_ANSWERS)) for kind in ("bad", "good")
    ]
    score_requests = [make_request(f"{index}", "score", ("Yes", "No")) for index in range(len(FAULTY_SCORES))]
    answers = query_server(host, [*text_requests, *score_requests])
    host.close()
    faulty, good = answers[: len(text_requests) : 2], answers[1 : len(text_requests) : 2]
    assert [(answer.text, answer.error) for answer in good] == [("good", "")] * len(FAULTY_ANSWERS)
    for (_, error, message), answer in zip(FAULTY_ANSWERS, faulty, strict=True):
        assert (answer.text, answer.error) == ("", error) and message in answer.message
    for message, answer in zip(FAULTY_SCORES.values(), answers[len(text_requests) :], strict=True):
        assert answer.error == "malformed" and message in answer.message


def test_a_similarity_equals_the_number_that_a_runner_returns(root: Path) -> None:
    scores_by_expression = {"0.1 + 0.2": (0.1 + 0.2,), "-1e-30": (-1e-30,), "float('nan')": ()}
    source = f"def similarity(frames, times, caption): return [{', '.join(scores_by_expression)}][int(caption)]\n"
    host = make_runner_server(root, LOAD + source, scores="similarity")
    answers = query_server(
        host,
        [make_request(f"{index}", "similarity") for index in range(len(scores_by_expression))],
        scores="similarity",
    )
    host.close()
    assert [(answer.scores, answer.error) for answer in answers] == list(
        zip(scores_by_expression.values(), ["", "", "malformed"], strict=True)
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def load(folder, device):\n    raise RuntimeError(f'no weights in {folder}')\ndef answer(*given): pass\n",
         r"own\.py: the model runner does not start: .*own\.py: RuntimeError: no weights in .*weights / the server ended with code 1\. "
         r"See .*run\.server\.log; correct `served_by`, `gpus` or the weights"),
        (f"import tests\n{LOAD}def answer(*given): pass\n", r"own\.py: ModuleNotFoundError: No module named 'tests'"),
    ],
)  # fmt: skip
def test_a_runner_that_does_not_start_is_explained_in_one_line(root: Path, source: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        make_runner_server(root, source).start()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("import os; os.kill(os.getpid(), 11)", r"own\.py: the model runner has ended: .*the server ended with code -11\. .*`memory_mb`"),
        ("import sys, time; sys.stderr.close(); time.sleep(600)",
         r"own\.py: no answer after 1\.2 s\. If it needs longer, set `served_by\.answer_minutes` in the model's file / the server "
         r"ended with code 3"),
    ],
)  # fmt: skip
def test_a_runner_that_dies_or_hangs_ends_its_job_with_one_line(root: Path, statement: str, message: str) -> None:
    source = f"{LOAD}def answer(frames, times, prompt, max_tokens):\n    {statement}\n"
    host = make_runner_server(root, source, answer_minutes=0.02)
    (answer,) = query_server(host, [make_request("a", "write")])
    assert answer.error == "network"
    with pytest.raises(MachineError, match=message) as caught:
        host.check_running(is_connection_lost=True)
    host.close()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "scores", "message"),
    [
        (None, None, r"served_by.runner: no file 'own\.py'\. Create it, or correct the path"),
        ("def load(:", None, r"own\.py: not valid Python: .*line 1"),
        ("def load(folder, device): pass\n", None,
         r"own\.py: does not define `answer\(frames, times, prompt, max_tokens\)`\. Define these functions"),
        ("def load(f, d): pass\ndef answer(f, t, p, m): pass\n", EXACT_SCORES, r"`scores\(.*\)`\. .* set `scores: null` in `settings`"),
        ("def load(f, d): pass\ndef answer(f, t, p, m): pass\n", "similarity", r"define `similarity\(frames, times, caption\)`\. D"),
        ("x = 1\n", EXACT_SCORES, r"`load\(folder, device\)`, `answer\(.*\)`, `scores\(.*\)`\."),
    ],
)  # fmt: skip
def test_a_runner_without_a_required_function_is_rejected_before_any_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, scores: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if source is not None:
        Path("own.py").write_text(source)
    with pytest.raises(UserError, match=message) as caught:
        check_runner("own.py", scores)
    assert "\n" not in str(caught.value)
