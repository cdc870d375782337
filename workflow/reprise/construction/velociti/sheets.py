"""Events in a csv file of one's own, a row an event, in place of VidSitu's annotations."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reprise.construction.sheets import Row, read_sheet
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
    for row in (row for path in paths for row in read_sheet(path, NEEDED, OPTIONAL)):
        by_video[row.video("video")].append(_event(row))
    return [
        Event(video=video, annotation=0, event=f"Ev{place}", verb_id="", **one)
        for video, found in by_video.items()
        for place, one in enumerate(sorted(found, key=lambda one: one["start_s"]), start=1)
    ]


def _event(row: Row) -> dict[str, Any]:
    start, end = row.span("start", "end")
    roles = {role: row.cells[column] for column, role in ROLES.items() if row.cells.get(column)}
    return {"verb": row.cells["verb"], "roles": roles, "start_s": start, "end_s": end}
