"""Annotated events, each a verb with its semantic roles: VidSitu's, or those of csv files of one's own."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError
from reprise.benchmarks.rows import grouped
from reprise.core.errors import UserError
from reprise.core.settings import dotted
from reprise.core.tabular import refuse_other_encoding

from construction.filters import Row
from construction.sheets import VIDEO, has_control, read_sheet, shown

T = TypeVar("T")
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


def _on_one_line(text: str) -> str:
    if has_control(text):
        raise ValueError("it holds control characters")
    return " ".join(text.split())


Text = Annotated[str, AfterValidator(_on_one_line)]


class VidsituEvent(BaseModel):
    video: Annotated[str, Field(alias="vid_seg_int", pattern=f"^{VIDEO.pattern}$")]
    verb: Text | None = Field(None, alias="Verb")
    verb_id: Text | None = Field(None, alias="VerbID")
    roles: dict[Text, Text | None] = Field({}, alias="Args")


class VidsituAnnotation(BaseModel):
    """One of the annotations of a video: an event each two seconds."""

    Ev1: VidsituEvent | None = None
    Ev2: VidsituEvent | None = None
    Ev3: VidsituEvent | None = None
    Ev4: VidsituEvent | None = None
    Ev5: VidsituEvent | None = None


VIDEOS, ANNOTATIONS = TypeAdapter(list[str]), TypeAdapter(list[VidsituAnnotation])


def annotated(files: Mapping[str, Path], split: str) -> tuple[list[str], list[Event]]:
    """The videos of a split, in its order, and all events; the videos of csv files are all used."""
    if files and all(path.suffix == ".csv" for path in files.values()):
        events = _own_events(files.values())
        return list(dict.fromkeys(event.video for event in events)), events
    videos = _content(files, f"vseg_split_{split}_lb.json", VIDEOS)
    return list(dict.fromkeys(videos)), list(_events(_content(files, f"vsann_{split}_lb.json", ANNOTATIONS)))


def _own_events(paths: Iterable[Path]) -> list[Event]:
    """In each video they are named in the order in which they begin; one that stands there twice has one name."""
    rows: list[Row] = []
    for row in (row for path in paths for row in read_sheet(path, NEEDED, OPTIONAL)):
        start, end = row.span("start", "end")
        roles = {role: row.cells[column] for column, role in ROLES.items() if row.cells.get(column)}
        event = {"verb": row.cells["verb"], "roles": roles, "start_s": start, "end_s": end}
        rows.append({"video": row.video("video"), "annotation": 0, "verb_id": "", **event})
    found = []
    for own in grouped(rows, itemgetter("video")).values():
        different: list[Row] = []
        for one in sorted(own, key=lambda one: one["start_s"]):
            if one not in different:
                different.append(one)
            found.append(Event(event=f"Ev{different.index(one) + 1}", **one))
    return found


def _events(annotations: list[VidsituAnnotation]) -> Iterator[Event]:
    """VidSitu's; those of one annotation are of one video."""
    seen: Counter[str] = Counter()
    for place, one in enumerate(annotations, start=1):
        events: dict[str, VidsituEvent] = {name: event for name, event in one if event}
        videos = sorted({event.video for event in events.values()})
        if len(videos) != 1:
            raise UserError(
                f"annotations of VidSitu: annotation {place}: its events must be of one video (vid_seg_int), found "
                f"{len(videos)}: '{', '.join(videos)}'. Correct the entry or remove it."
            )
        for name, event in events.items():
            start_s, roles = EVENT_S * (int(name[-1]) - 1), {}
            for role, text in event.roles.items():  # as the prompts call them: `AMnr (manner)` becomes `ArgM (manner)`
                called = SCENE if role.startswith("AScn") else role
                if found := ABBREVIATED.match(role):
                    called = f"ArgM ({found['words'] or IN_FULL[found['short']]})"
                if text:
                    roles[called] = text
            known = (event.verb or "", event.verb_id or "", roles)
            yield Event(videos[0], seen[videos[0]], name, *known, start_s, start_s + EVENT_S)
        seen[videos[0]] += 1


def _content(files: Mapping[str, Path], name: str, shape: TypeAdapter[T]) -> T:
    """The content of the one file of a name; the first thing that is wrong with it is an error that names it."""
    found = [path for path in files.values() if path.name == name]
    if len(found) != 1:
        there = ", ".join(sorted(files)) or "nothing"
        raise UserError(
            f"annotations of VidSitu: expected one file '{name}', found {len(found)} among {there}. "
            "Correct `split:`, `files:` or `annotations:` of `construction:` in the suite."
        )
    try:
        return shape.validate_json(found[0].read_bytes())
    except ValidationError as error:
        refuse_other_encoding(found[0])
        first = error.errors()[0]
        number, place = (*first["loc"][:1], 0)[0], dotted(first["loc"][1:])
        raise UserError(
            f"{found[0]}: entry {int(number) + 1}: {place}: {first['msg']}, found '{shown(str(first['input']))}'. "
            "Correct the entry, remove it, or fetch the file again."
        ) from error


def plain_name(text: str) -> str:
    """A name without article and capitals: VidSitu marks the same entity by the same words."""
    return re.sub(r"^(?:the|a|an)\s+", "", " ".join(text.lower().split()))


def words(name: str) -> frozenset[str]:
    return frozenset(plain_name(name).replace(",", " ").split()) - SMALL


def may_be(one: str, other: str) -> bool:
    """Whether two names can be of the same: one says no more than the other ("man" and "man in a shirt")."""
    first, second = words(one), words(other)
    return first <= second or second <= first or not ANYBODY.isdisjoint((plain_name(one), plain_name(other)))


World = Mapping[str, Sequence[Event]]
"""video -> what all annotations say is true of it, so that no negative caption is true"""


def starts(world: World, video: str, agent: str, action: str) -> list[float]:
    """When somebody who may be the agent does this in the video, by any annotation."""
    found = [one for one in world[video] if one.agent and one.action == action and may_be(one.agent, agent)]
    return [event.start_s for event in found]
