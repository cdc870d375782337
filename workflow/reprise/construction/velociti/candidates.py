"""VELOCITI's candidates: events that can be described, and what each test would set against them (section 3.2)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from reprise.benchmarks.velociti.taxonomy import CONTROL
from reprise.construction.filters import Found, Row, Rows, beyond_draw, grouped, rank, repeated, shuffled, sifted
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.events import MANNER, NUMBERED, Event, World, annotated, may_be, plain_name

APART_S = 2.0  # between the end of one event and the start of another
EVENT_FILTERS = (
    "other_split", "other_video", "other_annotation", "no_verb", "no_agent", "too_long", "verb_left_out", "duplicate",
)  # fmt: skip
LONGEST_TEXT = 300  # characters of a verb or a role; the longest of VidSitu are far shorter
CANDIDATE_FILTERS = ("may_be_true", "enough_of_video")
CAPTION = "caption"


class Dictionary(NamedTuple):
    """What the writer is shown: an event's roles, or the same with an agent or a deed replaced."""

    event: Event
    original: Event | None = None  # the event that it makes a false caption of
    prompt: str = CAPTION
    known: tuple[str, ...] = ()  # what a replacement must differ from


class Draft(NamedTuple):
    """A sample before its captions are written; what is wrong with it, where something is."""

    events: tuple[Event, ...]
    positive: Sequence[Dictionary]
    negative: Sequence[Dictionary]
    why: str = ""


class Texts:
    """The texts to be written; the same dictionary is asked about once, whatever video it is of."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def name(self, one: Dictionary) -> str:
        """The id of the text of a dictionary, which stands as in Figs. 10 to 12."""
        entries = {"Verb": one.event.verb, **one.event.roles}
        text = "{" + ",\n".join(f"'{name}': '{entry}'" for name, entry in entries.items()) + "}"
        name = f"{one.prompt}/{rank(0, text, *one.known)[:16]}"
        instead_of = "" if one.original is None else self.name(Dictionary(one.original))
        replaced = "Verb" if one.prompt != "action_manner" else MANNER
        values = {"srl": text, "source": f"'{replaced}': '{entries[replaced]}'"}
        row = {
            "text_id": name, "kind": one.prompt, "video": one.event.video, "agent": one.event.agent,
            "values": [{"name": key, "text": value} for key, value in values.items()], "known": list(one.known),
            "instead_of": instead_of,
        }  # fmt: skip
        self.rows.setdefault(name, row)
        return name


def candidates(files: Mapping[str, Path], settings: VelocitiSettings) -> Rows:
    """Events, texts to be written and candidates, each dropped one with its reason."""
    split, events = annotated(files, settings.split)
    known = [video for video in split if any(event.video == video for event in events)]
    chosen = set(shuffled(known, settings.seed)[: settings.videos])
    pool = [
        {**event._asdict(), "agent": event.agent, "roles": [{"name": n, "text": t} for n, t in event.roles.items()]}
        for event in events
    ]
    pool = sifted(pool, _event_filters(set(split), chosen, settings))
    usable = [event for event, row in zip(events, pool, strict=True) if not row["filter"]]
    once = [event for event, row in zip(events, pool, strict=True) if row["filter"] != "duplicate"]
    world, texts = World(once), Texts()
    found: dict[str, Row] = {}  # the same twice is one
    for test, drafts in BY_TEST.items():
        for draft in drafts(usable, world, settings.seed):
            # A coreference names its second event twice, as the authors' rows do.
            names = [one.event for one in draft.events] + [draft.events[-1].event] * (test == "coref")
            positive, negative = ([texts.name(one) for one in side] for side in (draft.positive, draft.negative))
            video, digest = draft.events[0].video, rank(0, *positive, "against", *negative)[:10]
            name = f"{test}/{video}/{'-'.join(names)}/{digest}"
            found[name] = {
                "sample_id": name,
                "test": test,
                "video": video,
                "event": names[0] if len(names) == 1 else json.dumps(names, separators=(",", ":")),
                "positive": positive,
                "negative": negative,
                "filter": "may_be_true" if draft.why else "",
                "why": draft.why,
            }
    rows = list(found.values())
    of = "of this test and video"
    limit = beyond_draw(rows, ("test", "video"), "sample_id", settings.per_video, settings.seed, of)
    limited = sifted(rows, {"enough_of_video": limit})
    return {"pool": pool, "texts": list(texts.rows.values()), "candidates": limited}


def _event_filters(split: set[str], chosen: set[str], settings: VelocitiSettings) -> Mapping[str, Found]:
    left_out = {verb.lower() for verb in settings.verbs_left_out}

    def too_long(row: Mapping[str, Any]) -> str:  # no writer should be paid to read it
        texts = {"verb": row["verb"]} | {role["name"]: role["text"] for role in row["roles"]}
        found = next((name for name, text in texts.items() if len(text) > LONGEST_TEXT), "")
        return f"{found[:LONGEST_TEXT]}: {len(texts[found])} characters, more than {LONGEST_TEXT}" if found else ""

    def all_of_it(row: Mapping[str, Any]) -> tuple[object, ...]:
        roles = ((role["name"], role["text"]) for role in row["roles"])
        return (row["video"], row["annotation"], row["event"], row["start_s"], row["end_s"], row["verb"], *roles)

    return {
        "other_split": lambda row: "" if row["video"] in split else f"not in split '{settings.split}'",
        "other_video": lambda row: "" if row["video"] in chosen else "not among the videos that were drawn",
        "other_annotation": lambda row: f"annotation {row['annotation']}" if row["annotation"] else "",
        "no_verb": lambda row: "" if row["verb"] else "the event has no verb",
        "no_agent": lambda row: "" if row["agent"] else "the event has no Arg0",
        "too_long": too_long,
        "verb_left_out": lambda row: row["verb"] if row["verb"].split(" (")[0].lower() in left_out else "",
        "duplicate": repeated(all_of_it, "the same event stands above"),
    }


# The tests, in the paper's order. A negative that may be true by any annotation of the video is dropped.


def control(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The false caption is a true one of another video; each is used once, so that captions alone say nothing."""
    order = sorted(events, key=lambda event: rank(seed, event.video, event.event))
    free = list(order)
    for event in order:
        fitting = (
            place
            for place, other in enumerate(free)
            if other.video != event.video and not world.starts(event.video, other.agent, other.action)
        )
        place = next(fitting, None)
        why = "" if place is not None else "no caption of another video is left that is false of this one"
        other = event if place is None else free.pop(place)
        yield Draft((event,), [Dictionary(event)], [Dictionary(other)], why)


def agent_random(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Arg0 replaced by an agent absent from the video, of whom nobody in it is a special case or a general one."""
    agents = sorted({event.agent for event in events})
    for event in events:
        named = [item for one in world.events[event.video] for item in one.roles.items()]
        names = [text for role, text in named if NUMBERED.match(role)]  # agents and what they act on
        absent = [agent for agent in agents if not any(may_be(agent, name) for name in names)]
        absent = sorted(absent, key=lambda name: rank(seed, event.video, event.event, name))[:1]
        negative = [Dictionary(event.done_by(agent), event) for agent in absent]
        why = "" if absent else "every agent of the data may be in this video"
        yield Draft((event,), [Dictionary(event)], negative, why)


def agent_bind(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Arg0 replaced by another agent of the same video."""
    for event, other in _pairs(events):
        if not may_be(event.agent, other.agent):
            negative = Dictionary(event.done_by(other.agent), event)
            yield Draft((event,), [Dictionary(event)], [negative], _may_do(other.agent, event, world))


def action_bind(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The agent kept; verb and modifiers of another event of the video, with another verb and another agent."""
    for event, other in _pairs(events):
        if not may_be(event.agent, other.agent) and event.action != other.action:
            negative = Dictionary(other.done_by(event.agent), event)
            yield Draft((event,), [Dictionary(event)], [negative], _may_do(event.agent, other, world))


def _may_do(agent: str, event: Event, world: World) -> str:
    """Why an agent cannot stand for that of an event: it does the same, or would act on itself."""
    if world.starts(event.video, agent, event.action):
        return f"{agent}: may do this too"
    own = [text for role, text in event.roles.items() if not role.startswith("Arg0")]
    return f"{agent}: is in another role of the event" if any(may_be(agent, text) for text in own) else ""


def coref(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Two deeds of one agent, against a deed of that agent and one of another."""
    by_video = grouped(events, attrgetter("video"))
    for one, two in _pairs(events):
        is_same = plain_name(one.agent) == plain_name(two.agent)
        if one.start_s >= two.start_s or not is_same or one.action == two.action:
            continue
        others = [other for other in by_video[one.video] if not may_be(other.agent, one.agent)]
        false = [
            other
            for other in others
            # Neither does what the other one does, by any annotation.
            if not world.starts(one.video, one.agent, other.action)
            and not world.starts(one.video, other.agent, one.action)
        ]
        false = sorted(false, key=lambda other: rank(seed, other.video, one.event, two.event, other.event))[:1]
        if others:
            why = "" if false else f"every deed of another may be one of {one.agent}"
            negative = [Dictionary(one), *map(Dictionary, false)] if false else []
            yield Draft((one, two), [Dictionary(one), Dictionary(two)], negative, why)


def action_adv(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The verb replaced by one that the writer thinks of; none of the video's may be meant."""
    for event in events:
        known = sorted({one.action for one in world.events[event.video]})
        yield Draft((event,), [Dictionary(event)], [Dictionary(event, event, "action_adv", tuple(known))])


def action_manner(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The manner replaced by one that the writer thinks of."""
    for event in events:
        if manner := event.roles.get(MANNER):
            of_it = [one for one in world.events[event.video] if (one.event, one.action) == (event.event, event.action)]
            annotations = [one for one in of_it if may_be(one.agent or event.agent, event.agent)]
            is_twice = len(world.starts(event.video, event.agent, event.action)) > len(annotations)
            why = f"{event.agent} may do this twice, and once in the other manner" if is_twice else ""
            negative = Dictionary(event, event, "action_manner", (manner,))
            yield Draft((event,), [Dictionary(event)], [negative], why)


def chrono(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Two events two seconds apart or more, in order and reversed."""
    for one, two in _pairs(events):
        if two.start_s - one.end_s >= APART_S:
            before = world.starts(two.video, two.agent, two.action)
            after = world.starts(one.video, one.agent, one.action)
            why = "both orders may be true: an event happens twice" if min(before) < max(after) else ""
            both = [Dictionary(one), Dictionary(two)]
            yield Draft((one, two), both, both[::-1], why)


def _pairs(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Any two events of one video, in both orders."""
    for own in grouped(events, attrgetter("video")).values():
        yield from permutations(own, 2)


BY_TEST: Mapping[str, Callable[[Sequence[Event], World, int], Iterator[Draft]]] = {
    CONTROL: control, "agent_random": agent_random, "agent_bind": agent_bind, "coref": coref,
    "action_adv": action_adv, "action_manner": action_manner, "action_bind": action_bind, "chrono": chrono,
}  # fmt: skip
