"""Who is who: names in files of answers and in those that leave people out."""

import json
from pathlib import Path

import polars as pl
import pytest
from reprise.construction.review import COLUMNS, as_csv
from reprise.core.errors import UserError
from reprise.core.files import file_digest
from reprise.core.schemas import REQUESTS
from reprise.people.gathering import gather
from reprise.people.keys import Inputs
from reprise.people.names import named, people_named, read_names
from reprise.people.surveys import question_tasks

from tests.unit.people.asked import TASKS, counted_of, design, said
from tests.unit.rows import request_row

ONE = pl.DataFrame([request_row("q1#text", options=["A", "B"])], schema=REQUESTS)


def test_people_left_out_are_those_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "captions.csv"
    path.write_text("clip,reviewer\na,Ann \nb,bob\nc,\n")
    assert people_named([path]) == {"ann", "bob"}
    path.write_text("clip,who\na,ann\n")
    with pytest.raises(UserError, match=r"captions.csv: column 'reviewer' is missing. Found: clip, who."):
        people_named([path])


def test_who_typed_captions_in_label_studio_is_left_out(tmp_path: Path) -> None:
    typed = [{"from_name": "typed", "value": {"text": ["A toy runs."]}}]
    annotations = [{"completed_by": 3, "result": typed}, {"completed_by": 4, "result": []}]
    path = tmp_path / "annotations-toy.json"
    path.write_text(json.dumps([{"data": {"task_id": "caption/c", "digest": "d"}, "annotations": annotations}]))
    assert people_named([path]) == {"label-studio 3"}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("label-studio 3,Ann Smith\n7, BOB\n", {"label-studio 3": "ann smith", "7": "bob"}),
        ("3,Ann\n3 ,ann\n", {"3": "ann"}),
        ("", {}),
        ("3,Ann\n3,Bob\n", "row 2: this reviewer has another name in a row above."),
        ("3,\n", "row 1: an empty cell. Both columns need a text."),
        (
            "3\n",
            "row 1: 1 cells for 2 columns (reviewer, name). A text with a comma needs quotes around it. Correct the row, then run the same command again.",
        ),
    ],
)
def test_names_of_people(tmp_path: Path, rows: str, found: dict[str, str] | str) -> None:
    path = tmp_path / "names.csv"
    path.write_text(f"reviewer,name\n{rows}", encoding="utf-8-sig")
    if isinstance(found, dict):
        assert read_names(path) == found
        return
    with pytest.raises(UserError) as caught:
        read_names(path)
    assert str(caught.value) == f"{path}: {found}"


FILES = {"answers": "answers", "names": "names", "left_out": "captions"}


@pytest.mark.parametrize(
    ("reviewer", "wrote", "is_left_out"),
    [
        ("ann smith", "Ann Smith", True),
        (" ANN Smith ", "ann smith", True),
        ("Straße", "STRASSE", True),
        ("label-studio 3", "Ann Smith", True),
        ("Label-Studio 3", "ann smith", True),
        ("label-studio 4", "Ann Smith", False),
        ("3", "Ann Smith", False),
    ],
)
def test_who_is_left_out_under_which_name(tmp_path: Path, reviewer: str, wrote: str, is_left_out: bool) -> None:
    (tmp_path / "names.csv").write_text("reviewer,name\nlabel-studio 3,Ann Smith\n")
    (tmp_path / "captions.csv").write_text(f"clip,reviewer\na,{wrote}\n")
    asked = question_tasks("b/g/all", ONE)[0]
    verdict = {"task_id": asked.task_id, "digest": asked.digest, "reviewer": reviewer, "verdict": "A"}
    (tmp_path / "answers.csv").write_text(as_csv([verdict], COLUMNS))
    paths = {kind: tmp_path / f"{name}.csv" for kind, name in FILES.items()}
    files = Inputs.model_validate({kind: {str(path): file_digest(path)} for kind, path in paths.items()})
    found = gather("b/g/all", design(), files, ONE).counted
    assert [one.problem for one in found.votes.problems] == (["wrote_captions"] if is_left_out else [])
    assert (found.named, found.left_out, found.nobody_left_out) == (1, int(is_left_out), not is_left_out)


def test_a_person_with_two_numbers_is_one() -> None:
    verdicts = [said("label-studio 3", TASKS[0], "A"), said("ANN", TASKS[0], "B")]
    votes = counted_of(named(verdicts, {"label-studio 3": "ann"}), design()).votes
    assert [one.problem for one in votes.problems] == ["two_verdicts"]
