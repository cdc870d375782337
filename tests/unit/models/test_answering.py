"""Test faulty adapters: each fault has a named outcome, fails only its requests, and does not stop the run."""

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

from tests.unit.requests import make_run_key, make_yes_no_request, model_spec

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {"rule": "none"}}})
POISON = "b"
CLIP = ClipFrames("clip", None, (), ())


class FaultyAdapter(Adapter):
    """Repeats every prompt; for requests whose id starts with `poison`, it does what the test defines."""

    def __init__(self, spec: ModelSpec, at_poison: Callable[[], Any] = lambda: Answer(), poison: str = POISON) -> None:
        self.at_poison, self.poison = at_poison, poison
        self.received_ids: list[str] = []

    def answer(self, request: Request) -> Answer:
        self.received_ids.append(request.request_id)
        if request.request_id.startswith(self.poison):
            answer: Answer = self.at_poison()
            return answer
        return Answer(text=request.prompt)

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            yield self.answer(request)


class EagerAdapter(FaultyAdapter):
    """Computes all answers about a clip before it yields the first one."""

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        return iter([self.answer(request) for request in requests])


class MiscountingAdapter(FaultyAdapter):
    """Returns `answer_count` answers to the request `b`, and one to the others."""

    def __init__(self, answer_count: int) -> None:
        self.answer_count = answer_count

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            for _ in range(self.answer_count if request.request_id == POISON else 1):
                yield Answer(text=request.prompt)


class OutOfMemoryError(RuntimeError):
    """An error with the name of torch's."""


class PanicException(BaseException):
    """An error like that of PyO3 when a Rust library panics."""


def raise_at_poison(error: BaseException) -> Callable[[], Answer]:
    def at_poison() -> Answer:
        raise error

    return at_poison


def answer_at_poison(answer: object) -> Callable[[], Any]:
    return lambda: answer


def make_clip_requests(*request_ids_by_clip: Sequence[str]) -> list[ClipRequests]:
    return [
        ClipRequests(
            ClipFrames(f"clip {index}", None, (), ()), f"recipe {index}", tuple(map(make_yes_no_request, request_ids))
        )
        for index, request_ids in enumerate(request_ids_by_clip)
    ]


def run_job(
    model: Any, folder: Path, pending: Sequence[ClipRequests] | None = None, attempts: int = 3
) -> dict[str, dict[str, Any]]:
    """Run one job and return its rows by request."""
    cache, failures = ResponseCache(folder / "j.jsonl"), Failures(folder / "f.jsonl", attempts)
    rows, _ = run_inference(
        make_clip_requests("abc", "def") if pending is None else pending, model, cache, failures, KEY
    )
    return {row["request_id"]: row for row in rows}


FAULTS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "an error": (raise_at_poison(ValueError("bad shape\nsecond line")), "failed", "ValueError: bad shape"),
    "a panic of another language": (raise_at_poison(PanicException("index out of bounds")), "failed", "index out of bounds"),
    "no memory": (raise_at_poison(MemoryError()), "out_of_memory", "MemoryError"),
    "no memory of the GPU": (raise_at_poison(OutOfMemoryError("2 GiB")), "out_of_memory", "OutOfMemoryError: 2 GiB"),
    "no memory of torch": (
        raise_at_poison(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")), "out_of_memory", "CPUAllocator",
    ),
    "no answer in time": (raise_at_poison(TimeoutError("30 s")), "timeout", "TimeoutError: 30 s"),
    "a broken connection": (raise_at_poison(ConnectionResetError("peer")), "network", "ConnectionResetError: peer"),
    "a failure with a name": (raise_at_poison(AnswerError("rate_limited", "slow down")), "rate_limited", "slow down"),
    "a failed answer": (answer_at_poison(Answer(error="server_error", message="503")), "server_error", "503"),
    "NaN": (answer_at_poison(Answer(scores=(float("nan"), 0.5))), "not_finite", "scores (nan, 0.5)"),
    "a lone surrogate": (answer_at_poison(Answer(text="a\ud800")), "bad_text", "surrogates not allowed"),
    "nothing": (answer_at_poison(None), "malformed", "NoneType instead of an Answer"),
    "scores as text": (answer_at_poison(Answer(scores=("0.5", "0.5"))), "malformed", "a value of the wrong type"),  # type: ignore[arg-type]
    "a score too many": (answer_at_poison(Answer(scores=(0.1, 0.2, 0.7))), "malformed", "3 scores for 2 options"),
    "a negative count": (answer_at_poison(Answer(tokens_in=-1)), "malformed", "a count out of range"),
}  # fmt: skip


@pytest.mark.parametrize("adapter", [FaultyAdapter, EagerAdapter])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_only_its_request_with_a_named_reason(
    fault: str, adapter: type[FaultyAdapter], tmp_path: Path
) -> None:
    at_poison, error, message = FAULTS[fault]
    rows = run_job(adapter(model_spec(), at_poison), tmp_path)
    assert {name: row["error"] for name, row in rows.items()} == dict.fromkeys("acdef", "") | {POISON: error}
    assert {name: row["text"] for name, row in rows.items() if name != POISON} == {n: f"prompt {n}" for n in "acdef"}
    reported_message = rows[POISON]["message"]
    assert message in reported_message and "\n" not in reported_message and len(reported_message) <= 300
    healthy_adapter = adapter(model_spec())
    assert run_job(healthy_adapter, tmp_path)["a"]["text"] == "prompt a" and set(healthy_adapter.received_ids) <= {
        POISON
    }, "nothing is stuck"


@pytest.mark.parametrize(("answer_count", "error"), [(0, "too_few"), (10**12, "too_many")])
def test_requests_with_ambiguous_answers_are_sent_again_alone(answer_count: int, error: str, tmp_path: Path) -> None:
    """A missing or extra answer shifts the following answers, so the job discards all answers about the clip."""
    rows = run_job(MiscountingAdapter(answer_count), tmp_path, make_clip_requests("bac", "def"))
    assert {name: row["error"] for name, row in rows.items()} == dict.fromkeys("acdef", "") | {POISON: error}
    assert {name: row["text"] for name, row in rows.items() if name != POISON} == {n: f"prompt {n}" for n in "acdef"}
    assert len(ResponseCache(tmp_path / "j.jsonl")) == 5, "withdrawn answers are not in the cache"


def test_a_damaged_clip_fails_its_requests_and_is_read_once_per_job(tmp_path: Path) -> None:
    class DamagedClipAdapter(FaultyAdapter):
        read_count = 0

        def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
            if clip.clip_id == "clip 0":
                self.read_count += 1
                raise MediaError("corrupt", "frame 3 of 10 cannot be decoded")
            yield from super().answers(clip, requests)

    model = DamagedClipAdapter(model_spec())
    rows = run_job(model, tmp_path)
    assert [row["error"] for row in rows.values()] == ["corrupt"] * 3 + [""] * 3 and model.read_count == 1
    rows_after_repair = run_job(FaultyAdapter(model_spec(), answer_at_poison(Answer(text="ok"))), tmp_path)
    assert [row["error"] for row in rows_after_repair.values()] == [""] * 6, (
        "requests about a repaired clip are sent again"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UserError("set the option")])
def test_ctrl_c_and_configuration_errors_end_the_job(error: BaseException, tmp_path: Path) -> None:
    with pytest.raises(type(error)):
        run_job(FaultyAdapter(model_spec(), raise_at_poison(error)), tmp_path)
    assert len(ResponseCache(tmp_path / "j.jsonl")) == 1, "the answer before it is kept"


def test_a_fault_of_the_machine_ends_the_job_and_fails_no_request(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="run the same command again"):
        run_job(FaultyAdapter(model_spec(), raise_at_poison(OSError(errno.ENOSPC, "x", "/some/file"))), tmp_path)
    assert not (tmp_path / "f.jsonl").exists()
    assert run_job(FaultyAdapter(model_spec(), answer_at_poison(Answer(text="y"))), tmp_path)[POISON]["error"] == ""


def test_a_lost_gpu_ends_the_job_and_its_request_fails_after_its_attempts(tmp_path: Path) -> None:
    lost = RuntimeError("CUDA error: device-side assert triggered")
    for _ in range(3):
        with pytest.raises(MachineError, match="this job lost its GPU: RuntimeError: CUDA error"):
            run_job(FaultyAdapter(model_spec(), raise_at_poison(lost)), tmp_path)
    rows = run_job(FaultyAdapter(model_spec(), raise_at_poison(lost)), tmp_path)
    assert [row["error"] for row in rows.values()] == ["", "device_error", "", "", "", ""]


# --- the first requests --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ValueError("no such processor"), "Correct the model's file or its adapter"),
        (ConnectionRefusedError("port 1"), "Run the same command again when the problem is resolved"),
        (MemoryError(), "Use a larger device"),
    ],
)
def test_a_run_whose_first_requests_all_fail_stops_with_the_reason(
    error: Exception, advice: str, tmp_path: Path
) -> None:
    model = FaultyAdapter(model_spec(), raise_at_poison(error), poison="")
    pending = make_clip_requests(*([f"{clip}.{number}" for number in range(5)] for clip in range(50)))
    for _ in range(5):
        message = (
            rf"b/p/s/m: the first 10 requests all failed: .*{type(error).__name__}.* Nothing was recorded\. {advice}"
        )
        with pytest.raises(UserError, match=message):
            run_job(model, tmp_path, pending)
    assert EARLY_CHECK_REQUESTS <= len(model.received_ids) / 5 <= 20, (
        "those of the first two clips, each sent once more alone"
    )
    assert not list(tmp_path.iterdir()), "no failure is recorded against any request"


def test_one_bad_clip_does_not_stop_the_run(tmp_path: Path) -> None:
    pending = make_clip_requests(*([f"{clip}.{number}" for number in range(20)] for clip in range(3)))
    rows = run_job(FaultyAdapter(model_spec(), raise_at_poison(ValueError("odd clip")), "0."), tmp_path, pending)
    assert sum(row["error"] == "failed" for row in rows.values()) == 20


class UnloadableAdapter(FaultyAdapter):
    def __init__(self, spec: ModelSpec) -> None:
        raise PanicException("bad header\nmore")


def test_a_model_that_does_not_load_gives_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, "broken", AdapterInfo(f"{__name__}:UnloadableAdapter"))
    with pytest.raises(
        UserError, match=r"the adapter broken cannot load the model: .*PanicException: bad header\. Correct"
    ):
        run_job(LazyModel(make_run_key("broken"), Store(tmp_path), 1), tmp_path)
    assert not (tmp_path / "f.jsonl").exists()


# --- retries -------------------------------------------------------------------------------------------------------


def test_transient_failures_are_retried_a_few_times_and_others_on_request(tmp_path: Path) -> None:
    for error, attempts in ((TimeoutError("30 s"), 3), (ValueError("x"), 1)):
        folder = tmp_path / type(error).__name__
        model = FaultyAdapter(model_spec(), raise_at_poison(error))
        rows = [run_job(model, folder) for _ in range(5)]
        assert model.received_ids.count(POISON) == attempts + 1 and model.received_ids.count("a") == 2, (
            "after a failure, each request of the clip is sent once more alone"
        )
        assert rows[0] == rows[-1], "without a retry, the failure stays the same"
        assert Failures(folder / "f.jsonl", 3).count_retryable() == Counter()
        assert Failures(folder / "f.jsonl", 3).retry(["rate_limited"]) == 0
        assert Failures(folder / "f.jsonl", 3).retry() == 1
        assert Failures(folder / "f.jsonl", 3).count_retryable().total() == 1
        rows_after_retry = run_job(FaultyAdapter(model_spec(), answer_at_poison(Answer(text="at last"))), folder)
        assert (
            rows_after_retry[POISON]["text"],
            rows_after_retry[POISON]["error"],
            rows_after_retry[POISON]["message"],
        ) == ("at last", "", "")
        assert Failures(folder / "f.jsonl", 3).get(POISON) is None
