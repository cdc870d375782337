"""Tasks and answers as Label Studio has them: what it imports, its template, and what it exports (`JSON`)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

LOCAL_FILES = "/data/local-files/?d="
"""how it names a file below its LOCAL_FILES_DOCUMENT_ROOT"""
VERDICT, TASK = "verdict", "task_id"
TYPED = "typed"
"""what people write themselves: the caption of a task that asks for one"""
NO_TEXT = ("reviewer", VERDICT)


def as_task(row: Mapping[str, Any], video: str, choices: Sequence[str]) -> dict[str, Any]:
    """A row of tasks with what its template shows: a video's address, and the choices."""
    shown = {name: value for name, value in row.items() if name not in NO_TEXT}
    return {
        **shown,
        "video_url": f"{LOCAL_FILES}{quote(video)}" if video else "",
        "options": [{"value": choice} for choice in choices],
    }


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
    return bool(content) and isinstance(content, list) and all(_is_task(one) for one in content)


def _is_task(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("data"), dict) and isinstance(one.get("annotations"), list)


def exported_rows(tasks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """A row an annotation; one that was skipped has no verdict. Its user's number says whose."""
    for task in tasks:
        for annotation in task["annotations"]:
            if isinstance(annotation, dict):
                yield {
                    "task_id": str(task["data"].get(TASK, "")),
                    "digest": str(task["data"].get("digest", "")),
                    "reviewer": _user(annotation.get("completed_by")),
                    VERDICT: "" if annotation.get("was_cancelled") else _said(annotation, VERDICT, "choices", ", "),
                    TYPED: "" if annotation.get("was_cancelled") else _said(annotation, TYPED, "text", " "),
                    "annotation": str(annotation.get("unique_id") or ""),
                    "at": str(annotation.get("updated_at") or annotation.get("created_at") or ""),
                }


def fields_said(tasks: Sequence[Mapping[str, Any]]) -> set[str]:
    """The names of the fields that annotations fill in."""
    given = [one for task in tasks for one in task["annotations"] if isinstance(one, dict)]
    results = [one.get("result") for one in given]
    return {
        str(one.get("from_name", "something without a name"))
        for result in results
        if isinstance(result, list)
        for one in result
        if isinstance(one, dict) and "value" in one
    }


def _user(found: Any) -> str:
    """The user's number, which stands alone or in a record."""
    number = found.get("id") if isinstance(found, dict) else found
    return "" if number is None else f"label-studio {number}"


def _said(annotation: Mapping[str, Any], name: str, kind: str, between: str) -> str:
    """What an annotation says in a field of the template; several things, or another shape, as they are written."""
    result = annotation.get("result")
    for one in result if isinstance(result, list) else []:
        if isinstance(one, dict) and one.get("from_name") == name and isinstance(one.get("value"), dict):
            found = one["value"].get(kind)
            return between.join(map(str, found)) if isinstance(found, list) else str(found)
    return ""
