"""VELOCITI's candidates (section 3.2), how their captions are written, and the samples that these make."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import rank, shuffled
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.rows import grouped
from reprise.benchmarks.velociti.taxonomy import CONTROL

from construction.filters import Found, Row, Rows, Tables, beyond_draw, kept, repeated, sifted
from construction.settings import VelocitiSettings
from construction.velociti.events import MANNER, Event, World, annotated, may_be, plain_name, starts, words
from construction.writing import Rounds, UnusableError, read_parts

SAME = ("video", "annotation", "event", "start_s", "end_s", "verb", "roles")
LONGEST_TEXT = 300  # characters of a verb or a role; the longest of VidSitu are far shorter
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
    negative: Sequence[Dictionary]
    why: str = ""


def to_write(one: Dictionary, texts: dict[str, Row]) -> str:
    """The id of the text of a dictionary, which is asked about once, whatever video it is of."""
    entries = {"Verb": one.event.verb, **one.event.roles}
    shown = "{" + ",\n".join(f"'{name}': '{entry}'" for name, entry in entries.items()) + "}"  # as in Figs. 10 to 12
    name = f"{one.prompt}/{rank(0, shown, *one.known)[:16]}"
    replaced = "Verb" if one.prompt != "action_manner" else MANNER
    values = {"srl": shown, "source": f"'{replaced}': '{entries[replaced]}'"}
    row = {
        "text_id": name, "kind": one.prompt, "video": one.event.video, "agent": one.event.agent,
        "values": [{"name": key, "text": value} for key, value in values.items()], "known": list(one.known),
        "instead_of": "" if one.original is None else to_write(Dictionary(one.original), texts),
    }  # fmt: skip
    texts.setdefault(name, row)
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
    world = grouped(once, attrgetter("video"))
    texts: dict[str, Row] = {}
    found: dict[str, Row] = {}  # the same twice is one
    for test, drafts in BY_TEST.items():
        for draft in drafts(usable, world, settings.seed):
            # A coreference names its second event twice, as the authors' rows do.
            names = [one.event for one in draft.events] + [draft.events[-1].event] * (test == "coref")
            positive = [to_write(Dictionary(one), texts) for one in draft.events]
            negative = [to_write(one, texts) for one in draft.negative]
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
    rows, of = list(found.values()), "of this test and video"
    limit = beyond_draw(rows, ("test", "video"), "sample_id", settings.per_video, settings.seed, of)
    return {"pool": pool, "texts": list(texts.values()), "candidates": sifted(rows, {"enough_of_video": limit})}


def _event_filters(split: set[str], chosen: set[str], settings: VelocitiSettings) -> Mapping[str, Found]:
    left_out = {verb.lower() for verb in settings.verbs_left_out}

    def too_long(row: Mapping[str, Any]) -> str:  # no writer should be paid to read it
        texts = {"verb": row["verb"]} | {role["name"]: role["text"] for role in row["roles"]}
        found = next((name for name, text in texts.items() if len(text) > LONGEST_TEXT), "")
        return f"{found[:LONGEST_TEXT]}: {len(texts[found])} characters, more than {LONGEST_TEXT}" if found else ""

    return {
        "other_split": lambda row: "" if row["video"] in split else f"not in split '{settings.split}'",
        "other_video": lambda row: "" if row["video"] in chosen else "not among the videos that were drawn",
        "other_annotation": lambda row: f"annotation {row['annotation']}" if row["annotation"] else "",
        "no_verb": lambda row: "" if row["verb"] else "the event has no verb",
        "no_agent": lambda row: "" if row["agent"] else "the event has no Arg0",
        "too_long": too_long,
        "verb_left_out": lambda row: row["verb"] if row["verb"].split(" (")[0].lower() in left_out else "",
        "duplicate": repeated(lambda row: str([row[name] for name in SAME]), "the same event stands above"),
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
            if other.video != event.video and not starts(world, event.video, other.agent, other.action)
        )
        place = next(fitting, None)
        why = "" if place is not None else "no caption of another video is left that is false of this one"
        other = event if place is None else free.pop(place)
        yield Draft((event,), [Dictionary(other)], why)


def agent_random(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Arg0 replaced by an agent absent from the video, of whom nobody in it is a special case or a general one."""
    agents = sorted({event.agent for event in events})
    for event in events:
        named = [item for one in world[event.video] for item in one.roles.items()]
        names = [text for role, text in named if re.match(r"Arg\d", role)]  # agents and what they act on
        absent = [agent for agent in agents if not any(may_be(agent, name) for name in names)]
        absent = sorted(absent, key=lambda name: rank(seed, event.video, event.event, name))[:1]
        negative = [Dictionary(event.done_by(agent), event) for agent in absent]
        why = "" if absent else "every agent of the data may be in this video"
        yield Draft((event,), negative, why)


def agent_bind(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Arg0 replaced by another agent of the same video."""
    for event, other in _pairs(events):
        if not may_be(event.agent, other.agent):
            negative = [Dictionary(event.done_by(other.agent), event)]
            yield Draft((event,), negative, _may_do(other.agent, event, world))


def action_bind(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The agent kept; verb and modifiers of another event of the video, with another verb and another agent."""
    for event, other in _pairs(events):
        if not may_be(event.agent, other.agent) and event.action != other.action:
            negative = Dictionary(other.done_by(event.agent), event)
            yield Draft((event,), [negative], _may_do(event.agent, other, world))


def _may_do(agent: str, event: Event, world: World) -> str:
    """Why an agent cannot stand for that of an event: it does the same, or would act on itself."""
    if starts(world, event.video, agent, event.action):
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
            if not starts(world, one.video, one.agent, other.action)
            and not starts(world, one.video, other.agent, one.action)
        ]
        false = sorted(false, key=lambda other: rank(seed, other.video, one.event, two.event, other.event))[:1]
        if others:
            why = "" if false else f"every deed of another may be one of {one.agent}"
            negative = [Dictionary(one), *map(Dictionary, false)] if false else []
            yield Draft((one, two), negative, why)


def action_adv(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """The verb replaced by one that the writer thinks of; none of the video's may be meant."""
    for event in events:
        known = sorted({one.action for one in world[event.video]})
        yield Draft((event,), [Dictionary(event, event, "action_adv", tuple(known))])


def action_manner(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    for event in events:
        if manner := event.roles.get(MANNER):
            of_it = [one for one in world[event.video] if (one.event, one.action) == (event.event, event.action)]
            annotations = [one for one in of_it if may_be(one.agent or event.agent, event.agent)]
            is_twice = len(starts(world, event.video, event.agent, event.action)) > len(annotations)
            why = f"{event.agent} may do this twice, and once in the other manner" if is_twice else ""
            yield Draft((event,), [Dictionary(event, event, "action_manner", (manner,))], why)


def chrono(events: Sequence[Event], world: World, seed: int) -> Iterator[Draft]:
    """Two events two seconds apart or more, in order and reversed."""
    for one, two in _pairs(events):
        if two.start_s - one.end_s >= 2:
            before = starts(world, two.video, two.agent, two.action)
            after = starts(world, one.video, one.agent, one.action)
            why = "both orders may be true: an event happens twice" if min(before) < max(after) else ""
            yield Draft((one, two), [Dictionary(two), Dictionary(one)], why)


def _pairs(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    for own in grouped(events, attrgetter("video")).values():
        yield from permutations(own, 2)


BY_TEST: Mapping[str, Callable[[Sequence[Event], World, int], Iterator[Draft]]] = {
    CONTROL: control, "agent_random": agent_random, "agent_bind": agent_bind, "coref": coref,
    "action_adv": action_adv, "action_manner": action_manner, "action_bind": action_bind, "chrono": chrono,
}  # fmt: skip


FLUENT, TARGET = "Fluent Caption", "Target"
CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


def requests(
    tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> list[Row]:
    return rounds_of(tables, given, prompts).requests(settings.max_tokens)


def rounds_of(tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt]) -> Rounds:
    """All rounds so far: the texts of the candidates that are left, and the replies."""
    used = kept(tables["candidates"]).select(pl.concat_list("positive", "negative").explode().unique().alias("text_id"))
    texts = tables["texts"].join(used, on="text_id", how="semi", maintain_order="left").to_dicts()
    agents = {name for name in map(plain_name, tables["texts"]["agent"].unique()) if " " in name}

    def read(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
        parts = read_parts(reply, [FLUENT] if text["kind"] == CAPTION else [TARGET, FLUENT], prompt)
        caption, target = parts[FLUENT], parts.get(TARGET, "")
        check(text, caption, target, written.get(text["instead_of"], ""), agents)
        return caption, target

    return Rounds(texts, given, prompts, read)


def check(text: Row, caption: str, target: str, true: str, agents: set[str]) -> None:
    """Refuse a caption that the dictionary does not bear out; `agents` are named anywhere in the data."""
    missing = sorted(words(text["agent"]) - set(re.findall(r"[^\s,.;:!?\"]+", caption.lower())))
    if missing:
        raise UnusableError("no_agent", f"'{missing[0]}' of the agent '{text['agent']}' is not in '{caption}'")
    shown = text["values"][0]["text"].lower()
    spaced = f" {' '.join(re.findall(r'[a-z0-9]+', caption.lower()))} "
    strangers = [name for name in sorted(agents) if name not in plain_name(shown) and f" {name} " in spaced]
    strangers += [name for name in CAPITALISED.findall(caption) if name.lower() not in shown]
    if strangers:
        raise UnusableError("foreign_name", f"'{strangers[0]}' is not in the dictionary, but in '{caption}'")
    same = [one for one in text["known"] if text["kind"] == "action_adv" and stems(one) & stems(target)]
    if same:
        raise UnusableError("target_in_video", f"'{target}' is '{same[0]}', which happens in the video")
    if text["kind"] == "action_manner" and plain(target) in map(plain, text["known"]):
        raise UnusableError("target_unchanged", f"'{target}' is the manner that it should replace")
    if plain(caption) == plain(true):
        raise UnusableError("unchanged", f"'{caption}' is the true caption")


def plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def stems(text: str) -> set[str]:
    """What the words of a verb have in common with its other forms: `sliding`, `slides` and `slide` share one."""
    found = set()
    for word in re.findall(r"[a-z]+", text.lower()):
        bare = {word, *(word.removesuffix(ending) for ending in ("ing", "ed", "es", "s", "d"))}
        found |= {stem.removesuffix("e") for stem in bare if len(stem) > 2}
        found |= {stem[:-1] for stem in bare if len(stem) > 3 and stem[-1] == stem[-2]}  # spinning
    return found


def samples(
    tables: Tables, given: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> Rows:
    rounds = rounds_of(tables, given, prompts)
    written = rounds.table()
    why = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in written if row["filter"]}
    agents = dict(tables["texts"].select("text_id", "agent").iter_rows())
    rows: list[Row] = []
    for candidate in kept(tables["candidates"]).iter_rows(named=True):
        row = {name: candidate[name] for name in ("sample_id", "test", "video", "event")}
        sides = {side: candidate[side] for side in ("positive", "negative")}
        lost = [why[name] for names in sides.values() for name in names if name in why]
        if lost:
            rows.append({**row, **dict.fromkeys(sides, ""), "filter": "not_written", "why": lost[0]})
        else:
            texts = {side: [(rounds.written[name], agents[name]) for name in names] for side, names in sides.items()}
            rows.append(row | {side: _caption(row["test"], own) for side, own in texts.items()})
    true = {(row["video"], plain(row["positive"])) for row in rows if row["positive"]}
    first: dict[tuple[str, ...], str] = {}

    def duplicate(row: Mapping[str, str]) -> str:
        name = (row["test"], row["video"], plain(row["positive"]), plain(row["negative"]))
        known = first.setdefault(name, row["sample_id"])
        return "" if known == row["sample_id"] else f"the same captions as {known}"

    is_lost, is_true = "a caption does not say what its agent does", "is a true caption of another sample"
    filters: dict[str, Found] = {
        "no_reference": lambda row: "" if row["positive"] and row["negative"] else is_lost,
        "same_captions": lambda row: row["positive"] if plain(row["positive"]) == plain(row["negative"]) else "",
        "true_in_video": lambda row: (
            f"'{row['negative']}' {is_true}" if (row["video"], plain(row["negative"])) in true else ""
        ),
        "duplicate": duplicate,
    }
    return {"written": written, "samples": sifted(rows, filters)}


def _caption(test: str, texts: Sequence[tuple[str, str]]) -> str:
    """The texts together, as the test needs them; nothing where one does not say what its agent does."""
    if test == "chrono":  # as the released ones are
        one, two = (text if text.endswith(".") else f"{text}." for text, _ in texts)
        return f"First, {one} Then, {two}"
    if test != "coref":
        return texts[0][0]
    first, second = (predicate(text, agent) for text, agent in texts)
    return f"The person who {first} is also the one who {second}." if first and second else ""


def predicate(caption: str, agent: str) -> str:
    """What a caption says of its agent; empty where the agent is not found in it."""
    wanted = [re.escape(word) for word in plain_name(agent).split()]
    pattern = r"\b" + r"\W+(?:\w+\W+)?".join(wanted) + r"\b\s*,?\s*"
    found = re.search(pattern, caption, re.IGNORECASE) if wanted else None
    return caption[found.end() :].strip().rstrip(".").strip() if found else ""
