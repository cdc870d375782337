"""Tasks and answers as Label Studio has them: what it imports, its template, and what it exports (`JSON`)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

LOCAL_FILES = "/data/local-files/?d="  # how it names a file below its LOCAL_FILES_DOCUMENT_ROOT
VERDICT, TASK = "verdict", "task_id"
TYPED = "typed"  # what people write themselves: the caption of a task that asks for one
NO_TEXT = ("reviewer", VERDICT)
NO_NAME = "something without a name"


def as_task(row: Mapping[str, Any], video: str, choices: Sequence[str]) -> dict[str, Any]:
    """A row of tasks with what its template shows: a video's address, and the choices."""
    shown = {name: value for name, value in row.items() if name not in NO_TEXT}
    address = f"{LOCAL_FILES}{quote(video)}" if video else ""
    return {**shown, "video_url": address, "options": [{"value": choice} for choice in choices]}


def template(title: str, texts: Sequence[str], typed: str = "") -> str:
    """The interface of a project: the video, these columns of a task as texts, its choices, and a field to type in."""
    shown = [f'  <Header value={quoteattr(name)}/>\n  <Text name={quoteattr(name)} value="${name}"/>' for name in texts]
    to = quoteattr(texts[0])
    field = [f"  <Header value={quoteattr(typed)}/>", f'  <TextArea name="{TYPED}" toName={to} rows="4"/>']
    return "\n".join(
        [
            "<View>",
            f"  <Header value={quoteattr(title)}/>",
            '  <Video name="video" value="$video_url"/>',
            *shown,
            *(field if typed else []),
            f'  <Choices name="{VERDICT}" toName={to} choice="single" showInLine="true"',
            '    value="$options" required="true"/>',
            "</View>",
            "",
        ]
    )


def is_export(content: Any) -> bool:
    """Whether this is what Label Studio exports as `JSON`: a list of tasks with their annotations."""
    kinds = {"data": dict, "annotations": list}
    return bool(content) and isinstance(content, list) and all(
        isinstance(one, dict) and all(isinstance(one.get(name), kind) for name, kind in kinds.items())
        for one in content
    )  # fmt: skip


def exported_rows(tasks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """A row an annotation; one that was skipped has no verdict. Its user's number says whose."""
    for task in tasks:
        for one in task["annotations"]:
            if not isinstance(one, dict):
                continue
            said = {} if one.get("was_cancelled") else _fields(one)
            by = one.get("completed_by")
            number = by.get("id") if isinstance(by, dict) else by
            yield {
                "task_id": str(task["data"].get(TASK, "")),
                "digest": str(task["data"].get("digest", "")),
                "reviewer": "" if number is None else f"label-studio {number}",
                VERDICT: _said(said.get(VERDICT, {}).get("choices", ""), ", "),
                TYPED: _said(said.get(TYPED, {}).get("text", ""), " "),
                "annotation": str(one.get("unique_id") or ""),
                "at": str(one.get("updated_at") or one.get("created_at") or ""),
            }


def fields_said(tasks: Sequence[Mapping[str, Any]]) -> set[str]:
    """The names of the fields that annotations fill in."""
    given = [one for task in tasks for one in task["annotations"] if isinstance(one, dict)]
    return {name for one in given for name in _fields(one)}


def _fields(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """What an annotation says, by the fields of the template."""
    result = annotation.get("result")
    listed = [one for one in result if isinstance(one, dict)] if isinstance(result, list) else []
    named = [one for one in reversed(listed) if isinstance(one.get("value"), dict)]  # of several the first
    return {str(one.get("from_name", NO_NAME)): one["value"] for one in named}


def _said(found: Any, between: str) -> str:
    """Several things, or another shape, as they are written."""
    return between.join(map(str, found)) if isinstance(found, list) else str(found)
