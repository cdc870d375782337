"""Answers out of Label Studio: its exports, and annotations that were corrected between two of them."""

import json
from pathlib import Path

import pytest
from reprise.construction.label_studio import exported_rows, is_export
from reprise.construction.review import read_verdicts
from reprise.people.answers import counting
from reprise.people.surveys import NOT_TESTED, task_id

from tests.unit.people.asked import TASKS, counted_of, design, task

RECORDED = Path(__file__).parents[2] / "data/people"


def exported(*annotations: dict[str, object], **data: str) -> dict[str, object]:
    return {"data": {"task_id": "q1", "digest": TASKS[0].digest} | data, "annotations": list(annotations)}


def annotation(choices: object, by: object = 3, **more: object) -> dict[str, object]:
    return {"completed_by": by, "result": [{"from_name": "verdict", "value": {"choices": choices}}], **more}


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        (exported(annotation(["A"])), [("q1", "label-studio 3", "A")]),
        (exported(annotation(["A"], {"id": 4, "email": "x@example.org"})), [("q1", "label-studio 4", "A")]),
        (
            exported(annotation(["A"]), annotation(["B"])),
            [("q1", "label-studio 3", "A"), ("q1", "label-studio 3", "B")],
        ),
        (exported(annotation(["A"], was_cancelled=True)), [("q1", "label-studio 3", "")]),
        (exported(), []),
        (exported(annotation(["A", "B"])), [("q1", "label-studio 3", "A, B")]),
        (exported({"completed_by": None, "result": []}), [("q1", "", "")]),
        (exported({"completed_by": 3, "result": "damaged"}), [("q1", "label-studio 3", "")]),
    ],
)
def test_an_export_is_rows(task: dict[str, object], rows: list[tuple[str, str, str]]) -> None:
    assert is_export([task])
    assert [(one["task_id"], one["reviewer"], one["verdict"]) for one in exported_rows([task])] == rows


def test_a_recorded_export_of_label_studio_is_read() -> None:
    """One answer before, and all after: one skipped task, and one that the same person answered twice."""
    half, whole = (RECORDED / f"label-studio-{name}.json" for name in ("half", "whole"))
    tasks = [
        task(task_id("toy/script/all", f"{n}_pos/text#text_pos"), f"{n}.pos", f"Toy question {n}? A. one, B. two")
        for n in range(4)
    ]
    assert [(one.task_id, one.verdict) for one in read_verdicts([half])] == [(tasks[0].task_id, "A")]
    found = counting(tasks, read_verdicts([half, whole]), design(), NOT_TESTED, ())
    assert found.votes.by_task == {tasks[0].task_id: {"1": "A"}, tasks[1].task_id: {"1": "B"}}
    assert [one.problem for one in found.votes.problems] == ["two_verdicts"]
    assert counted_of(read_verdicts([whole]), design()).votes.problems[0].problem == "foreign_task"
    corrected = counting(
        tasks, read_verdicts([half, RECORDED / "label-studio-corrected.json"]), design(), NOT_TESTED, ()
    )
    assert corrected.votes.by_task == {tasks[0].task_id: {"1": "B"}, tasks[1].task_id: {"1": "B"}}


@pytest.mark.parametrize("content", [[], {}, "x", [{"task_id": "q1"}], [{"data": {}, "annotations": 3}], [3]])
def test_other_json_is_no_export(content: object) -> None:
    assert not is_export(content)


EARLY, LATE = "2026-11-23T15:51:09.477469Z", "2026-11-23T17:00:00+00:00"


def saved(verdict: str, at: str | None, name: str | None = "n", by: str = "3", **more: object) -> dict[str, object]:
    return annotation([verdict], by, unique_id=name, updated_at=at, **more)


# A person's state of an annotation in each of two exports, whose answers count, and what is wrong.
CORRECTED = {
    "a later answer replaces an earlier one": (saved("A", EARLY), saved("B", LATE), "B", []),
    "whichever file is read first": (saved("B", LATE), saved("A", EARLY), "B", []),
    "the same answer twice": (saved("A", EARLY), saved("A", EARLY), "A", []),
    "a later answer that is the same": (saved("A", EARLY), saved("A", LATE), "A", []),
    "one that was taken back": (saved("A", EARLY), saved("A", LATE, was_cancelled=True), "", []),
    "one that was skipped first": (saved("A", EARLY, was_cancelled=True), saved("A", LATE), "A", []),
    "two annotations": (saved("A", EARLY), saved("B", LATE, "m"), "", ["two_verdicts"]),
    "two annotations that agree": (saved("A", EARLY), saved("A", LATE, "m"), "A", []),
    "two people": (saved("A", EARLY), saved("A", LATE, by="4"), "AA", []),
    "two answers of one moment": (saved("A", EARLY), saved("B", EARLY), "", ["two_verdicts"]),
    "no name of the annotation": (saved("A", EARLY, None), saved("B", LATE, None), "", ["two_verdicts"]),
    "no moment": (saved("A", None), saved("B", LATE), "", ["two_verdicts"]),
    "no moment, but when it was made": (saved("A", None, created_at=EARLY), saved("B", LATE), "B", []),
    "a moment that is none": (saved("A", "soon"), saved("B", LATE), "", ["two_verdicts"]),
    "a moment without a zone": (saved("A", EARLY.removesuffix("Z")), saved("B", LATE), "B", []),
}


@pytest.mark.parametrize(("first", "second", "counts", "problems"), CORRECTED.values(), ids=CORRECTED)
def test_a_corrected_answer(
    tmp_path: Path, first: dict[str, object], second: dict[str, object], counts: str, problems: list[str]
) -> None:
    for name, one in (("1.json", first), ("2.json", second)):
        (tmp_path / name).write_text(json.dumps([exported(one)]))
    votes = counted_of(read_verdicts([tmp_path / "1.json", tmp_path / "2.json"]), design()).votes
    assert (
        "".join(votes.by_task.get("q1", {}).values()) == counts and [one.problem for one in votes.problems] == problems
    )
