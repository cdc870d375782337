"""Captions that people type in Label Studio: for a clip without one, and for one whose captions differ."""

import json
from pathlib import Path
from typing import Any

import pytest
from reprise.construction.label_studio import as_task, template
from reprise.construction.review import Reviewed
from reprise.construction.temporalbench.annotated import read_clips
from reprise.construction.temporalbench.review import TO_TYPE, review
from reprise.core.errors import UserError

from tests.unit.construction.temporalbench_worlds import annotated, clip_row, facts, settings, written

CLIP = "COIN/w.short-0-10"
MEASURED = facts((CLIP, 1, False))


def reviewed(files: dict[str, Path], *verdicts: Path) -> Reviewed:
    return review(written(files, MEASURED, lambda _: "1. A man sings.", settings()), list(verdicts), settings())


def exported(path: Path, task: dict[str, Any], typed: str, user: int = 3, task_id: str | None = None) -> Path:
    """What Label Studio exports of a caption task: the choice, and the text."""
    fields = [
        {"from_name": "verdict", "type": "choices", "value": {"choices": ["described"]}},
        {"from_name": "typed", "type": "textarea", "value": {"text": [typed]}},
    ]
    data = as_task(task, "clips/w.mp4", task["options"]) | ({"task_id": task_id} if task_id else {})
    one = {
        "completed_by": user,
        "result": fields,
        "unique_id": f"{path.name}{typed}",
        "updated_at": "2026-11-23T15:51:09Z",
    }
    path.write_text(json.dumps([{"data": data, "annotations": [one]}]))
    return path


def test_a_caption_is_typed_and_is_then_an_annotation(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("w", caption=""))
    before = reviewed(files)
    (task,) = before.tasks
    path = exported(tmp_path / "annotations-ann.json", task, " A man  cooks. ")
    assert before.typed == TO_TYPE and 'TextArea name="typed" toName="option"' in template(
        "-", ["option"], before.typed
    )
    assert "TextArea" not in template("-", ["option"])
    described = reviewed(files, path)
    assert described.problems == [] and [one["judged_by"] for one in described.tasks] == ["label-studio 3"]
    (clip,) = read_clips(files | {path.name: path}, settings())
    assert (clip.captions, clip.refined) == (("A man cooks.",), ())
    after = reviewed(files | {path.name: path}, path)
    assert after.problems == [] and not any(one["task_id"].startswith("caption/") for one in after.tasks)


def test_people_see_both_captions_and_type_the_one_that_holds(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("w", caption="A man cooks."), clip_row("w", caption="A man eats."))
    (task,) = reviewed(files).tasks
    assert task["option"] == "A man cooks. / A man eats."
    path = exported(tmp_path / "annotations-ann.json", task, "A man cooks.")
    (clip,) = read_clips(files | {path.name: path}, settings())
    assert clip.refined == ("A man cooks.",)
    after = reviewed(files | {path.name: path}, path)
    assert after.problems == [] and not any(one["task_id"].startswith("caption/") for one in after.tasks)


def test_captions_that_two_people_typed_differ(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("w", caption=""))
    (task,) = reviewed(files).tasks
    for name, typed in (("ann", "A man cooks."), ("bob", "A man eats.")):
        path = exported(tmp_path / f"annotations-{name}.json", task, typed)
        files |= {path.name: path}
    (again,) = reviewed(files).tasks
    assert again["option"] == "A man cooks. / A man eats."
    path = exported(tmp_path / "annotations-cy.json", again, "A man cooks.")
    assert not any(one["task_id"].startswith("caption/") for one in reviewed(files | {path.name: path}).tasks)


def test_a_caption_of_another_projects_clip_is_named(tmp_path: Path) -> None:
    files = annotated(tmp_path, clip_row("w", caption=""))
    (task,) = reviewed(files).tasks
    path = exported(tmp_path / "annotations-ann.json", task, "A man cooks.", task_id="caption/COIN/x.short-0-10")
    with pytest.raises(
        UserError, match=r"annotations-ann.json: row 1: the annotations have no clip 'COIN/x.short-0-10'"
    ):
        read_clips(files | {path.name: path}, settings())
    broken = tmp_path / "annotations-broken.json"
    broken.write_text(path.read_text()[:-1])
    with pytest.raises(UserError, match="annotations-broken.json: not readable as json"):
        read_clips(files | {broken.name: broken}, settings())
    path = exported(path, task, "a remark", task_id=f"{CLIP}/0123456789")
    (clip,) = read_clips(files | {path.name: path}, settings())
    assert clip.captions == ()
