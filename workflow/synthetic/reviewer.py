"""Simulate a reviewer who judges the tasks of a construction by the toy world's scripts.

    python -m synthetic.reviewer TASKS.csv VERDICTS.csv

The reviewer sees only the captions, not how they were generated.
"""

import csv
import io
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from reprise.core.files import write_text

from synthetic import annotators
from synthetic.toyworld.captions import SURFACES, format_gerund_phrase, format_verb_phrase
from synthetic.toyworld.counterfactuals import counterfactual_sources, counterfactuals
from synthetic.toyworld.generate import evaluation_sources
from synthetic.toyworld.script import ACTION_NAMES, STRENGTHS, Figure, Scene, Script
from synthetic.toyworld.temporalbench import BLINKS

REVIEWER = "script of the toy world"
COLUMNS = ("task_id", "digest", "reviewer", "verdict")
# Verdicts on a pair of captions of VELOCITI.
FIT, POSITIVE_WRONG, NEGATIVE_WRONG, BOTH_WRONG = "both fit", "positive is wrong", "negative is wrong", "both are wrong"
# Forms of captions: two deeds of one agent, two events in order, and one event.
COREFERENCE = re.compile(r"The (?:person|thing) (?:who|that) (?:is )?(.+) is also the one (?:who|that) (?:is )?(.+)\.")
CHRONOLOGY = re.compile(r"First, (.+)\. Then, (.+)\.")
CAPTION = re.compile(r"[Tt]he (\w+ \w+) (.+?)\.?")
BACKGROUND = re.compile(r"the background is (\w+ \w+)")
CLIP = re.compile(r".+/(.+)\.short-(\d+)-(\d+)")  # a clip's id in TemporalBench
VIDEO = re.compile(r"(.+)_(\d+)_(\d+)")  # a video's id in VATEX
ROLE = re.compile(r"'([^']+)': '([^']*)'")


@cache
def scripts() -> dict[str, Script]:
    """Return the scripts of all evaluation clips and their counterfactuals by clip id."""
    sources = (*evaluation_sources(), *counterfactual_sources())
    return {clip: script for source in sources for clip, script in source.clips().items()}


@cache
def _deed_by_phrase() -> dict[str, tuple[str, str]]:
    """Return the action and its strength by phrase. TemporalBench has other phrases of blinks, with their number."""
    deed_by_phrase = {
        format_phrase(*deed): deed
        for deed in product(ACTION_NAMES, STRENGTHS)
        for format_phrase in (format_verb_phrase, format_gerund_phrase)
    }
    return deed_by_phrase | {words: ("blink", strength) for strength, words in BLINKS.items()}


def _find_agents(phrase: str, script: Script) -> set[str]:
    """Return the names of the agents that do what a phrase says."""
    deed = _deed_by_phrase().get(phrase)
    return {figure.agent.name for figure in script.events if (figure.action, figure.strength) == deed}


def _occurrences(sentence: str, script: Script) -> Sequence[Figure | Scene]:
    """Return the scenes or the events of which a sentence is true."""
    if background := BACKGROUND.fullmatch(sentence):
        return [scene for scene in script.scenes if f"{SURFACES[scene.pattern]} {scene.tone}" == background[1]]
    match = CAPTION.fullmatch(sentence)
    if match is None:
        return []
    deed = _deed_by_phrase().get(match[2])
    return [event for event in script.events if event.agent.name == match[1] and (event.action, event.strength) == deed]


def is_true(caption: str, script: Script) -> bool:
    """Return whether a caption is true of a script."""
    if phrases := COREFERENCE.fullmatch(caption):
        return bool(_find_agents(phrases[1], script) & _find_agents(phrases[2], script))
    if sentences := CHRONOLOGY.fullmatch(caption):
        first, second = (_occurrences(sentence, script) for sentence in sentences.groups())
        return any(earlier.slot < later.slot for earlier in first for later in second)
    return bool(_occurrences(caption, script))


def verdict(task: Mapping[str, str]) -> str:
    """Return the verdict on a task of any benchmark, or an empty text if the reviewer gives none."""
    if "option" in task:
        return _verdict_on_option(task)
    if "question" in task:
        return annotators.verdict(task)
    if "caption" in task:
        return _verdict_on_video(task)
    if not task["negative"]:
        return _classify_caption(task["positive"], task["event"])
    script = scripts()[task["video"]]
    is_positive_true, is_negative_false = is_true(task["positive"], script), not is_true(task["negative"], script)
    if is_positive_true:
        return FIT if is_negative_false else NEGATIVE_WRONG
    return POSITIVE_WRONG if is_negative_false else BOTH_WRONG


def _verdict_on_option(task: Mapping[str, str]) -> str:
    """Return the verdict on a caption of a clip of TemporalBench, or an empty text without a caption."""
    clip = CLIP.fullmatch(task["video"])
    if clip is None or not task["option"]:
        return ""
    script = scripts()["v_{}_seg_{}_{}".format(*clip.groups())]
    return "fits" if is_true(task["option"], script) else "does not fit"


def _classify_caption(caption: str, dictionary: str) -> str:
    """Return `positive` if a caption names all roles, `neutral` if only the scene is missing, else `negative`."""
    roles = {role: text for role, text in ROLE.findall(dictionary) if role != "Verb"}
    missing_roles = [role for role, text in roles.items() if text.lower() not in caption.lower()]
    if not missing_roles:
        return "positive"
    return "neutral" if missing_roles == ["Scene of the Event"] else "negative"


def _verdict_on_video(task: Mapping[str, str]) -> str:
    """Return the verdict on a video and a caption of Vinoground, or the categories of a pair of captions."""
    if task["task_id"].startswith("category/"):
        pair_by_captions = {frozenset((pair.pos, pair.neg)): pair for pair in counterfactuals().values()}
        pair = pair_by_captions.get(frozenset(task["text"].split(" / ")))
        return ";".join((pair.major, *pair.minors)) if pair else ""
    video, sentences = VIDEO.fullmatch(task["video"]), CHRONOLOGY.fullmatch(task["text"])
    if video is None or sentences is None:
        return ""
    script = scripts()[f"v_{video[1]}_seg_{int(video[2])}_{int(video[3])}"]
    if not is_true(task["text"], script):
        return "does not show it"
    return "is ambiguous" if is_true(f"First, {sentences[2]}. Then, {sentences[1]}.", script) else "shows it"


def write_verdicts(tasks: Path, target: Path) -> None:
    """Judge the tasks of a csv file."""
    with tasks.open(encoding="utf-8", newline="") as stream:
        judgements = [(row, verdict(row)) for row in csv.DictReader(stream)]
    rows = [[row["task_id"], row["digest"], REVIEWER, judgement] for row, judgement in judgements if judgement]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *sorted(rows)])
    write_text(target, buffer.getvalue())


if __name__ == "__main__":
    write_verdicts(*map(Path, sys.argv[1:]))
