"""Model runners behind the adapter `openai`: their inputs, their errors, and what is recorded."""

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

from tests.unit.models.serving.engines import NAME, OWN, host_in, make_environment, served_by_runner
from tests.unit.requests import BLIND, request, shown, spec
from tests.unit.videos import RATE, barcode_video

EXACT = "logprob_token_ids"
LOAD = "def load(folder, device): pass\n"
GOOD = """
import hashlib

def load(folder, device):
    global told
    told = f"{folder}|{device}"

def answer(frames, times, prompt, max_tokens):
    pixels = hashlib.sha256(frames.tobytes()).hexdigest()
    return f"{pixels}|{frames.shape}|{[round(one, 4) for one in times]}|{times.duration}|{prompt}|{max_tokens}|{told}"

def scores(frames, times, prompt, options):
    return [0.75 if option in prompt else 0.0 for option in options]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a clone whose environment is that of the tests."""
    monkeypatch.chdir(tmp_path)
    make_environment(tmp_path, Store(tmp_path / "store"), OWN)
    return tmp_path


def host_of(root: Path, text: str, answer_minutes: float = 1, scores: str | None = None) -> ServerProcess:
    """Return the server of a model runner with this source."""
    (root / "own.py").write_text(text)
    return host_in(root, served_by_runner(answer_minutes, scores))


def answers(
    host: ServerProcess, requests: list[Request], clip: ClipFrames = BLIND, scores: str = EXACT
) -> list[Answer]:
    own = Account(Path(), "toy", None, NO_BUDGET, is_paid=False)
    settings = {"model": NAME, "scores": scores, "frames": "video", "check_frames": False, "retries": 0}
    asking = spec(**settings, **host.start())
    return list(OpenAIAdapter(replace(asking, account=own)).answers(clip, requests))


def test_frames_arrive_bit_for_bit_with_their_times_and_the_clips_length(root: Path) -> None:
    video, indices = barcode_video(root / "v.mp4", 48), (0, 7, 7, 30)
    host = host_of(root, GOOD)
    asked = [request("Which?", "write", max_tokens=5), request("Why?", "write", system="Be short.")]
    asked.append(replace(request("Look: what?", "write"), lead="Look:"))
    found = answers(host, asked, shown(video, indices))
    host.close()
    host = host_of(root, GOOD)
    blind, scored = answers(host, [request("Which?", "write"), request("Is it Yes?", "score", ("Yes", "No"))])
    host.close()
    assert "|(0, 0, 0, 3)|[]|0.0|Which?|" in blind.text and scored.scores == pytest.approx((0.75, 0.0))
    frames = np.ascontiguousarray(read_frames(video, indices))
    start = f"{hashlib.sha256(frames.tobytes()).hexdigest()}|{frames.shape}|"
    start += f"{[round(index / RATE, 4) for index in indices]}|{48 / RATE}|"
    end = f"|{root / 'weights'}|cpu"
    assert [one.text for one in found] == [
        f"{start}Which?|5{end}",
        f"{start}Be short.\nWhy?|8{end}",
        f"{start}Look: what?|8{end}",
    ]
    assert {(one.error, one.frames_shown) for one in found} == {("", len(indices))}


WRONG = [
    ("import sys; print('HTTP/1.1 200 OK'); sys.stdout.close(); raise ValueError('no')", "failed", "ValueError: no"),
    ("raise SystemExit(2)", "failed", "SystemExit: 2"),
    ("raise MemoryError('too much')", "out_of_memory", "MemoryError: too much"),
    ("return 7", "malformed", "`answer` returned 7, not a string"),
    ("return '\\ud800'", "bad_text", "UnicodeEncodeError"),
    ("return '  '", "empty", "finish_reason: stop"),
]
WRONG_SCORES = {
    "[0.5]": "`scores` returned [0.5], not a probability for each of 2 options",
    "[0.5, float('nan')]": "not a probability",
    "None": "`scores` returned None, not a probability",
}


def test_an_error_of_a_runner_fails_only_its_request(root: Path) -> None:
    branches = "".join(f"    if prompt == 'bad {at}':\n        {does}\n" for at, (does, *_) in enumerate(WRONG))
    scores = f"def scores(frames, times, prompt, options): return [{', '.join(WRONG_SCORES)}][int(prompt)]\n"
    host = host_of(root, f"{LOAD}{scores}def answer(frames, times, prompt, max_tokens):\n{branches}    return 'good'\n")
    asked = [request(f"{kind} {at}", "write") for at in range(len(WRONG)) for kind in ("bad", "good")]
    scored = [request(f"{at}", "score", ("Yes", "No")) for at in range(len(WRONG_SCORES))]
    found = answers(host, [*asked, *scored])
    host.close()
    assert [(one.text, one.error) for one in found[1 : len(asked) : 2]] == [("good", "")] * len(WRONG)
    for (_, error, words), one in zip(WRONG, found[: len(asked) : 2], strict=True):
        assert (one.text, one.error) == ("", error) and words in one.message
    for words, one in zip(WRONG_SCORES.values(), found[len(asked) :], strict=True):
        assert one.error == "malformed" and words in one.message


def test_a_similarity_is_exactly_the_number_that_a_runner_returns(root: Path) -> None:
    said = {"0.1 + 0.2": (0.1 + 0.2,), "-1e-30": (-1e-30,), "float('nan')": ()}
    text = f"def similarity(frames, times, caption): return [{', '.join(said)}][int(caption)]\n"
    host = host_of(root, LOAD + text, scores="similarity")
    found = answers(host, [request(f"{at}", "similarity") for at in range(len(said))], scores="similarity")
    host.close()
    assert [(one.scores, one.error) for one in found] == list(zip(said.values(), ["", "", "malformed"], strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def load(folder, device):\n    raise RuntimeError(f'no weights in {folder}')\ndef answer(*given): pass\n",
         r"own\.py: the model runner does not start: .*own\.py: RuntimeError: no weights in .*weights / the server ended with code 1\. "
         r"See .*run\.server\.log; correct `served_by`, `gpus` or the weights"),
        (f"import tests\n{LOAD}def answer(*given): pass\n", r"own\.py: ModuleNotFoundError: No module named 'tests'"),
    ],
)  # fmt: skip
def test_a_runner_that_does_not_start_is_explained_in_one_line(root: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        host_of(root, text).start()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("import os; os.kill(os.getpid(), 11)", r"own\.py: the model runner has ended: .*the server ended with code -11\. .*`memory_mb`"),
        ("import sys, time; sys.stderr.close(); time.sleep(600)",
         r"own\.py: no answer after 1\.2 s\. If it needs longer, set `served_by\.answer_minutes` in the model's file / the server "
         r"ended with code 3"),
    ],
)  # fmt: skip
def test_a_runner_that_dies_or_hangs_ends_its_job_in_one_line(root: Path, does: str, message: str) -> None:
    text = f"{LOAD}def answer(frames, times, prompt, max_tokens):\n    {does}\n"
    host = host_of(root, text, answer_minutes=0.02)
    (found,) = answers(host, [request("a", "write")])
    assert found.error == "network"
    with pytest.raises(MachineError, match=message) as caught:
        host.check(is_connection_lost=True)
    host.close()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "scores", "message"),
    [
        (None, None, r"served_by.runner: no file 'own\.py'\. Create it, or correct the path"),
        ("def load(:", None, r"own\.py: not valid Python: .*line 1"),
        ("def load(folder, device): pass\n", None,
         r"own\.py: does not define `answer\(frames, times, prompt, max_tokens\)`\. Define these functions"),
        ("def load(f, d): pass\ndef answer(f, t, p, m): pass\n", EXACT, r"`scores\(.*\)`\. .* set `scores: null` in `settings`"),
        ("def load(f, d): pass\ndef answer(f, t, p, m): pass\n", "similarity", r"define `similarity\(frames, times, caption\)`\. D"),
        ("x = 1\n", EXACT, r"`load\(folder, device\)`, `answer\(.*\)`, `scores\(.*\)`\."),
    ],
)  # fmt: skip
def test_a_runner_without_a_required_function_is_rejected_before_any_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, scores: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("own.py").write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        check_runner("own.py", scores)
    assert "\n" not in str(caught.value)
