"""VELOCITI's candidates: events that can be described, and what each test would set against them (section 3.2)."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.construction.draws import first_of_each, rank, shuffled
from reprise.construction.filters import Filter, Row, kept, sifted
from reprise.construction.settings import VelocitiSettings
from reprise.construction.steps import Candidates
from reprise.construction.velociti.dictionaries import Dictionary, Texts, manner_of, with_agent, with_deed
from reprise.construction.velociti.sheets import read_sheets
from reprise.construction.velociti.vidsitu import Event, read_events, read_split
from reprise.construction.velociti.world import World, may_be

APART_S = 2.0
"""between the end of one event and the start of another"""
EVENT_FILTERS = (
    "other_split",
    "other_video",
    "other_annotation",
    "no_verb",
    "no_agent",
    "too_long",
    "verb_left_out",
    "duplicate",
)
LONGEST_TEXT = 300
"""characters of a verb or a role; the longest of VidSitu are far shorter"""
CANDIDATE_FILTERS = ("may_be_true", "enough_of_video")


@dataclass
class Draft:
    """A sample before its captions are written; what is wrong with it, where something is."""

    test: str
    events: tuple[Event, ...]
    positive: list[Dictionary]
    negative: list[Dictionary]
    label: str
    why: str = ""
    names: list[str] = field(default_factory=list)

    def row(self, texts: Texts) -> Row:
        positive, negative = ([texts.name(one) for one in side] for side in (self.positive, self.negative))
        name = rank(0, *positive, "against", *negative)[:10]
        events = "-".join(re.findall(r"Ev\d+", self.label))
        return {
            "sample_id": f"{self.test}/{self.events[0].video}/{events}/{name}",
            "test": self.test,
            "video": self.events[0].video,
            "event": self.label,
            "positive": positive,
            "negative": negative,
            "filter": "may_be_true" if self.why else "",
            "why": self.why,
        }


def candidates(files: Mapping[str, Path], settings: VelocitiSettings) -> Candidates:
    """Events, texts to be written and candidates, each dropped one with its reason."""
    split, events = _annotated(files, settings.split)
    known = [video for video in split if any(event.video == video for event in events)]
    chosen = set(shuffled(known, settings.seed)[: settings.videos])
    rows = sifted(map(_row, events), _event_filters(set(split), chosen, settings))
    usable = [event for event, row in zip(events, rows, strict=True) if not row["filter"]]
    once = [event for event, row in zip(events, rows, strict=True) if row["filter"] != "duplicate"]
    world, texts = World(once), Texts()
    drafts = [draft for make in MAKERS for draft in make(usable, world, settings.seed)]
    found = {row["sample_id"]: row for row in (draft.row(texts) for draft in drafts)}  # the same twice is one
    return Candidates(rows, texts.rows(), _enough(list(found.values()), settings))


def _annotated(files: Mapping[str, Path], split: str) -> tuple[list[str], list[Event]]:
    """The videos of a split and all events: VidSitu's, or those of csv files, whose videos are all used."""
    if files and all(path.suffix == ".csv" for path in files.values()):
        rows = read_sheets(files.values())
        return list(dict.fromkeys(event.video for event in rows)), rows
    return read_split(files, split), list(read_events(files, split))


def _row(event: Event) -> Row:
    roles = [{"name": role, "text": text} for role, text in event.roles.items()]
    return {**event._asdict(), "agent": event.agent, "roles": roles}


def _event_filters(split: set[str], chosen: set[str], settings: VelocitiSettings) -> list[Filter]:
    left_out = {verb.lower() for verb in settings.verbs_left_out}
    seen: set[tuple[object, ...]] = set()

    def duplicate(row: Mapping[str, Any]) -> str:
        roles = ((role["name"], role["text"]) for role in row["roles"])
        name = (row["video"], row["annotation"], row["event"], row["start_s"], row["end_s"], row["verb"], *roles)
        is_known = name in seen
        seen.add(name)
        return "the same event stands above" if is_known else ""

    found: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "other_split": lambda row: "" if row["video"] in split else f"not in split '{settings.split}'",
        "other_video": lambda row: "" if row["video"] in chosen else "not among the videos that were drawn",
        "other_annotation": lambda row: f"annotation {row['annotation']}" if row["annotation"] else "",
        "no_verb": lambda row: "" if row["verb"] else "the event has no verb",
        "no_agent": lambda row: "" if row["agent"] else "the event has no Arg0",
        "too_long": _too_long,
        "verb_left_out": lambda row: row["verb"] if row["verb"].split(" (")[0].lower() in left_out else "",
        "duplicate": duplicate,
    }
    return [Filter(name, found[name]) for name in EVENT_FILTERS]


def _too_long(row: Mapping[str, Any]) -> str:
    """A text that no writer should be paid to read."""
    texts = {"verb": row["verb"]} | {role["name"]: role["text"] for role in row["roles"]}
    found = next((name for name, text in texts.items() if len(text) > LONGEST_TEXT), "")
    return f"{found[:LONGEST_TEXT]}: {len(texts[found])} characters, more than {LONGEST_TEXT}" if found else ""


def _enough(rows: list[Row], settings: VelocitiSettings) -> list[Row]:
    """Drop what is more than the suite wants of a video."""
    usable = [row for row in rows if not row["filter"]]
    drawn = first_of_each(
        usable, lambda row: (row["test"], row["video"]), lambda row: row["sample_id"], settings.per_video, settings.seed
    )
    limit = Filter(
        "enough_of_video",
        lambda row: "" if row["sample_id"] in drawn else f"more than {settings.per_video} of this test and video",
    )
    return sifted(rows, [limit])


def texts_needed(texts: pl.DataFrame, candidates: pl.DataFrame) -> pl.DataFrame:
    """The texts of the candidates that are left."""
    used = kept(candidates).select(pl.concat_list("positive", "negative").explode().unique().alias("text_id"))
    return texts.join(used, on="text_id", how="semi", maintain_order="left")


# The tests, in the paper's order. A negative that may be true by any annotation of the video is dropped.


def control(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The false caption is a true one of another video; each is used once, so that captions alone say nothing."""
    order = sorted(events, key=lambda event: rank(seed, event.video, event.event))
    free = list(order)
    for event in order:
        place = next((i for i, one in enumerate(free) if _is_foreign(one, event.video, world)), None)
        why = "" if place is not None else "no caption of another video is left that is false of this one"
        other = event if place is None else free.pop(place)
        yield Draft(CONTROL, (event,), [Dictionary(event)], [Dictionary(other)], event.event, why)


def _is_foreign(event: Event, video: str, world: World) -> bool:
    return event.video != video and not world.does(video, event.agent, event.action)


def agent_random(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Arg0 replaced by an agent absent from the video, of whom nobody in it is a special case or a general one."""
    agents = sorted({event.agent for event in events})
    for event in events:
        names = world.names(event.video)
        absent = [agent for agent in agents if not any(may_be(agent, name) for name in names)]
        if absent:
            agent = min(absent, key=lambda name: rank(seed, event.video, event.event, name))
            yield Draft("agent_random", (event,), [Dictionary(event)], [with_agent(event, agent)], event.event)
        else:
            why = "every agent of the data may be in this video"
            yield Draft("agent_random", (event,), [Dictionary(event)], [], event.event, why)


def agent_bind(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Arg0 replaced by another agent of the same video."""
    for event, other in _pairs(events):
        if may_be(event.agent, other.agent):
            continue
        why = f"{other.agent}: may do this too" if world.does(event.video, other.agent, event.action) else ""
        why = why or _plays_both_parts(event, other.agent)
        yield Draft("agent_bind", (event,), [Dictionary(event)], [with_agent(event, other.agent)], event.event, why)


def _plays_both_parts(event: Event, agent: str) -> str:
    """Whether an agent would act on itself."""
    own = [text for role, text in event.roles.items() if not role.startswith("Arg0")]
    return f"{agent}: is in another role of the event" if any(may_be(agent, text) for text in own) else ""


def coref(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Two deeds of one agent, against a deed of that agent and one of another."""
    by_video = _by_video(events)
    for one, two in _pairs(events):
        if one.start_s >= two.start_s or one.who != two.who or one.action == two.action:
            continue
        others = [other for other in by_video[one.video] if not may_be(other.agent, one.agent)]
        others = sorted(others, key=lambda other: rank(seed, other.video, one.event, two.event, other.event))
        label = json.dumps([one.event, two.event, two.event], separators=(",", ":"))
        false = [other for other in others if not _may_corefer(one, other, world)]
        if false:
            yield Draft(
                "coref", (one, two), [Dictionary(one), Dictionary(two)], [Dictionary(one), Dictionary(false[0])], label
            )
        elif others:
            why = f"every deed of another may be one of {one.agent}"
            yield Draft("coref", (one, two), [Dictionary(one), Dictionary(two)], [], label, why)


def _may_corefer(one: Event, other: Event, world: World) -> bool:
    """Whether both deeds may be of the same: its agent does the other's too, or the other its."""
    return world.does(one.video, one.agent, other.action) or world.does(one.video, other.agent, one.action)


def action_adv(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The verb replaced by one that the writer thinks of; none of the video's may be meant."""
    for event in events:
        known = sorted(world.actions(event.video))
        negative = Dictionary(event, "action_adv", tuple(known), event)
        yield Draft("action_adv", (event,), [Dictionary(event)], [negative], event.event)


def action_manner(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The manner replaced by one that the writer thinks of."""
    for event in events:
        manner = manner_of(event)
        if manner:
            twice = len(world.starts(event.video, event.agent, event.action)) > _annotations(event, world)
            why = f"{event.agent} may do this twice, and once in the other manner" if twice else ""
            negative = Dictionary(event, "action_manner", (manner,), event)
            yield Draft("action_manner", (event,), [Dictionary(event)], [negative], event.event, why)


def _annotations(event: Event, world: World) -> int:
    """How many annotations describe this very event."""
    found = [one for one in world.of(event.video) if (one.event, one.action) == (event.event, event.action)]
    return len([one for one in found if may_be(one.agent or event.agent, event.agent)])


def action_bind(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The agent kept; verb and modifiers of another event of the video, with another verb and another agent."""
    for event, other in _pairs(events):
        if may_be(event.agent, other.agent) or event.action == other.action:
            continue
        why = f"{event.agent}: may do this too" if world.does(event.video, event.agent, other.action) else ""
        why = why or _plays_both_parts(other, event.agent)
        yield Draft("action_bind", (event,), [Dictionary(event)], [with_deed(event, other)], event.event, why)


def chrono(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Two events two seconds apart or more, in order and reversed."""
    for one, two in _pairs(events):
        if two.start_s - one.end_s < APART_S:
            continue
        before = world.starts(two.video, two.agent, two.action)
        after = world.starts(one.video, one.agent, one.action)
        why = "both orders may be true: an event happens twice" if min(before) < max(after) else ""
        label = json.dumps([one.event, two.event], separators=(",", ":"))
        both = [Dictionary(one), Dictionary(two)]
        yield Draft("chrono", (one, two), both, both[::-1], label, why)


def _by_video(events: Iterable[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.video, []).append(event)
    return found


def _pairs(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Any two different events of one video, in both orders."""
    for own in _by_video(events).values():
        yield from ((one, two) for one in own for two in own if one != two)


BY_TEST = {
    CONTROL: control, "agent_random": agent_random, "agent_bind": agent_bind, "coref": coref,
    "action_adv": action_adv, "action_manner": action_manner, "action_bind": action_bind, "chrono": chrono,
}  # fmt: skip
MAKERS = [BY_TEST[test] for test in (CONTROL, *TESTS)]
