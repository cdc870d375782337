"""Events in a csv file of one's own, a row an event, in place of VidSitu's annotations."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reprise.construction.sheets import Row, Videos, read_sheet
from reprise.construction.velociti.vidsitu import AGENT, MANNER, SCENE, Event

NEEDED = ("video", "start", "end", "verb", "arg0")
ROLES = {
    "arg0": AGENT,
    "arg1": "Arg1",
    "arg2": "Arg2",
    "arg3": "Arg3",
    "arg4": "Arg4",
    "direction": "ArgM (direction)",
    "location": "ArgM (location)",
    "manner": MANNER,
    "purpose": "ArgM (purpose)",
    "goal": "ArgM (goal)",
    "scene": SCENE,
}
"""column -> role, as the prompts call it"""
OPTIONAL = tuple(name for name in ROLES if name not in NEEDED)


def read_sheets(paths: Iterable[Path]) -> list[Event]:
    """The events of all files; in each video they are named in the order in which they begin."""
    by_video: dict[str, list[dict[str, Any]]] = defaultdict(list)
    videos = Videos()
    for row in (row for path in paths for row in read_sheet(path, NEEDED, OPTIONAL)):
        by_video[videos.name(row, "video")].append(_event(row))
    return [event for video, found in by_video.items() for event in _named(video, found)]


def _named(video: str, found: list[dict[str, Any]]) -> Iterator[Event]:
    """The events of a video; one that stands there twice has one name, so that it is known as a duplicate."""
    different: list[dict[str, Any]] = []
    for one in sorted(found, key=lambda one: one["start_s"]):
        if one not in different:
            different.append(one)
        yield Event(video=video, annotation=0, event=f"Ev{different.index(one) + 1}", verb_id="", **one)


def _event(row: Row) -> dict[str, Any]:
    start, end = row.span("start", "end")
    roles = {role: row.cells[column] for column, role in ROLES.items() if row.cells.get(column)}
    return {"verb": row.cells["verb"], "roles": roles, "start_s": start, "end_s": end}
