"""Clips that are prepared ahead in processes of their own: the same answers, bounds, and what a crash leaves behind."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import MachineError, UserError
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, AdapterInfo
from reprise.models.asking.journal import Failures, Journal, Work
from reprise.models.asking.lazy import LazyModel
from reprise.models.asking.workers import AHEAD, Ahead
from reprise.models.base import Clip, Due, Ready, Request
from reprise.stages.infer import ask_all

from tests.unit.asked import request, run_key, spec

HERE = "tests.unit.models.preparers"
ADAPTERS_OF_TESTS = {"summing": AdapterInfo(f"{HERE}:Summing", preparer=f"{HERE}:Preparer")}


def clip(name: str) -> Clip:
    return Clip(name, None, (), ())


def questions(name: str) -> tuple[Request, ...]:
    return tuple(request(f"prompt {name} {number}", "write", request_id=f"{name}{number}") for number in range(3))


def works(*names: str) -> list[Work]:
    return [Work(clip(name), f"recipe {name}", questions(name)) for name in names]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, dict[str, Any]]]:
    """One job with so many workers; its rows by question, and its journal and failures in a folder of its own."""
    monkeypatch.setitem(ADAPTERS, "summing", ADAPTERS_OF_TESTS["summing"])

    def run(workers: int, asked: list[Work], folder: str = "", **settings: str) -> dict[str, dict[str, Any]]:
        key = run_key("summing", settings)
        place = tmp_path / (folder or f"{workers}")
        with LazyModel(key, Store(tmp_path), threads=1, workers=workers) as model:
            rows, timings = ask_all(asked, model, Journal(place / "j.jsonl"), Failures(place / "f.jsonl", 3), key)
        run.timings = timings  # type: ignore[attr-defined]
        return {row["request_id"]: row for row in rows}

    return run


def without_times(path: Path) -> list[Any]:
    return [[*found.answer.scores, entry, found.answer.text] for entry, found in Journal(path)._entries.items()]


CLIPS = [f"clip{number}" for number in range(9)]


def test_workers_change_neither_answers_nor_their_order(ask: Any, tmp_path: Path) -> None:
    here, ahead = ask(0, works(*CLIPS)), ask(2, works(*CLIPS))
    assert here == ahead and list(here) == list(ahead)
    assert here["clip00"]["text"] == f"prompt clip0 0: {9001 * 3 * 7 + 10}"
    assert without_times(tmp_path / "0/j.jsonl") == without_times(tmp_path / "2/j.jsonl")


def test_a_run_whose_answers_are_journaled_starts_no_worker(ask: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    first = ask(2, works(*CLIPS), "same")
    assert ask(2, works(*CLIPS), "same", notes=str(notes), load="never") == first and not notes.exists()


BY_ITSELF = {
    "value": ("failed", "ValueError: bad shape"),
    "media": ("corrupt", "frame 3"),
    "exit": ("failed", "SystemExit: 0"),
}
BY_ITS_END = {
    "sigkill": ("killed", "the process that prepared its frames was ended by SIGKILL"),
    "leave": ("killed", "the process that prepared its frames ended with code 3"),
}


@pytest.mark.parametrize(("workers", "faults"), [(0, BY_ITSELF), (2, BY_ITSELF | BY_ITS_END)])
def test_what_befalls_a_clip_is_its_failure_alone(workers: int, faults: dict[str, tuple[str, str]], ask: Any) -> None:
    rows = ask(workers, works("clip0", *faults, *CLIPS[1:5]))
    failed = {name: (row["error"], row["message"]) for name, row in rows.items() if row["error"]}
    assert failed == {one.request_id: found for fault, found in faults.items() for one in questions(fault)}
    assert all(row["text"] for name, row in rows.items() if name not in failed)


@pytest.mark.parametrize(("fault", "kind"), [("user", UserError), ("machine", MachineError)])
def test_what_is_no_failure_of_a_clip_ends_the_job_and_what_was_answered_stays(
    fault: str, kind: type[Exception], ask: Any, tmp_path: Path
) -> None:
    with pytest.raises(kind):
        ask(1, works("clip0", fault, "clip1"))
    assert len(Journal(tmp_path / "1/j.jsonl")) == 3


def test_timings_of_all_parts_survive_a_resume(ask: Any) -> None:
    asked = works("clip0", "clip1")
    ask(1, [works("clip0")[0], Work(clip("clip1"), "recipe clip1", questions("clip1")[:1])], "same")
    before = ask.timings
    ask(1, asked, "same")
    for row, old in zip(ask.timings, before, strict=True):
        assert all(row[name] >= old[name] > 0 for name in ("decode", "preprocess", "waiting", "encode", "seconds"))
    assert [row["encode"] for row in ask.timings] == [0.25, 0.5], "the second was encoded in both sittings"


# --- bounds --------------------------------------------------------------------------------------------------------


def counted(names: list[str], taken: list[str]) -> Iterator[Due]:
    for name in names:
        taken.append(name)
        yield Due(clip(name), questions(name))


def test_no_more_clips_are_ahead_than_the_workers_need() -> None:
    taken: list[str] = []
    with Ahead(f"{HERE}:Preparer", spec(), workers=2) as ahead:
        ahead.expect(counted([*CLIPS], taken))
        assert len(taken) == 2 * AHEAD
        for number, name in enumerate(CLIPS, start=1):
            outcome = ahead.take(clip(name), questions(name)[:1])
            assert isinstance(outcome, Ready) and len(taken) == min(len(CLIPS), number + 2 * AHEAD)
