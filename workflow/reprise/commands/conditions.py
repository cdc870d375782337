"""Under which conditions two runs answered, where they differ: frames, prompt, weights, versions, clips."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.core.checksums import keys_of, sealed_text
from reprise.core.files import read_json
from reprise.core.paths import Results, Run
from reprise.core.plain import plain
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, ITEMS, RESPONSES, read_table
from reprise.models.keys import ModelAnswers
from reprise.plan.changes import ABSENT, changes_between, leaves
from reprise.plan.runs import Plan

SHOWN = ("sampling", "settings")
MADE = ("form", "ask", "max_tokens", "dtype", "attention", "reader", "model", "versions")
"""the settings that are told before and after the prompt, in this order; what is none of them comes last"""
KNOWN, NOT_KNOWN = "known", "not known"
FRAMES, CLIPS, PROMPT = "frames", "clips", "prompt"
MOST_CLIPS = 8
MOST_INDICES = 16
WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Conditions(NamedTuple):
    """What a run's answers were made with; empty where nobody knows, as of answers that were made elsewhere."""

    settings: Mapping[str, Any]
    """what its key says of the answers, how they were read, and the released files"""
    frames: Mapping[str, tuple[int, ...]]
    """clip -> the frames of its plan"""
    clips: Mapping[str, str]
    """clip -> digest of its file"""
    prompts: Mapping[str, str]
    """question -> digest of the prompt as it was sent"""
    answered: frozenset[str]
    """clips of the items that were asked about"""
    unknown: frozenset[str] = frozenset()
    """settings that nobody knows, and whether frames and clips are among that"""

    @classmethod
    def of(cls, plan: Plan, run: Run, reader: str) -> "Conditions":
        """Read them."""
        results = plan.results
        answers = read_table(results.responses(run), RESPONSES)
        clip_of = dict(read_table(results.items(run.benchmark), ITEMS).select("item_id", "clip_id").iter_rows())
        key = read_json(results.run_key(run))["answers"]
        is_imported = run.model in plan.imports.models
        read_with = {"reader": {"name": reader, **_reading(results.verdicts(run, reader))}}
        released = {"released": _released(results, run.benchmark)}
        return cls(
            settings={**{name: value for name, value in key.items() if name != "benchmark"}, **read_with, **released},
            frames={} if is_imported else _frames(results.frames(run.benchmark, run.sampling)),
            clips={} if is_imported else _clips(results, run.benchmark),
            prompts={
                name: digest for name, digest in answers.select("request_id", "prompt_sha256").iter_rows() if digest
            },
            answered=frozenset(clip_of[item] for item in answers["item_id"].unique() if item in clip_of),
            unknown=unknown_of(key) if is_imported else frozenset(),
        )


def unknown_of(key: Mapping[str, Any]) -> frozenset[str]:
    """What nobody knows of answers that were made elsewhere: what the key of a model that is asked would say."""
    return frozenset(ModelAnswers.model_fields.keys() - key.keys()) | {FRAMES, CLIPS}


def _reading(verdicts: Path) -> dict[str, Any]:
    """How answers were read: the settings and the code that the verdicts were made under."""
    named = [Path(name) for name in keys_of(verdicts) or {} if "verdicts" in Path(name).parts]
    return {name: value for path in named if path.is_file() for name, value in read_json(path).items()}


def _released(results: Results, benchmark: str) -> dict[str, str]:
    path = results.release(benchmark)
    return {one["name"]: one["sha256"] for one in read_json(sealed_text(path))} if path.is_file() else {}


def _frames(path: Path) -> dict[str, tuple[int, ...]]:
    if not path.is_file():
        return {}
    rows = read_table(path, FRAME_PLAN).select("clip_id", "indices").iter_rows()
    return {clip: tuple(indices) for clip, indices in rows}


def _clips(results: Results, benchmark: str) -> dict[str, str]:
    ledgers = [path for name, _, path in results.found_ledgers("clips") if name == benchmark]
    rows = pl.concat([pl.DataFrame(schema=CLIP_LEDGER), *(read_table(path, CLIP_LEDGER) for path in ledgers)])
    return dict(rows.filter(status="ok").select("clip_id", "sha256").iter_rows())


def differences(names: tuple[str, str], one: Conditions, other: Conditions) -> Iterator[str]:
    """A line or more for each condition that differs, in the order in which people ask."""
    yield from _of_settings(one, other, SHOWN)
    yield from _known_of_one(one, other, FRAMES)
    yield from _of_frames(one.frames, other.frames)
    yield from _known_of_one(one, other, PROMPT)
    yield from _of_prompts(one, other)
    yield from _of_settings(one, other, MADE)
    yield from _of_settings(one, other, ())
    yield from _of_clips(names, one, other)
    yield from _known_of_one(one, other, CLIPS)


def _of_settings(one: Conditions, other: Conditions, kinds: Iterable[str]) -> Iterator[str]:
    """The settings of some kinds, in their order; of all that are of no kind where none is named."""
    others = (one.settings.keys() | other.settings.keys()) - {*SHOWN, *MADE, PROMPT}
    for kind in kinds or sorted(others):
        before, after = ({kind: found.settings[kind]} if kind in found.settings else {} for found in (one, other))
        for change in changes_between(before, after):
            ours, theirs = (
                NOT_KNOWN if kind in found.unknown else text
                for found, text in ((one, change.before), (other, change.after))
            )
            yield f"- {change.name}: {ours} | {theirs}"


def _known_of_one(one: Conditions, other: Conditions, name: str) -> Iterator[str]:
    """That something without a short value is not known of one of them."""
    ours, theirs = (NOT_KNOWN if name in found.unknown else KNOWN for found in (one, other))
    if ours != theirs:
        yield f"- {name}: {ours} | {theirs}"


def _of_frames(one: Mapping[str, tuple[int, ...]], other: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """On how many clips other frames are shown, and which on the first of them."""
    both = [clip for clip in one if clip in other]
    differing = [clip for clip in both if one[clip] != other[clip]]
    if differing:
        first = differing[0]
        yield (
            f"- frames: others on {len(differing)} of {len(both)} clips; of {plain(first)}: "
            f"{_indices(one[first])} | {_indices(other[first])}"
        )


def _indices(indices: tuple[int, ...]) -> str:
    more = f" and {len(indices) - MOST_INDICES} more" if len(indices) > MOST_INDICES else ""
    listed = ", ".join(map(str, indices[:MOST_INDICES])) or "none"
    return f"{listed}{more} ({len(indices)})"


def _of_prompts(one: Conditions, other: Conditions) -> Iterator[str]:
    """The prompt as it stands in the settings, word by word, and how many questions were asked in other words."""
    if PROMPT in one.unknown | other.unknown:
        return
    before, after = (
        {f"prompt.{name}": text for name, text in leaves(found.settings.get(PROMPT, {}))} for found in (one, other)
    )
    for name in sorted(before.keys() | after.keys()):
        if before.get(name, "") != after.get(name, ""):
            yield f"- {name}: {word_diff(before.get(name, ''), after.get(name, ''))}"
    both = [name for name in one.prompts if name in other.prompts]
    differing = sum(one.prompts[name] != other.prompts[name] for name in both)
    if differing:
        yield f"- prompts as they were sent: others in {differing} of {len(both)} questions"


def word_diff(before: str, after: str) -> str:
    """Both texts in one: [-what only the first has-], {+what only the second has+}."""
    one, other = WORDS.findall(before), WORDS.findall(after)
    pieces = []
    for tag, first, last, start, end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        gone, new = "".join(one[first:last]), "".join(other[start:end])
        if tag == "equal":
            pieces.append(gone)
        else:
            pieces += [f"[-{gone}-]"] * bool(gone) + [f"{{+{new}+}}"] * bool(new)
    return _one_line("".join(pieces))


def _one_line(text: str) -> str:
    """A text on one line, its line ends shown."""
    return " \N{DOWNWARDS ARROW WITH CORNER LEFTWARDS} ".join(plain(line) for line in text.splitlines()) or ABSENT


def _of_clips(names: tuple[str, str], one: Conditions, other: Conditions) -> Iterator[str]:
    """The clips that only one of them was asked about, and those whose files differ."""
    for name, clips in (
        (names[1], one.answered - other.answered),
        (names[0], other.answered - one.answered),
    ):
        if clips:
            more = f" and {len(clips) - MOST_CLIPS} more" if len(clips) > MOST_CLIPS else ""
            listed = ", ".join(plain(clip) for clip in sorted(clips)[:MOST_CLIPS])
            yield f"- clips missing for {name} alone: {len(clips)}: {listed}{more}"
    both = [clip for clip in one.clips if clip in other.clips]
    differing = [clip for clip in both if one.clips[clip] != other.clips[clip]]
    if differing:
        yield f"- clips: other bytes in {len(differing)} of {len(both)}, the first is {plain(differing[0])}"
