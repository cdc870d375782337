"""VELOCITI's steps up to the samples: candidates (section 3.2), requests to the writer, and samples.

A sample contrasts a true (positive) and a false (negative) caption of a video. The writer is the language model that
turns the roles of an event, such as its agent (Arg0) and its verb, into a caption.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import seeded_digest, shuffled
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
    name_words,
    normalize_name,
    possible_start_times,
    read_events,
)
from construction.writing import Rounds, UnusableReplyError, parse_parts

DUPLICATE_COLUMNS = ("video", "annotation", "event", "start_s", "end_s", "verb", "roles")  # equal in duplicate events
MAX_TEXT_CHARS = 300  # characters of a verb or a role, far more than VidSitu's longest
CAPTION_PROMPT = "caption"  # name of the prompt that turns an event into a caption, without a replacement


class RoleDictionary(NamedTuple):
    """The writer's input: an event's roles, possibly with a replaced agent or action."""

    event: Event
    original: Event | None = None  # the true event, if the caption of this dictionary will be false
    prompt: str = CAPTION_PROMPT
    excluded_texts: tuple[str, ...] = ()  # texts that a replacement must differ from


class Draft(NamedTuple):
    """A sample before its captions are written, with the reason why it may be invalid, if any."""

    events: tuple[Event, ...]  # the events of the true caption, one or two
    negative: Sequence[RoleDictionary]  # the inputs for the false caption, one per event
    why: str = ""  # why the false caption may be true, so that the sample is dropped; empty for a usable sample


def add_text(dictionary: RoleDictionary, texts: dict[str, Row]) -> str:
    """Add the text of a dictionary to `texts` (text id -> row), unless it is there, and return its id."""
    role_texts = {"Verb": dictionary.event.verb, **dictionary.event.roles}
    # This is the format of Figs. 10 to 12.
    dictionary_text = "{" + ",\n".join(f"'{role}': '{text}'" for role, text in role_texts.items()) + "}"
    text_id = f"{dictionary.prompt}/{seeded_digest(0, dictionary_text, *dictionary.excluded_texts)[:16]}"
    replaced_role = "Verb" if dictionary.prompt != "action_manner" else MANNER
    values = {"srl": dictionary_text, "source": f"'{replaced_role}': '{role_texts[replaced_role]}'"}
    row = {
        "text_id": text_id, "kind": dictionary.prompt, "video": dictionary.event.video, "agent": dictionary.event.agent,
        "values": [{"name": name, "text": text} for name, text in values.items()],
        "known": list(dictionary.excluded_texts),
        "instead_of": "" if dictionary.original is None else add_text(RoleDictionary(dictionary.original), texts),
    }  # fmt: skip
    texts.setdefault(text_id, row)
    return text_id


def candidates(files: Mapping[str, Path], settings: VelocitiSettings) -> Rows:
    """Return the events, texts to be written and candidates; dropped rows keep their reason."""
    split_videos, events = read_events(files, settings.split)
    annotated_videos = [video for video in split_videos if any(event.video == video for event in events)]
    sampled_videos = set(shuffled(annotated_videos, settings.seed)[: settings.videos])
    pool = [
        {
            **event._asdict(),
            "agent": event.agent,
            "roles": [{"name": role, "text": text} for role, text in event.roles.items()],
        }
        for event in events
    ]
    pool = apply_filters(pool, _event_filters(set(split_videos), sampled_videos, settings))
    usable_events = [event for event, row in zip(events, pool, strict=True) if not row["filter"]]
    # Dropped events other than duplicates stay in this list, because no negative caption may be true of them.
    unique_events = [event for event, row in zip(events, pool, strict=True) if row["filter"] != "duplicate"]
    events_by_video = group_by_key(unique_events, attrgetter("video"))
    texts: dict[str, Row] = {}
    candidate_by_id: dict[str, Row] = {}  # equal candidates have the same id
    for test, make_drafts in DRAFT_MAKER_BY_TEST.items():
        for draft in make_drafts(usable_events, events_by_video, settings.seed):
            event_names = [event.event for event in draft.events]
            if test == "coref":  # In the authors' release, these samples name their second event twice.
                event_names.append(draft.events[-1].event)
            positive = [add_text(RoleDictionary(event), texts) for event in draft.events]
            negative = [add_text(dictionary, texts) for dictionary in draft.negative]
            video, digest = draft.events[0].video, seeded_digest(0, *positive, "against", *negative)[:10]
            sample_id = f"{test}/{video}/{'-'.join(event_names)}/{digest}"
            candidate_by_id[sample_id] = {
                "sample_id": sample_id,
                "test": test,
                "video": video,
                "event": event_names[0] if len(event_names) == 1 else json.dumps(event_names, separators=(",", ":")),
                "positive": positive,
                "negative": negative,
                "filter": "may_be_true" if draft.why else "",
                "why": draft.why,
            }
    rows, description = list(candidate_by_id.values()), "of this test and video"
    sample_filter = drop_outside_sample(
        rows, ("test", "video"), "sample_id", settings.per_video, settings.seed, description
    )
    return {
        "pool": pool,
        "texts": list(texts.values()),
        "candidates": apply_filters(rows, {"enough_of_video": sample_filter}),
    }


def _event_filters(
    split_videos: set[str], sampled_videos: set[str], settings: VelocitiSettings
) -> Mapping[str, RowFilter]:
    """Return the filters of events by name; a filter returns why it drops a row, or an empty text."""
    excluded_verbs = {verb.lower() for verb in settings.excluded_verbs}

    def too_long(row: Mapping[str, Any]) -> str:  # Long inputs would cost money.
        texts = {"verb": row["verb"]} | {role["name"]: role["text"] for role in row["roles"]}
        for name, text in texts.items():
            if len(text) > MAX_TEXT_CHARS:
                return f"{name[:MAX_TEXT_CHARS]}: {len(text)} characters, more than {MAX_TEXT_CHARS}"
        return ""

    return {
        "other_split": lambda row: "" if row["video"] in split_videos else f"not in split '{settings.split}'",
        "other_video": lambda row: "" if row["video"] in sampled_videos else "not among the sampled videos",
        "other_annotation": lambda row: f"annotation {row['annotation']}" if row["annotation"] else "",
        "no_verb": lambda row: "" if row["verb"] else "the event has no verb",
        "no_agent": lambda row: "" if row["agent"] else "the event has no Arg0",
        "too_long": too_long,
        "excluded_verb": lambda row: row["verb"] if row["verb"].split(" (")[0].lower() in excluded_verbs else "",
        "duplicate": drop_repeated(
            lambda row: str([row[name] for name in DUPLICATE_COLUMNS]), "the same as an earlier event"
        ),
    }


# Each function below yields the drafts of one test, in the paper's order. Negatives must be false by all annotations.


def control(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Use the true caption of another video as negative.

    Each caption is a negative once, so the captions alone do not reveal the answer.
    """
    ordered = sorted(events, key=lambda event: seeded_digest(seed, event.video, event.event))
    remaining = list(ordered)
    for event in ordered:
        usable_places = (
            position
            for position, candidate in enumerate(remaining)
            if candidate.video != event.video
            and not possible_start_times(events_by_video, event.video, candidate.agent, candidate.action)
        )
        index = next(usable_places, None)
        why = "" if index is not None else "no remaining caption of another video is false for this one"
        other_event = event if index is None else remaining.pop(index)  # A draft with a reason is dropped.
        yield Draft((event,), [RoleDictionary(other_event)], why)


def agent_random(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Replace Arg0 by an agent that is absent from the video, even under a more general or specific name."""
    agents = sorted({event.agent for event in events})
    for event in events:
        role_texts = [
            item for annotated_event in events_by_video[event.video] for item in annotated_event.roles.items()
        ]
        # The names in these roles are the agents and the objects of their actions.
        names = [text for role, text in role_texts if re.match(r"Arg\d", role)]
        absent_agents = [agent for agent in agents if not any(may_be_same(agent, name) for name in names)]
        if absent_agents:
            agent = min(absent_agents, key=lambda name: seeded_digest(seed, event.video, event.event, name))
            yield Draft((event,), [RoleDictionary(event.with_agent(agent), event)])
        else:
            yield Draft((event,), [], "every agent of the data set may be in this video")


def agent_bind(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Replace Arg0 by another agent of the same video."""
    for event, other_event in _pairs(events):
        if not may_be_same(event.agent, other_event.agent):
            negative = [RoleDictionary(event.with_agent(other_event.agent), event)]
            yield Draft((event,), negative, _agent_conflict(other_event.agent, event, events_by_video))


def action_bind(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Keep the agent and take verb and modifiers of another event of the video with another verb and agent."""
    for event, other_event in _pairs(events):
        if not may_be_same(event.agent, other_event.agent) and event.action != other_event.action:
            negative = RoleDictionary(other_event.with_agent(event.agent), event)
            yield Draft((event,), [negative], _agent_conflict(event.agent, other_event, events_by_video))


def _agent_conflict(agent: str, event: Event, events_by_video: EventsByVideo) -> str:
    """Return why an agent cannot replace the agent of an event, or an empty text if it can.

    The agent may do the same in the video, or has another role in the event.
    """
    if possible_start_times(events_by_video, event.video, agent, event.action):
        return f"{agent}: may also do this"
    other_role_texts = [text for role, text in event.roles.items() if not role.startswith("Arg0")]
    return (
        f"{agent}: is in another role of the event"
        if any(may_be_same(agent, text) for text in other_role_texts)
        else ""
    )


def coref(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Contrast two actions of one agent with an action of that agent and an action of another agent."""
    by_video = group_by_key(events, attrgetter("video"))
    for first, second in _pairs(events):
        is_same = normalize_name(first.agent) == normalize_name(second.agent)
        if first.start_s >= second.start_s or not is_same or first.action == second.action:
            continue
        other_events = [
            candidate for candidate in by_video[first.video] if not may_be_same(candidate.agent, first.agent)
        ]
        negative_events = [
            candidate
            for candidate in other_events
            # By all annotations, neither agent does the action of the other.
            if not possible_start_times(events_by_video, first.video, first.agent, candidate.action)
            and not possible_start_times(events_by_video, first.video, candidate.agent, first.action)
        ]
        if negative_events:
            negative_event = min(
                negative_events,
                key=lambda event: seeded_digest(seed, event.video, first.event, second.event, event.event),
            )
            yield Draft((first, second), [RoleDictionary(first), RoleDictionary(negative_event)])
        elif other_events:
            yield Draft((first, second), [], f"every action of another agent may be one of {first.agent}")


def action_adv(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Let the writer replace the verb by one that differs from all verbs of the video."""
    for event in events:
        verbs = sorted({annotated_event.action for annotated_event in events_by_video[event.video]})
        yield Draft((event,), [RoleDictionary(event, event, "action_adv", tuple(verbs))])


def action_manner(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Let the writer replace the manner by a different one."""
    for event in events:
        if manner := event.roles.get(MANNER):
            annotations_of_event = [
                annotated_event
                for annotated_event in events_by_video[event.video]
                if (annotated_event.event, annotated_event.action) == (event.event, event.action)
                and may_be_same(annotated_event.agent or event.agent, event.agent)
            ]
            start_times = possible_start_times(events_by_video, event.video, event.agent, event.action)
            is_repeated = len(start_times) > len(annotations_of_event)
            why = f"{event.agent} may do this twice, and once in the other manner" if is_repeated else ""
            yield Draft((event,), [RoleDictionary(event, event, "action_manner", (manner,))], why)


def chrono(events: Sequence[Event], events_by_video: EventsByVideo, seed: int) -> Iterator[Draft]:
    """Contrast the order of two events, at least two seconds apart, with its reverse."""
    for first, second in _pairs(events):
        if second.start_s - first.end_s >= 2:
            second_starts = possible_start_times(events_by_video, second.video, second.agent, second.action)
            first_starts = possible_start_times(events_by_video, first.video, first.agent, first.action)
            why = "both orders may be true: an event happens twice" if min(second_starts) < max(first_starts) else ""
            yield Draft((first, second), [RoleDictionary(second), RoleDictionary(first)], why)


def _pairs(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield all pairs of events of the same video, in both orders."""
    for video_events in group_by_key(events, attrgetter("video")).values():
        yield from permutations(video_events, 2)


DRAFT_MAKER_BY_TEST: Mapping[str, Callable[[Sequence[Event], EventsByVideo, int], Iterator[Draft]]] = {
    CONTROL: control, "agent_random": agent_random, "agent_bind": agent_bind, "coref": coref,
    "action_adv": action_adv, "action_manner": action_manner, "action_bind": action_bind, "chrono": chrono,
}  # fmt: skip


FLUENT, TARGET = "Fluent Caption", "Target"  # the labels of the parts of a reply
CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")  # a capitalised word within a sentence, such as a name


def requests(
    tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> list[Row]:
    """Return the requests of the next round; `replies` has a table per earlier round."""
    return build_rounds(tables, replies, prompts).next_requests(settings.max_tokens)


def build_rounds(tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt]) -> Rounds:
    """Return all rounds so far, with the texts of the kept candidates and the replies."""
    used_ids = kept_rows(tables["candidates"]).select(
        pl.concat_list("positive", "negative").explode().unique().alias("text_id")
    )
    texts = tables["texts"].join(used_ids, on="text_id", how="semi", maintain_order="left").to_dicts()
    # Agents of one word, such as `man`, may be in any caption.
    agents = {name for name in map(normalize_name, tables["texts"]["agent"].unique()) if " " in name}

    def parse(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
        parts = parse_parts(reply, [FLUENT] if text["kind"] == CAPTION_PROMPT else [TARGET, FLUENT], prompt)
        caption, target = parts[FLUENT], parts.get(TARGET, "")
        check_caption(text, caption, target, written.get(text["instead_of"], ""), agents)
        return caption, target

    return Rounds(texts, replies, prompts, parse)


def check_caption(text: Row, caption: str, target: str, true_caption: str, agents: set[str]) -> None:
    """Raise an error for a caption that the dictionary does not support.

    Args:
        text: Row of the text.
        caption: Caption in the reply.
        target: The writer's replacement of the verb or the manner, if requested.
        true_caption: Caption that this caption must not repeat, if any.
        agents: Agents of the whole data set that a caption may not add.
    """
    missing = sorted(name_words(text["agent"]) - set(re.findall(r"[^\s,.;:!?\"]+", caption.lower())))
    if missing:
        raise UnusableReplyError("no_agent", f"'{missing[0]}' of the agent '{text['agent']}' is not in '{caption}'")
    dictionary = text["values"][0]["text"].lower()
    spaced_caption = f" {' '.join(re.findall(r'[a-z0-9]+', caption.lower()))} "  # spaces around each word
    foreign_names = [
        name for name in sorted(agents) if name not in normalize_name(dictionary) and f" {name} " in spaced_caption
    ]
    foreign_names += [name for name in CAPITALISED.findall(caption) if name.lower() not in dictionary]
    if foreign_names:
        raise UnusableReplyError("foreign_name", f"'{foreign_names[0]}' is not in the dictionary, but in '{caption}'")
    same_verbs = [verb for verb in text["known"] if text["kind"] == "action_adv" and stems(verb) & stems(target)]
    if same_verbs:
        raise UnusableReplyError("target_in_video", f"'{target}' is '{same_verbs[0]}', which happens in the video")
    if text["kind"] == "action_manner" and normalize(target) in map(normalize, text["known"]):
        raise UnusableReplyError("target_unchanged", f"'{target}' is the manner that it should replace")
    if normalize(caption) == normalize(true_caption):
        raise UnusableReplyError("unchanged", f"'{caption}' is the true caption")


def normalize(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def stems(text: str) -> set[str]:
    """Return the stems of a verb's words; `sliding`, `slides` and `slide` have a stem in common."""
    word_stems = set()
    for word in re.findall(r"[a-z]+", text.lower()):
        variants = {word, *(word.removesuffix(ending) for ending in ("ing", "ed", "es", "s", "d"))}
        word_stems |= {stem.removesuffix("e") for stem in variants if len(stem) > 2}
        # `spinning` becomes `spin`.
        word_stems |= {stem[:-1] for stem in variants if len(stem) > 3 and stem[-1] == stem[-2]}
    return word_stems


def samples(
    tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VelocitiSettings
) -> Rows:
    """Return the writer's texts, and the candidates with captions; dropped rows keep their reason."""
    rounds = build_rounds(tables, replies, prompts)
    written = rounds.table_rows()
    problem_by_text = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in written if row["filter"]}
    agent_by_text = dict(tables["texts"].select("text_id", "agent").iter_rows())
    rows: list[Row] = []
    for candidate in kept_rows(tables["candidates"]).iter_rows(named=True):
        row = {name: candidate[name] for name in ("sample_id", "test", "video", "event")}
        text_ids = (*candidate["positive"], *candidate["negative"])
        problems = [problem_by_text[text_id] for text_id in text_ids if text_id in problem_by_text]
        if problems:
            rows.append(row | {"positive": "", "negative": "", "filter": "not_written", "why": problems[0]})
        else:
            for side in ("positive", "negative"):
                texts = [(rounds.text_by_id[text_id], agent_by_text[text_id]) for text_id in candidate[side]]
                row[side] = _caption(row["test"], texts)
            rows.append(row)
    true_captions = {(row["video"], normalize(row["positive"])) for row in rows if row["positive"]}
    first_ids: dict[tuple[str, ...], str] = {}  # (test, video, captions) -> the first sample with them

    def duplicate(row: Mapping[str, str]) -> str:
        captions_key = (row["test"], row["video"], normalize(row["positive"]), normalize(row["negative"]))
        sample_id = first_ids.setdefault(captions_key, row["sample_id"])
        return "" if sample_id == row["sample_id"] else f"the same captions as {sample_id}"

    no_predicate_reason = "a caption does not state what its agent does"
    true_reason = "is a true caption of another sample"
    filters: dict[str, RowFilter] = {
        "no_reference": lambda row: "" if row["positive"] and row["negative"] else no_predicate_reason,
        "same_captions": lambda row: (
            row["positive"] if normalize(row["positive"]) == normalize(row["negative"]) else ""
        ),
        "true_in_video": lambda row: (
            f"'{row['negative']}' {true_reason}" if (row["video"], normalize(row["negative"])) in true_captions else ""
        ),
        "duplicate": duplicate,
    }
    return {"written": written, "samples": apply_filters(rows, filters)}


def _caption(test: str, texts: Sequence[tuple[str, str]]) -> str:
    """Combine texts, each with its agent, to the caption of a test.

    A caption is empty if a text does not say what its agent does.
    """
    if test == "chrono":  # the format of the released samples
        earlier, later = (text if text.endswith(".") else f"{text}." for text, _ in texts)
        return f"First, {earlier} Then, {later}"
    if test != "coref":
        return texts[0][0]
    first, second = (predicate(text, agent) for text, agent in texts)
    return f"The person who {first} is also the one who {second}." if first and second else ""


def predicate(caption: str, agent: str) -> str:
    """Return the part of a caption after its agent, or an empty text if the agent is not in it."""
    agent_words = [re.escape(word) for word in normalize_name(agent).split()]
    # The caption may add one word between two words of the agent.
    pattern = r"\b" + r"\W+(?:\w+\W+)?".join(agent_words) + r"\b\s*,?\s*"
    match = re.search(pattern, caption, re.IGNORECASE) if agent_words else None
    return caption[match.end() :].strip().rstrip(".").strip() if match else ""
