"""VELOCITI's candidates (section 3.2), the writing of their captions, and the resulting samples."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import rank, shuffled
from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.velociti.taxonomy import CONTROL

from construction.filters import (
    Row,
    RowFilter,
    Rows,
    Tables,
    apply_filters,
    drop_outside_sample,
    drop_repeated,
    kept_rows,
)
from construction.settings import VelocitiSettings
from construction.velociti.events import (
    MANNER,
    Event,
    EventsByVideo,
    may_be_same,
    plain_name,
    read_events,
    start_times,
    words,
)
from construction.writing import Rounds, UnusableReplyError, parse_parts

SAME = ("video", "annotation", "event", "start_s", "end_s", "verb", "roles")
LONGEST_TEXT = 300  # characters of a verb or a role, far more than VidSitu's longest
CAPTION = "caption"


class RoleDictionary(NamedTuple):
    """The writer's input: an event's roles, possibly with a replaced agent or action."""

    event: Event
    original: Event | None = None  # the event whose false caption this makes
    prompt: str = CAPTION
    excluded_texts: tuple[str, ...] = ()  # texts that a replacement must differ from


class Draft(NamedTuple):
    """A sample before its captions are written, with the reason why it may be invalid, if any."""

    events: tuple[Event, ...]
    negative: Sequence[RoleDictionary]
    why: str = ""


def add_text(dictionary: RoleDictionary, texts: dict[str, Row]) -> str:
    """Add a dictionary's text to `texts`, once for all videos, and return its id."""
    entries = {"Verb": dictionary.event.verb, **dictionary.event.roles}
    # This is the format of Figs. 10 to 12.
    roles = "{" + ",\n".join(f"'{name}': '{entry}'" for name, entry in entries.items()) + "}"
    name = f"{dictionary.prompt}/{rank(0, roles, *dictionary.excluded_texts)[:16]}"
    replaced_role = "Verb" if dictionary.prompt != "action_manner" else MANNER
    values = {"srl": roles, "source": f"'{replaced_role}': '{entries[replaced_role]}'"}
    row = {
        "text_id": name, "kind": dictionary.prompt, "video": dictionary.event.video, "agent": dictionary.event.agent,
        "values": [{"name": key, "text": text} for key, text in values.items()],
        "known": list(dictionary.excluded_texts),
        "instead_of": "" if dictionary.original is None else add_text(RoleDictionary(dictionary.original), texts),
    }  # fmt: skip
    texts.setdefault(name, row)
    return name


def candidates(files: Mapping[str, Path], settings: VelocitiSettings) -> Rows:
    """Return the events, texts to be written and candidates; dropped rows keep their reason."""
    split, events = read_events(files, settings.split)
    annotated_videos = [video for video in split if any(event.video == video for event in events)]
    sampled = set(shuffled(annotated_videos, settings.seed)[: settings.videos])
    pool = [
        {
            **event._asdict(),
            "agent": event.agent,
            "roles": [{"name": role, "text": text} for role, text in event.roles.items()],
        }
        for event in events
    ]
    pool = apply_filters(pool, _event_filters(set(split), sampled, settings))
    usable = [event for event, row in zip(events, pool, strict=True) if not row["filter"]]
    unique = [event for event, row in zip(events, pool, strict=True) if row["filter"] != "duplicate"]
    world = group_by_key(unique, attrgetter("video"))
    texts: dict[str, Row] = {}
    candidate_of: dict[str, Row] = {}  # by name, which removes duplicates
    for test, drafts in BY_TEST.items():
        for draft in drafts(usable, world, settings.seed):
            # A coreference names its second event twice, as the authors' rows do.
            names = [event.event for event in draft.events] + [draft.events[-1].event] * (test == "coref")
            positive = [add_text(RoleDictionary(event), texts) for event in draft.events]
            negative = [add_text(dictionary, texts) for dictionary in draft.negative]
            video, digest = draft.events[0].video, rank(0, *positive, "against", *negative)[:10]
            name = f"{test}/{video}/{'-'.join(names)}/{digest}"
            candidate_of[name] = {
                "sample_id": name,
                "test": test,
                "video": video,
                "event": names[0] if len(names) == 1 else json.dumps(names, separators=(",", ":")),
                "positive": positive,
                "negative": negative,
                "filter": "may_be_true" if draft.why else "",
                "why": draft.why,
            }
    rows, scope = list(candidate_of.values()), "of this test and video"
    limit = drop_outside_sample(rows, ("test", "video"), "sample_id", settings.per_video, settings.seed, scope)
    return {"pool": pool, "texts": list(texts.values()), "candidates": apply_filters(rows, {"enough_of_video": limit})}


def _event_filters(split: set[str], sampled: set[str], settings: VelocitiSettings) -> Mapping[str, RowFilter]:
    excluded_verbs = {verb.lower() for verb in settings.verbs_left_out}

    def too_long(row: Mapping[str, Any]) -> str:  # Long inputs would cost money.
        texts = {"verb": row["verb"]} | {role["name"]: role["text"] for role in row["roles"]}
        long_role = next((name for name, text in texts.items() if len(text) > LONGEST_TEXT), "")
        return (
            f"{long_role[:LONGEST_TEXT]}: {len(texts[long_role])} characters, more than {LONGEST_TEXT}"
            if long_role
            else ""
        )

    return {
        "other_split": lambda row: "" if row["video"] in split else f"not in split '{settings.split}'",
        "other_video": lambda row: "" if row["video"] in sampled else "not among the sampled videos",
        "other_annotation": lambda row: f"annotation {row['annotation']}" if row["annotation"] else "",
        "no_verb": lambda row: "" if row["verb"] else "the event has no verb",
        "no_agent": lambda row: "" if row["agent"] else "the event has no Arg0",
        "too_long": too_long,
        "verb_left_out": lambda row: row["verb"] if row["verb"].split(" (")[0].lower() in excluded_verbs else "",
        "duplicate": drop_repeated(lambda row: str([row[name] for name in SAME]), "the same as an earlier event"),
    }


# These functions are the tests in the paper's order. Negatives that may be true by any annotation are dropped.


def control(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Use a true caption of another video as the false one, each once, so the captions alone carry no signal."""
    order = sorted(events, key=lambda event: rank(seed, event.video, event.event))
    free = list(order)
    for event in order:
        fitting = (
            place
            for place, other in enumerate(free)
            if other.video != event.video and not start_times(world, event.video, other.agent, other.action)
        )
        place = next(fitting, None)
        why = "" if place is not None else "no remaining caption of another video is false for this one"
        other = event if place is None else free.pop(place)
        yield Draft((event,), [RoleDictionary(other)], why)


def agent_random(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Replace Arg0 by an agent that is absent from the video, even under a more general or specific name."""
    agents = sorted({event.agent for event in events})
    for event in events:
        role_texts = [item for annotated_event in world[event.video] for item in annotated_event.roles.items()]
        # These are the agents and the objects of their actions.
        names = [text for role, text in role_texts if re.match(r"Arg\d", role)]
        absent = [agent for agent in agents if not any(may_be_same(agent, name) for name in names)]
        absent = sorted(absent, key=lambda name: rank(seed, event.video, event.event, name))[:1]
        negative = [RoleDictionary(event.with_agent(agent), event) for agent in absent]
        why = "" if absent else "every agent of the data set may be in this video"
        yield Draft((event,), negative, why)


def agent_bind(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Replace Arg0 by another agent of the same video."""
    for event, other in _pairs(events):
        if not may_be_same(event.agent, other.agent):
            negative = [RoleDictionary(event.with_agent(other.agent), event)]
            yield Draft((event,), negative, _may_do(other.agent, event, world))


def action_bind(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Keep the agent and take verb and modifiers of another event of the video with another verb and agent."""
    for event, other in _pairs(events):
        if not may_be_same(event.agent, other.agent) and event.action != other.action:
            negative = RoleDictionary(other.with_agent(event.agent), event)
            yield Draft((event,), [negative], _may_do(event.agent, other, world))


def _may_do(agent: str, event: Event, world: EventsByVideo) -> str:
    """Return why an agent cannot replace that of an event: it may do the same, or it would act on itself."""
    if start_times(world, event.video, agent, event.action):
        return f"{agent}: may also do this"
    other_roles = [text for role, text in event.roles.items() if not role.startswith("Arg0")]
    return f"{agent}: is in another role of the event" if any(may_be_same(agent, text) for text in other_roles) else ""


def coref(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Contrast two actions of one agent with an action of that agent and one of another."""
    by_video = group_by_key(events, attrgetter("video"))
    for first, second in _pairs(events):
        is_same = plain_name(first.agent) == plain_name(second.agent)
        if first.start_s >= second.start_s or not is_same or first.action == second.action:
            continue
        other_events = [other for other in by_video[first.video] if not may_be_same(other.agent, first.agent)]
        negatives = [
            other
            for other in other_events
            # Neither agent may do the action of the other by any annotation.
            if not start_times(world, first.video, first.agent, other.action)
            and not start_times(world, first.video, other.agent, first.action)
        ]
        negatives = sorted(
            negatives, key=lambda other: rank(seed, other.video, first.event, second.event, other.event)
        )[:1]
        if other_events:
            why = "" if negatives else f"every action of another agent may be one of {first.agent}"
            negative = [RoleDictionary(first), *map(RoleDictionary, negatives)] if negatives else []
            yield Draft((first, second), negative, why)


def action_adv(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Let the writer replace the verb by one that differs from all verbs of the video."""
    for event in events:
        verbs = sorted({annotated_event.action for annotated_event in world[event.video]})
        yield Draft((event,), [RoleDictionary(event, event, "action_adv", tuple(verbs))])


def action_manner(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    for event in events:
        if manner := event.roles.get(MANNER):
            same_action = [
                annotated_event
                for annotated_event in world[event.video]
                if (annotated_event.event, annotated_event.action) == (event.event, event.action)
            ]
            annotations = [
                annotated_event
                for annotated_event in same_action
                if may_be_same(annotated_event.agent or event.agent, event.agent)
            ]
            is_twice = len(start_times(world, event.video, event.agent, event.action)) > len(annotations)
            why = f"{event.agent} may do this twice, and once in the other manner" if is_twice else ""
            yield Draft((event,), [RoleDictionary(event, event, "action_manner", (manner,))], why)


def chrono(events: Sequence[Event], world: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Contrast the order of two events, at least two seconds apart, with its reverse."""
    for first, second in _pairs(events):
        if second.start_s - first.end_s >= 2:
            before = start_times(world, second.video, second.agent, second.action)
            after = start_times(world, first.video, first.agent, first.action)
            why = "both orders may be true: an event happens twice" if min(before) < max(after) else ""
            yield Draft((first, second), [RoleDictionary(second), RoleDictionary(first)], why)


def _pairs(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    for video_events in group_by_key(events, attrgetter("video")).values():
        yield from permutations(video_events, 2)


BY_TEST: Mapping[str, Callable[[Sequence[Event], EventsByVideo, int], Iterator[Draft]]] = {
    CONTROL: control, "agent_random": agent_random, "agent_bind": agent_bind, "coref": coref,
    "action_adv": action_adv, "action_manner": action_manner, "action_bind": action_bind, "chrono": chrono,
}  # fmt: skip


FLUENT, TARGET = "Fluent Caption", "Target"
CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


def requests(
    tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> list[Row]:
    return rounds_of(tables, replies, prompts).requests(settings.max_tokens)


def rounds_of(tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt]) -> Rounds:
    """Return all rounds so far, with the texts of the kept candidates and the replies."""
    used = kept_rows(tables["candidates"]).select(
        pl.concat_list("positive", "negative").explode().unique().alias("text_id")
    )
    texts = tables["texts"].join(used, on="text_id", how="semi", maintain_order="left").to_dicts()
    agents = {name for name in map(plain_name, tables["texts"]["agent"].unique()) if " " in name}

    def parse(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
        parts = parse_parts(reply, [FLUENT] if text["kind"] == CAPTION else [TARGET, FLUENT], prompt)
        caption, target = parts[FLUENT], parts.get(TARGET, "")
        check_caption(text, caption, target, written.get(text["instead_of"], ""), agents)
        return caption, target

    return Rounds(texts, replies, prompts, parse)


def check_caption(text: Row, caption: str, target: str, true: str, agents: set[str]) -> None:
    """Refuse a caption that the dictionary does not support; `agents` are all agents of the data."""
    missing = sorted(words(text["agent"]) - set(re.findall(r"[^\s,.;:!?\"]+", caption.lower())))
    if missing:
        raise UnusableReplyError("no_agent", f"'{missing[0]}' of the agent '{text['agent']}' is not in '{caption}'")
    dictionary = text["values"][0]["text"].lower()
    spaced = f" {' '.join(re.findall(r'[a-z0-9]+', caption.lower()))} "
    foreign_names = [name for name in sorted(agents) if name not in plain_name(dictionary) and f" {name} " in spaced]
    foreign_names += [name for name in CAPITALISED.findall(caption) if name.lower() not in dictionary]
    if foreign_names:
        raise UnusableReplyError("foreign_name", f"'{foreign_names[0]}' is not in the dictionary, but in '{caption}'")
    same_verbs = [verb for verb in text["known"] if text["kind"] == "action_adv" and stems(verb) & stems(target)]
    if same_verbs:
        raise UnusableReplyError("target_in_video", f"'{target}' is '{same_verbs[0]}', which happens in the video")
    if text["kind"] == "action_manner" and plain(target) in map(plain, text["known"]):
        raise UnusableReplyError("target_unchanged", f"'{target}' is the manner that it should replace")
    if plain(caption) == plain(true):
        raise UnusableReplyError("unchanged", f"'{caption}' is the true caption")


def plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def stems(text: str) -> set[str]:
    """Return the stems of a verb's words; `sliding`, `slides` and `slide` share one."""
    collected = set()
    for word in re.findall(r"[a-z]+", text.lower()):
        bare = {word, *(word.removesuffix(ending) for ending in ("ing", "ed", "es", "s", "d"))}
        collected |= {stem.removesuffix("e") for stem in bare if len(stem) > 2}
        collected |= {stem[:-1] for stem in bare if len(stem) > 3 and stem[-1] == stem[-2]}  # `spinning` becomes `spin`
    return collected


def samples(
    tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> Rows:
    rounds = rounds_of(tables, replies, prompts)
    written = rounds.table()
    problem_of = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in written if row["filter"]}
    agents = dict(tables["texts"].select("text_id", "agent").iter_rows())
    rows: list[Row] = []
    for candidate in kept_rows(tables["candidates"]).iter_rows(named=True):
        row = {name: candidate[name] for name in ("sample_id", "test", "video", "event")}
        sides = {side: candidate[side] for side in ("positive", "negative")}
        problems = [problem_of[name] for names in sides.values() for name in names if name in problem_of]
        if problems:
            rows.append({**row, **dict.fromkeys(sides, ""), "filter": "not_written", "why": problems[0]})
        else:
            texts = {side: [(rounds.written[name], agents[name]) for name in names] for side, names in sides.items()}
            rows.append(row | {side: _caption(row["test"], pairs) for side, pairs in texts.items()})
    true_captions = {(row["video"], plain(row["positive"])) for row in rows if row["positive"]}
    first: dict[tuple[str, ...], str] = {}

    def duplicate(row: Mapping[str, str]) -> str:
        name = (row["test"], row["video"], plain(row["positive"]), plain(row["negative"]))
        sample_id = first.setdefault(name, row["sample_id"])
        return "" if sample_id == row["sample_id"] else f"the same captions as {sample_id}"

    no_predicate, is_true = "a caption does not state what its agent does", "is a true caption of another sample"
    filters: dict[str, RowFilter] = {
        "no_reference": lambda row: "" if row["positive"] and row["negative"] else no_predicate,
        "same_captions": lambda row: row["positive"] if plain(row["positive"]) == plain(row["negative"]) else "",
        "true_in_video": lambda row: (
            f"'{row['negative']}' {is_true}" if (row["video"], plain(row["negative"])) in true_captions else ""
        ),
        "duplicate": duplicate,
    }
    return {"written": written, "samples": apply_filters(rows, filters)}


def _caption(test: str, texts: Sequence[tuple[str, str]]) -> str:
    """Combine the texts as the test needs; return an empty text if one does not say what its agent does."""
    if test == "chrono":  # the format of the released samples
        earlier, later = (text if text.endswith(".") else f"{text}." for text, _ in texts)
        return f"First, {earlier} Then, {later}"
    if test != "coref":
        return texts[0][0]
    first, second = (predicate(text, agent) for text, agent in texts)
    return f"The person who {first} is also the one who {second}." if first and second else ""


def predicate(caption: str, agent: str) -> str:
    """Return the part of a caption after its agent, or an empty text if the agent is not in it."""
    agent_words = [re.escape(word) for word in plain_name(agent).split()]
    pattern = r"\b" + r"\W+(?:\w+\W+)?".join(agent_words) + r"\b\s*,?\s*"
    match = re.search(pattern, caption, re.IGNORECASE) if agent_words else None
    return caption[match.end() :].strip().rstrip(".").strip() if match else ""
