"""Annotated events, each a verb with its semantic roles: VidSitu's, or those of csv files of one's own."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.filters import Row, grouped
from reprise.construction.sheets import VIDEO, Videos, has_control, read_sheet, shown
from reprise.core.errors import UserError
from reprise.core.tabular import refuse_other_encoding

EVENTS = ("Ev1", "Ev2", "Ev3", "Ev4", "Ev5")
EVENT_S = 2.0
AGENT, MANNER = "Arg0", "ArgM (manner)"
# As the prompts of Figs. 10 to 12 call what VidSitu abbreviates.
SCENE = "Scene of the Event"
ABBREVIATED = re.compile(r"A(?P<short>Dir|Mnr|Loc|Prp|Gol|Tmp|Cau|Ext|Adv)\b\s*(?:\((?P<words>[^)]*)\))?")
IN_FULL = {
    "Dir": "direction", "Mnr": "manner", "Loc": "location", "Prp": "purpose", "Gol": "goal", "Tmp": "temporal",
    "Cau": "cause", "Ext": "extent", "Adv": "adverbial",
}  # fmt: skip
NEEDED = ("video", "start", "end", "verb", "arg0")
ROLES = {
    "arg0": AGENT, "arg1": "Arg1", "arg2": "Arg2", "arg3": "Arg3", "arg4": "Arg4", "direction": "ArgM (direction)",
    "location": "ArgM (location)", "manner": MANNER, "purpose": "ArgM (purpose)", "goal": "ArgM (goal)", "scene": SCENE,
}  # fmt: skip
"""column of a csv file -> role, as the prompts call it"""
OPTIONAL = tuple(name for name in ROLES if name not in NEEDED)
# Words for anybody: such an agent may be any other one.
ANYBODY = frozenset(
    {"person", "people", "someone", "somebody", "they", "he", "she", "it", "them", "him", "her", "others"}
)
NUMBERED = re.compile(r"Arg\d")
SMALL = frozenset({"a", "an", "the", "in", "on", "with", "of", "and", "wearing", "who", "is", "his", "her", "their"})


class Event(NamedTuple):
    video: str
    annotation: int
    event: str
    verb: str
    verb_id: str
    roles: dict[str, str]  # role, as the prompts call it -> text
    start_s: float
    end_s: float

    @property
    def agent(self) -> str:
        """The text of Arg0; empty where it has none."""
        return next((text for role, text in self.roles.items() if role.split()[0] == AGENT), "")

    @property
    def action(self) -> str:
        """What makes two events the same action: the verb, whatever its sense."""
        return (self.verb_id.split(".")[0] or self.verb.split(" (")[0]).strip().lower()

    def done_by(self, agent: str) -> "Event":
        roles = {role: agent if role.split()[0] == AGENT else text for role, text in self.roles.items()}
        return self._replace(roles=roles)


def annotated(files: Mapping[str, Path], split: str) -> tuple[list[str], list[Event]]:
    """The videos of a split, in its order, and all events; the videos of csv files are all used."""
    if files and all(path.suffix == ".csv" for path in files.values()):
        events = _own_events(files.values())
        return list(dict.fromkeys(event.video for event in events)), events
    path, videos = _content(files, f"vseg_split_{split}_lb.json")
    if not isinstance(videos, list) or not all(isinstance(name, str) for name in videos):
        raise UserError(f"{path}: expected a list of video ids, such as `v_<YouTube id>_seg_<start>_<end>`.")
    path, annotations = _content(files, f"vsann_{split}_lb.json")
    if not isinstance(annotations, list):
        raise UserError(f"{path}: expected a list of annotations, each with {', '.join(EVENTS)}.")
    return list(dict.fromkeys(videos)), list(_events(path, annotations))


def _own_events(paths: Iterable[Path]) -> list[Event]:
    """In each video they are named in the order in which they begin; one that stands there twice has one name."""
    rows: list[Row] = []
    videos = Videos()
    for row in (row for path in paths for row in read_sheet(path, NEEDED, OPTIONAL)):
        start, end = row.span("start", "end")
        roles = {role: row.cells[column] for column, role in ROLES.items() if row.cells.get(column)}
        event = {"verb": row.cells["verb"], "roles": roles, "start_s": start, "end_s": end}
        rows.append({"video": videos.name(row, "video"), "annotation": 0, "verb_id": "", **event})
    found = []
    for own in grouped(rows, itemgetter("video")).values():
        different: list[Row] = []
        for one in sorted(own, key=lambda one: one["start_s"]):
            if one not in different:
                different.append(one)
            found.append(Event(event=f"Ev{different.index(one) + 1}", **one))
    return found


def _events(path: Path, annotations: list[Any]) -> Iterator[Event]:
    """VidSitu's; a broken entry is an error that names it."""
    seen: dict[str, int] = {}
    for number, entry in enumerate(annotations, start=1):
        where = f"{path}: annotation {number}"
        if not isinstance(entry, dict) or not any(isinstance(entry.get(name), dict) for name in EVENTS):
            raise UserError(f"{where}: expected an object with {', '.join(EVENTS)}. Correct the entry or remove it.")
        events = {name: entry[name] for name in EVENTS if isinstance(entry.get(name), dict)}
        videos = {str(event.get("vid_seg_int", "")) for event in events.values()}
        video = videos.pop()
        if videos or not video:
            found = ", ".join(sorted({video, *videos}))
            raise UserError(f"{where}: its events must be of one video (vid_seg_int), found '{found}'. Correct them.")
        if not VIDEO.fullmatch(video):
            raise UserError(
                f"{where}: 'vid_seg_int' is '{shown(video)}', expected an id such as v_<YouTube id>_seg_<start>_<end>. "
                "Correct the entry or remove it."
            )
        annotation = seen[video] = seen.get(video, -1) + 1
        for name, event in events.items():
            start_s = EVENT_S * EVENTS.index(name)
            yield Event(video, annotation, name, *_said(event, f"{where}: {name}"), start_s, start_s + EVENT_S)


def _said(event: Mapping[str, Any], where: str) -> tuple[str, str, dict[str, str]]:
    roles = event.get("Args", {})
    if not isinstance(roles, dict):
        raise UserError(f"{where}: 'Args' should be an object of roles and texts. Correct the entry.")
    texts = {}
    for role, said in roles.items():
        name, text = _text(role, f"{where}: a role"), _text(said, f"{where}: '{shown(role)}'")
        if found := ABBREVIATED.match(name):  # as the prompts call it: `AMnr (manner)` becomes `ArgM (manner)`
            name = f"ArgM ({found['words'] or IN_FULL[found['short']]})"
        if text:
            texts[SCENE if name.startswith("AScn") else name] = text
    verb, verb_id = (_text(event.get(key), f"{where}: '{key}'") for key in ("Verb", "VerbID"))
    return verb, verb_id, texts


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UserError(f"{where} should be a text, found {type(value).__name__}. Correct the entry or remove it.")
    text = " ".join(value.split())
    if has_control(text):
        raise UserError(f"{where} holds control characters: '{shown(text)}'. Correct the entry or remove it.")
    return text


def _content(files: Mapping[str, Path], name: str) -> tuple[Path, Any]:
    """The one file of a name, and its JSON."""
    found = [path for path in files.values() if path.name == name]
    if len(found) != 1:
        there = ", ".join(sorted(files)) or "nothing"
        raise UserError(
            f"annotations of VidSitu: expected one file '{name}', found {len(found)} among {there}. "
            "Correct `split:`, `files:` or `annotations:` of `construction:` in the suite."
        )
    try:
        return found[0], json.loads(found[0].read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        refuse_other_encoding(found[0])
        raise UserError(f"{found[0]}: not valid JSON ({error}). Correct the file, or fetch it again.") from error


def plain_name(text: str) -> str:
    """A name without article and capitals: VidSitu marks the same entity by the same words."""
    return re.sub(r"^(?:the|a|an)\s+", "", " ".join(text.lower().split()))


def words(name: str) -> frozenset[str]:
    """The words of a name that say who it is."""
    return frozenset(plain_name(name).replace(",", " ").split()) - SMALL


def may_be(one: str, other: str) -> bool:
    """Whether two names can be of the same: one says no more than the other ("man" and "man in a shirt")."""
    first, second = words(one), words(other)
    return first <= second or second <= first or not ANYBODY.isdisjoint((plain_name(one), plain_name(other)))


class World:
    """What all annotations say is true of each video, so that no negative caption is true."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            self.events[event.video].append(event)

    def starts(self, video: str, agent: str, action: str) -> list[float]:
        """When somebody who may be the agent does this in the video, by any annotation."""
        found = [one for one in self.events[video] if one.agent and one.action == action and may_be(one.agent, agent)]
        return [event.start_s for event in found]
