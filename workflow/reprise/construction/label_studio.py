"""Tasks and answers as Label Studio has them: what it imports, its template, and what it exports (`JSON`)."""

import codecs
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, TypeAdapter, ValidationError

from reprise.core.errors import UserError
from reprise.core.plain import visible
from reprise.core.settings import dotted

LOCAL_FILES = "/data/local-files/?d="  # how it names a file below its LOCAL_FILES_DOCUMENT_ROOT
VERDICT = "verdict"
NO_TEXT = ("reviewer", VERDICT)


class Result(BaseModel):
    """What a person said in one field of the template."""

    from_name: str
    value: dict[str, Any]


class Annotation(BaseModel):
    """What a person said of a task."""

    completed_by: int | None
    result: list[Result]
    was_cancelled: bool = False


class Exported(BaseModel):
    """A task of ours, and what people said of it."""

    data: dict[str, Any]
    annotations: list[Annotation]


EXPORT = TypeAdapter(list[Exported])


def as_task(row: Mapping[str, Any], video: str, choices: Sequence[str]) -> dict[str, Any]:
    """A row of tasks with what its template shows: a video's address, and the choices."""
    shown = {name: value for name, value in row.items() if name not in NO_TEXT}
    address = f"{LOCAL_FILES}{quote(video)}" if video else ""
    return {**shown, "video_url": address, "options": [{"value": choice} for choice in choices]}


def template(title: str, texts: Sequence[str]) -> str:
    """The interface of a project: the video, these columns of a task as texts, and its choices."""
    shown = [f'  <Header value={quoteattr(name)}/>\n  <Text name={quoteattr(name)} value="${name}"/>' for name in texts]
    return "\n".join(
        [
            "<View>",
            f"  <Header value={quoteattr(title)}/>",
            '  <Video name="video" value="$video_url"/>',
            *shown,
            f'  <Choices name="{VERDICT}" toName={quoteattr(texts[0])} choice="single" showInLine="true"',
            '    value="$options" required="true"/>',
            "</View>",
            "",
        ]
    )


def exported_rows(path: Path) -> list[dict[str, str]]:
    """A row an annotation; one that was skipped has no verdict. Its user's number says whose."""
    try:
        tasks = EXPORT.validate_json(path.read_bytes().removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(
            f"{path}: not what Label Studio exports as `JSON`: {dotted(first['loc'])}: {visible(first['msg'])}. Export "
            "it again, or fill in a csv file; the other files of verdicts stay."
        ) from error
    rows = []
    for task in tasks:
        for one in task.annotations:
            said = {field.from_name: field.value.get("choices", []) for field in one.result}
            if said and VERDICT not in said:  # it would look as if nobody had given a verdict
                raise UserError(
                    f"{path}: an annotation says {', '.join(map(visible, said))}, and not '{VERDICT}'. Make the "
                    "project with `template.xml` of the tasks, then export it again."
                )
            rows.append({
                "task_id": str(task.data.get("task_id", "")),
                "digest": str(task.data.get("digest", "")),
                "reviewer": "" if one.completed_by is None else f"label-studio {one.completed_by}",
                VERDICT: "" if one.was_cancelled else ", ".join(map(str, said.get(VERDICT, []))),
            })  # fmt: skip
    return rows
