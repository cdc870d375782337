"""Annotated events, each a verb with its semantic roles, from VidSitu or from custom csv files."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError
from reprise.benchmarks.annotations import group_by_key
from reprise.core.errors import UserError
from reprise.core.settings import format_location
from reprise.core.tabular import reject_other_encoding

from construction.filters import Row
from construction.sheets import VIDEO, excerpt, has_control, read_sheet

T = TypeVar("T")
EVENT_S = 2.0
AGENT, MANNER = "Arg0", "ArgM (manner)"
# The prompts of Figs. 10 to 12 spell out the roles that VidSitu abbreviates.
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
"""Column of a csv file -> role, in the words of the prompts."""
OPTIONAL = tuple(name for name in ROLES if name not in NEEDED)
# These words can refer to anybody, so such an agent may be any other agent.
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
    roles: dict[str, str]  # role in the words of the prompts -> text
    start_s: float
    end_s: float

    @property
    def agent(self) -> str:
        """Return the text of Arg0, or an empty text."""
        return next((text for role, text in self.roles.items() if role.split()[0] == AGENT), "")

    @property
    def action(self) -> str:
        """Return the verb without its sense; equal verbs are the same action."""
        return (self.verb_id.split(".")[0] or self.verb.split(" (")[0]).strip().lower()

    def with_agent(self, agent: str) -> "Event":
        roles = {role: agent if role.split()[0] == AGENT else text for role, text in self.roles.items()}
        return self._replace(roles=roles)


def _on_one_line(text: str) -> str:
    if has_control(text):
        raise ValueError("contains control characters")
    return " ".join(text.split())


Text = Annotated[str, AfterValidator(_on_one_line)]


class VidsituEvent(BaseModel):
    video: Annotated[str, Field(alias="vid_seg_int", pattern=f"^{VIDEO.pattern}$")]
    verb: Text | None = Field(None, alias="Verb")
    verb_id: Text | None = Field(None, alias="VerbID")
    roles: dict[Text, Text | None] = Field({}, alias="Args")


class VidsituAnnotation(BaseModel):
    """One annotation of a video: an event every two seconds."""

    Ev1: VidsituEvent | None = None
    Ev2: VidsituEvent | None = None
    Ev3: VidsituEvent | None = None
    Ev4: VidsituEvent | None = None
    Ev5: VidsituEvent | None = None


VIDEOS, ANNOTATIONS = TypeAdapter(list[str]), TypeAdapter(list[VidsituAnnotation])


def read_events(files: Mapping[str, Path], split: str) -> tuple[list[str], list[Event]]:
    """Return the videos of a split in its order, and all events. With csv files, return all their videos."""
    if files and all(path.suffix == ".csv" for path in files.values()):
        events = _csv_events(files.values())
        return list(dict.fromkeys(event.video for event in events)), events
    videos = _content(files, f"vseg_split_{split}_lb.json", VIDEOS)
    return list(dict.fromkeys(videos)), list(_events(_content(files, f"vsann_{split}_lb.json", ANNOTATIONS)))


def _csv_events(paths: Iterable[Path]) -> list[Event]:
    """Read the events of csv files and number them by start within each video; equal events share a name."""
    rows: list[Row] = []
    for row in (row for path in paths for row in read_sheet(path, NEEDED, OPTIONAL)):
        start, end = row.span("start", "end")
        roles = {role: row.cells[column] for column, role in ROLES.items() if row.cells.get(column)}
        fields = {"verb": row.cells["verb"], "roles": roles, "start_s": start, "end_s": end}
        rows.append({"video": row.video("video"), "annotation": 0, "verb_id": "", **fields})
    events = []
    for video_rows in group_by_key(rows, itemgetter("video")).values():
        different: list[Row] = []
        for event in sorted(video_rows, key=lambda event: event["start_s"]):
            if event not in different:
                different.append(event)
            events.append(Event(event=f"Ev{different.index(event) + 1}", **event))
    return events


def _events(annotations: list[VidsituAnnotation]) -> Iterator[Event]:
    """Yield VidSitu's events, and check that each annotation is about one video."""
    seen: Counter[str] = Counter()
    for number, annotation in enumerate(annotations, start=1):
        events: dict[str, VidsituEvent] = {name: event for name, event in annotation if event}
        videos = sorted({event.video for event in events.values()})
        if len(videos) != 1:
            raise UserError(
                f"annotations of VidSitu: annotation {number}: all events must have the same video (vid_seg_int), "
                f"found {len(videos)}: '{', '.join(videos)}'. Correct the entry or remove it."
            )
        for name, event in events.items():
            start_s, roles = EVENT_S * (int(name[-1]) - 1), {}
            for role, text in event.roles.items():  # In the prompts, `AMnr (manner)` is `ArgM (manner)`.
                role_name = SCENE if role.startswith("AScn") else role
                if match := ABBREVIATED.match(role):
                    role_name = f"ArgM ({match['words'] or IN_FULL[match['short']]})"
                if text:
                    roles[role_name] = text
            fields = (event.verb or "", event.verb_id or "", roles)
            yield Event(videos[0], seen[videos[0]], name, *fields, start_s, start_s + EVENT_S)
        seen[videos[0]] += 1


def _content(files: Mapping[str, Path], name: str, adapter: TypeAdapter[T]) -> T:
    """Return the validated content of the one file with this name; report its first invalid entry as an error."""
    matches = [path for path in files.values() if path.name == name]
    if len(matches) != 1:
        names = ", ".join(sorted(files)) or "nothing"
        raise UserError(
            f"annotations of VidSitu: expected one file '{name}', found {len(matches)} among {names}. "
            "Correct `split:`, `files:` or `annotations:` of `construction:` in the suite."
        )
    try:
        return adapter.validate_json(matches[0].read_bytes())
    except ValidationError as error:
        reject_other_encoding(matches[0])
        first = error.errors()[0]
        entry, field = (*first["loc"][:1], 0)[0], format_location(first["loc"][1:])
        raise UserError(
            f"{matches[0]}: entry {int(entry) + 1}: {field}: {first['msg']}, found '{excerpt(str(first['input']))}'. "
            "Correct the entry, remove it, or fetch the file again."
        ) from error


def plain_name(text: str) -> str:
    """Return a name without article and capitals, because VidSitu repeats the words for the same entity."""
    return re.sub(r"^(?:the|a|an)\s+", "", " ".join(text.lower().split()))


def words(name: str) -> frozenset[str]:
    return frozenset(plain_name(name).replace(",", " ").split()) - SMALL


def may_be_same(first: str, second: str) -> bool:
    """Return whether two names may mean the same: one has no extra words ("man" and "man in a shirt")."""
    left, right = words(first), words(second)
    return left <= right or right <= left or not ANYBODY.isdisjoint((plain_name(first), plain_name(second)))


EventsByVideo = Mapping[str, Sequence[Event]]
"""The events of each video in all its annotations; no negative caption may be true by any of them."""


def start_times(events_by_video: EventsByVideo, video: str, agent: str, action: str) -> list[float]:
    """Return when a possible match of the agent does this in the video, by any annotation."""
    matches = [
        event
        for event in events_by_video[video]
        if event.agent and event.action == action and may_be_same(event.agent, agent)
    ]
    return [event.start_s for event in matches]
