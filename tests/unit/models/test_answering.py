"""Faulty adapters: each fault has a named outcome, fails only its requests, and does not stop the run."""

import errno
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import MachineError, UserError
from reprise.core.store import Store
from reprise.media.errors import MediaError
from reprise.models.adapters import ADAPTERS, AdapterInfo
from reprise.models.base import Adapter, Answer, AnswerError, ClipFrames, ModelSpec, Request
from reprise.models.inference.job import EARLY_CHECK_REQUESTS
from reprise.models.inference.lazy import LazyModel
from reprise.models.inference.response_cache import ClipRequests, Failures, ResponseCache
from reprise.models.keys import RunKey
from reprise.stages.infer import run_inference

from tests.unit.requests import run_key, spec, yes_or_no

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {"rule": "none"}}})
POISON = "b"
CLIP = ClipFrames("clip", None, (), ())


class Faulty(Adapter):
    """Repeats every prompt, except at the request `b`, or those with that prefix, where it does what the test defines."""

    def __init__(self, spec: ModelSpec, at_poison: Callable[[], Any] = lambda: Answer(), poison: str = POISON) -> None:
        self.at_poison, self.poison = at_poison, poison
        self.asked: list[str] = []

    def answer(self, request: Request) -> Answer:
        self.asked.append(request.request_id)
        if request.request_id.startswith(self.poison):
            found: Answer = self.at_poison()
            return found
        return Answer(text=request.prompt)

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for one in requests:
            yield self.answer(one)


class Eager(Faulty):
    """Computes all answers about a clip before it yields the first one."""

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        return iter([self.answer(one) for one in requests])


class Miscounts(Faulty):
    """Answers one request this many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for one in requests:
            for _ in range(self.times if one.request_id == POISON else 1):
                yield Answer(text=one.prompt)


class OutOfMemoryError(RuntimeError):
    """An error with the name of torch's."""


class PanicException(BaseException):
    """An error like that of PyO3 when a Rust library panics."""


def raising(error: BaseException) -> Callable[[], Answer]:
    def at_poison() -> Answer:
        raise error

    return at_poison


def giving(answer: object) -> Callable[[], Any]:
    return lambda: answer


def works(*clips: Sequence[str]) -> list[ClipRequests]:
    return [
        ClipRequests(ClipFrames(f"clip {place}", None, (), ()), f"recipe {place}", tuple(map(yes_or_no, names)))
        for place, names in enumerate(clips)
    ]


def run(
    model: Any, folder: Path, asked: Sequence[ClipRequests] | None = None, attempts: int = 3
) -> dict[str, dict[str, Any]]:
    """Run one job and return its rows by request."""
    cache, failures = ResponseCache(folder / "j.jsonl"), Failures(folder / "f.jsonl", attempts)
    rows, _ = run_inference(works("abc", "def") if asked is None else asked, model, cache, failures, KEY)
    return {row["request_id"]: row for row in rows}


FAULTS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "an error": (raising(ValueError("bad shape\nsecond line")), "failed", "ValueError: bad shape"),
    "a panic of another language": (raising(PanicException("index out of bounds")), "failed", "index out of bounds"),
    "no memory": (raising(MemoryError()), "out_of_memory", "MemoryError"),
    "no memory of the GPU": (raising(OutOfMemoryError("2 GiB")), "out_of_memory", "OutOfMemoryError: 2 GiB"),
    "no memory of torch": (
        raising(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")), "out_of_memory", "CPUAllocator",
    ),
    "no answer in time": (raising(TimeoutError("30 s")), "timeout", "TimeoutError: 30 s"),
    "a broken connection": (raising(ConnectionResetError("peer")), "network", "ConnectionResetError: peer"),
    "a failure with a name": (raising(AnswerError("rate_limited", "slow down")), "rate_limited", "slow down"),
    "a failed answer": (giving(Answer(error="server_error", message="503")), "server_error", "503"),
    "NaN": (giving(Answer(scores=(float("nan"), 0.5))), "not_finite", "scores (nan, 0.5)"),
    "a lone surrogate": (giving(Answer(text="a\ud800")), "bad_text", "surrogates not allowed"),
    "nothing": (giving(None), "malformed", "NoneType instead of an Answer"),
    "scores as text": (giving(Answer(scores=("0.5", "0.5"))), "malformed", "a value of the wrong type"),  # type: ignore[arg-type]
    "a score too many": (giving(Answer(scores=(0.1, 0.2, 0.7))), "malformed", "3 scores for 2 options"),
    "a negative count": (giving(Answer(tokens_in=-1)), "malformed", "a count out of range"),
}  # fmt: skip


@pytest.mark.parametrize("adapter", [Faulty, Eager])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_only_its_request_with_a_named_reason(fault: str, adapter: type[Faulty], tmp_path: Path) -> None:
    at_poison, error, message = FAULTS[fault]
    rows = run(adapter(spec(), at_poison), tmp_path)
    assert {name: row["error"] for name, row in rows.items()} == dict.fromkeys("acdef", "") | {POISON: error}
    assert {name: row["text"] for name, row in rows.items() if name != POISON} == {n: f"prompt {n}" for n in "acdef"}
    found = rows[POISON]["message"]
    assert message in found and "\n" not in found and len(found) <= 300
    again = adapter(spec())
    assert run(again, tmp_path)["a"]["text"] == "prompt a" and set(again.asked) <= {POISON}, "nothing is stuck"


@pytest.mark.parametrize(("times", "error"), [(0, "too_few"), (10**12, "too_many")])
def test_requests_with_ambiguous_answers_are_sent_again_alone(times: int, error: str, tmp_path: Path) -> None:
    """A missing or extra answer shifts the later ones, so all answers about the clip are discarded."""
    rows = run(Miscounts(times), tmp_path, works("bac", "def"))
    assert {name: row["error"] for name, row in rows.items()} == dict.fromkeys("acdef", "") | {POISON: error}
    assert {name: row["text"] for name, row in rows.items() if name != POISON} == {n: f"prompt {n}" for n in "acdef"}
    assert len(ResponseCache(tmp_path / "j.jsonl")) == 5, "withdrawn answers are not in the cache"


def test_a_damaged_clip_fails_its_requests_and_is_read_once_per_job(tmp_path: Path) -> None:
    class Damaged(Faulty):
        looked = 0

        def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
            if clip.clip_id == "clip 0":
                self.looked += 1
                raise MediaError("corrupt", "frame 3 of 10 cannot be decoded")
            yield from super().answers(clip, requests)

    model = Damaged(spec())
    rows = run(model, tmp_path)
    assert [row["error"] for row in rows.values()] == ["corrupt"] * 3 + [""] * 3 and model.looked == 1
    healed = run(Faulty(spec(), giving(Answer(text="ok"))), tmp_path)
    assert [row["error"] for row in healed.values()] == [""] * 6, "requests about a repaired clip are sent again"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UserError("set the option")])
def test_ctrl_c_and_configuration_errors_end_the_job(error: BaseException, tmp_path: Path) -> None:
    with pytest.raises(type(error)):
        run(Faulty(spec(), raising(error)), tmp_path)
    assert len(ResponseCache(tmp_path / "j.jsonl")) == 1, "the answer before it is kept"


def test_a_fault_of_the_machine_ends_the_job_and_fails_no_request(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="run the same command again"):
        run(Faulty(spec(), raising(OSError(errno.ENOSPC, "x", "/some/file"))), tmp_path)
    assert not (tmp_path / "f.jsonl").exists()
    assert run(Faulty(spec(), giving(Answer(text="y"))), tmp_path)[POISON]["error"] == ""


def test_a_lost_gpu_ends_the_job_and_its_request_fails_after_its_attempts(tmp_path: Path) -> None:
    lost = RuntimeError("CUDA error: device-side assert triggered")
    for _ in range(3):
        with pytest.raises(MachineError, match="this job lost its GPU: RuntimeError: CUDA error"):
            run(Faulty(spec(), raising(lost)), tmp_path)
    rows = run(Faulty(spec(), raising(lost)), tmp_path)
    assert [row["error"] for row in rows.values()] == ["", "device_error", "", "", "", ""]


# --- the first questions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ValueError("no such processor"), "Correct the model's file or its adapter"),
        (ConnectionRefusedError("port 1"), "Run the same command again when the problem is resolved"),
        (MemoryError(), "Use a larger device"),
    ],
)
def test_a_run_whose_first_questions_fail_alike_stops_with_the_reason(
    error: Exception, advice: str, tmp_path: Path
) -> None:
    model = Faulty(spec(), raising(error), poison="")
    asked = works(*([f"{clip}.{number}" for number in range(5)] for clip in range(50)))
    for _ in range(5):
        message = (
            rf"b/p/s/m: the first 10 requests all failed: .*{type(error).__name__}.* Nothing was recorded\. {advice}"
        )
        with pytest.raises(UserError, match=message):
            run(model, tmp_path, asked)
    assert EARLY_CHECK_REQUESTS <= len(model.asked) / 5 <= 20, "of the first two clips, each question again alone"
    assert not list(tmp_path.iterdir()), "no failure is recorded against any request"


def test_one_bad_clip_is_not_a_broken_model(tmp_path: Path) -> None:
    asked = works(*([f"{clip}.{number}" for number in range(20)] for clip in range(3)))
    rows = run(Faulty(spec(), raising(ValueError("odd clip")), "0."), tmp_path, asked)
    assert sum(row["error"] == "failed" for row in rows.values()) == 20


class NotLoaded(Faulty):
    def __init__(self, spec: ModelSpec) -> None:
        raise PanicException("bad header\nmore")


def test_a_model_that_does_not_load_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, "broken", AdapterInfo(f"{__name__}:NotLoaded"))
    with pytest.raises(
        UserError, match=r"the adapter broken cannot load the model: .*PanicException: bad header\. Correct"
    ):
        run(LazyModel(run_key("broken"), Store(tmp_path), 1), tmp_path)
    assert not (tmp_path / "f.jsonl").exists()


# --- another try ---------------------------------------------------------------------------------------------------


def test_transient_failures_are_retried_a_few_times_and_others_on_request(tmp_path: Path) -> None:
    for error, times in ((TimeoutError("30 s"), 3), (ValueError("x"), 1)):
        folder = tmp_path / type(error).__name__
        model = Faulty(spec(), raising(error))
        rows = [run(model, folder) for _ in range(5)]
        assert model.asked.count(POISON) == times + 1 and model.asked.count("a") == 2, (
            "once more, alone, where one fails"
        )
        assert rows[0] == rows[-1], "a failure that is not asked again is the same failure"
        assert Failures(folder / "f.jsonl", 3).count_retryable() == Counter()
        assert Failures(folder / "f.jsonl", 3).retry(["rate_limited"]) == 0
        assert Failures(folder / "f.jsonl", 3).retry() == 1
        assert Failures(folder / "f.jsonl", 3).count_retryable().total() == 1
        healed = run(Faulty(spec(), giving(Answer(text="at last"))), folder)
        assert (healed[POISON]["text"], healed[POISON]["error"], healed[POISON]["message"]) == ("at last", "", "")
        assert Failures(folder / "f.jsonl", 3).get(POISON) is None
