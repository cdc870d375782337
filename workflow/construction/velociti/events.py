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
from construction.sheets import CLIP_NAME, excerpt, has_control_characters, read_sheet

T = TypeVar("T")
EVENT_SECONDS = 2.0  # length of VidSitu's events
AGENT, MANNER = "Arg0", "ArgM (manner)"
# VidSitu abbreviates roles that the prompts of Figs. 10 to 12 spell out.
SCENE = "Scene of the Event"
ABBREVIATED_ROLE = re.compile(r"A(?P<short>Dir|Mnr|Loc|Prp|Gol|Tmp|Cau|Ext|Adv)\b\s*(?:\((?P<words>[^)]*)\))?")
ROLE_WORD_BY_ABBREVIATION = {
    "Dir": "direction", "Mnr": "manner", "Loc": "location", "Prp": "purpose", "Gol": "goal", "Tmp": "temporal",
    "Cau": "cause", "Ext": "extent", "Adv": "adverbial",
}  # fmt: skip
NEEDED_COLUMNS = ("video", "start", "end", "verb", "arg0")
ROLE_BY_COLUMN = {
    "arg0": AGENT, "arg1": "Arg1", "arg2": "Arg2", "arg3": "Arg3", "arg4": "Arg4", "direction": "ArgM (direction)",
    "location": "ArgM (location)", "manner": MANNER, "purpose": "ArgM (purpose)", "goal": "ArgM (goal)", "scene": SCENE,
}  # fmt: skip
"""Column of a csv file -> role, in the words of the prompts."""
OPTIONAL_COLUMNS = tuple(name for name in ROLE_BY_COLUMN if name not in NEEDED_COLUMNS)
# An agent with one of these names may be the same as any other agent.
GENERIC_AGENTS = frozenset(
    {"person", "people", "someone", "somebody", "they", "he", "she", "it", "them", "him", "her", "others"}
)
# Words that do not distinguish two agents.
STOP_WORDS = frozenset(
    {"a", "an", "the", "in", "on", "with", "of", "and", "wearing", "who", "is", "his", "her", "their"}
)


class Event(NamedTuple):
    """An annotated event of a video: a verb with its roles, such as the agent (Arg0)."""

    video: str
    annotation: int  # which of the video's annotations, from 0
    event: str  # name within the annotation, such as `Ev3`
    verb: str
    verb_id: str  # verb with its sense in VidSitu; empty in csv files
    roles: dict[str, str]  # role in the words of the prompts -> text
    start_s: float
    end_s: float

    @property
    def agent(self) -> str:
        """Return the text of Arg0, or an empty text."""
        # The role's name may have an addition, as in `Arg0 (agent)`.
        return next((text for role, text in self.roles.items() if role.split()[0] == AGENT), "")

    @property
    def action(self) -> str:
        """Return the verb without its sense; equal verbs are the same action."""
        return (self.verb_id.split(".")[0] or self.verb.split(" (")[0]).strip().lower()

    def with_agent(self, agent: str) -> "Event":
        """Return the event with another agent."""
        roles = {role: agent if role.split()[0] == AGENT else text for role, text in self.roles.items()}
        return self._replace(roles=roles)


def _to_one_line(text: str) -> str:
    if has_control_characters(text):
        raise ValueError("contains control characters")
    return " ".join(text.split())


Text = Annotated[str, AfterValidator(_to_one_line)]


class VidsituEvent(BaseModel):
    """One event in VidSitu's file of annotations."""

    video: Annotated[str, Field(alias="vid_seg_int", pattern=f"^{CLIP_NAME.pattern}$")]
    verb: Text | None = Field(None, alias="Verb")
    verb_id: Text | None = Field(None, alias="VerbID")
    roles: dict[Text, Text | None] = Field({}, alias="Args")


class VidsituAnnotation(BaseModel):
    """One annotation of a video, with an event every two seconds."""

    Ev1: VidsituEvent | None = None
    Ev2: VidsituEvent | None = None
    Ev3: VidsituEvent | None = None
    Ev4: VidsituEvent | None = None
    Ev5: VidsituEvent | None = None


VIDEOS, ANNOTATIONS = TypeAdapter(list[str]), TypeAdapter(list[VidsituAnnotation])


def read_events(files: Mapping[str, Path], split: str) -> tuple[list[str], list[Event]]:
    """Return the videos of a split in the order of its file, and all events.

    Csv files have no split, so all their videos are used.
    """
    if files and all(path.suffix == ".csv" for path in files.values()):
        events = _read_csv_events(files.values())
        return list(dict.fromkeys(event.video for event in events)), events
    videos = _read_file(files, f"vseg_split_{split}_lb.json", VIDEOS)
    return list(dict.fromkeys(videos)), list(_vidsitu_events(_read_file(files, f"vsann_{split}_lb.json", ANNOTATIONS)))


def _read_csv_events(paths: Iterable[Path]) -> list[Event]:
    """Read the events of csv files, and number them within each video by start time; equal events share a number."""
    rows: list[Row] = []
    for path in paths:
        for row in read_sheet(path, NEEDED_COLUMNS, OPTIONAL_COLUMNS):
            start, end = row.span("start", "end")
            roles = {role: row.cells[column] for column, role in ROLE_BY_COLUMN.items() if row.cells.get(column)}
            fields = {"verb": row.cells["verb"], "roles": roles, "start_s": start, "end_s": end}
            rows.append({"video": row.video("video"), "annotation": 0, "verb_id": "", **fields})
    events = []
    for video_rows in group_by_key(rows, itemgetter("video")).values():
        distinct_events: list[Row] = []
        for event in sorted(video_rows, key=lambda event: event["start_s"]):
            if event not in distinct_events:
                distinct_events.append(event)
            events.append(Event(event=f"Ev{distinct_events.index(event) + 1}", **event))
    return events


def _vidsitu_events(annotations: list[VidsituAnnotation]) -> Iterator[Event]:
    """Yield VidSitu's events, and check that each annotation is about one video."""
    annotation_counts: Counter[str] = Counter()
    for number, annotation in enumerate(annotations, start=1):
        events: dict[str, VidsituEvent] = {name: event for name, event in annotation if event}
        videos = sorted({event.video for event in events.values()})
        if len(videos) != 1:
            raise UserError(
                f"annotations of VidSitu: annotation {number}: all events must have the same video (vid_seg_int), "
                f"found {len(videos)}: '{', '.join(videos)}'. Correct the entry or remove it."
            )
        for name, event in events.items():
            start_s = EVENT_SECONDS * (int(name[-1]) - 1)  # `Ev1` starts at 0 s.
            roles = {}
            for role, text in event.roles.items():
                role_name = SCENE if role.startswith("AScn") else role
                # In the prompts, `AMnr (manner)` is `ArgM (manner)`.
                if match := ABBREVIATED_ROLE.match(role):
                    role_name = f"ArgM ({match['words'] or ROLE_WORD_BY_ABBREVIATION[match['short']]})"
                if text:
                    roles[role_name] = text
            fields = (event.verb or "", event.verb_id or "", roles)
            yield Event(videos[0], annotation_counts[videos[0]], name, *fields, start_s, start_s + EVENT_SECONDS)
        annotation_counts[videos[0]] += 1


def _read_file(files: Mapping[str, Path], name: str, adapter: TypeAdapter[T]) -> T:
    """Return the validated content of the only file with a name; raise an error that names its first invalid entry."""
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
        first_error = error.errors()[0]
        entry, *field_location = first_error["loc"] or (0,)  # An error about the whole file has no location.
        raise UserError(
            f"{matches[0]}: entry {int(entry) + 1}: {format_location(tuple(field_location))}: {first_error['msg']}, "
            f"found '{excerpt(str(first_error['input']))}'. Correct the entry, remove it, or fetch the file again."
        ) from error


def normalize_name(text: str) -> str:
    """Return a name in lower case without its article. In VidSitu, equal normalized names mean the same entity."""
    return re.sub(r"^(?:the|a|an)\s+", "", " ".join(text.lower().split()))


def name_words(name: str) -> frozenset[str]:
    """Return the words of a name that distinguish it from other names."""
    return frozenset(normalize_name(name).replace(",", " ").split()) - STOP_WORDS


def may_be_same(first: str, second: str) -> bool:
    """Return whether two names may mean the same entity: one contains the words of the other, or one is generic."""
    left, right = name_words(first), name_words(second)
    return (
        left <= right or right <= left or not GENERIC_AGENTS.isdisjoint((normalize_name(first), normalize_name(second)))
    )


EventsByVideo = Mapping[str, Sequence[Event]]
"""Video -> the events of all its annotations. No negative caption may be true by any of these annotations."""


def possible_start_times(events_by_video: EventsByVideo, video: str, agent: str, action: str) -> list[float]:
    """Return the start times of an action in a video by the agent, or by anyone who may be the agent.

    All annotations of the video count, so an event with several annotations occurs several times.
    """
    matches = [
        event
        for event in events_by_video[video]
        if event.agent and event.action == action and may_be_same(event.agent, agent)
    ]
    return [event.start_s for event in matches]
