"""A reviewer that knows the scripts: its verdicts on the tasks of a construction stand in for people's.

It reads the words of the captions alone, and nothing of how they were made.
"""

import csv
import io
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from reprise.core.files import write_text

from synthetic.toyworld.captions import deed_words
from synthetic.toyworld.generate import evaluation_sources
from synthetic.toyworld.script import ACTION_NAMES, STRENGTHS, Figure, Script

REVIEWER = "script of the toy world"
COLUMNS = ("task_id", "digest", "reviewer", "verdict")
FIT, POSITIVE_WRONG, NEGATIVE_WRONG, BOTH_WRONG = "both fit", "positive is wrong", "negative is wrong", "both are wrong"
COREFERENCE = re.compile(r"The (?:person|thing) (?:who|that) (.+) is also the one (?:who|that) (.+)\.")
CHRONOLOGY = re.compile(r"First, (.+)\. Then, (.+)\.")
CAPTION = re.compile(r"[Tt]he (\w+ \w+) (.+?)\.?")
ROLE = re.compile(r"'([^']+)': '([^']*)'")


@cache
def scripts() -> dict[str, Script]:
    """The scripts of all evaluation clips, by clip id."""
    return {clip: script for source in evaluation_sources() for clip, script in source.clips().items()}


@cache
def _deeds() -> dict[str, tuple[str, str]]:
    return {deed_words(action, strength): (action, strength) for action in ACTION_NAMES for strength in STRENGTHS}


def _doers(words: str, script: Script) -> set[str]:
    """Who does what these words say; nobody where they say nothing that the toy world knows."""
    deed = _deeds().get(words)
    return {figure.agent.name for figure in script.events if (figure.action, figure.strength) == deed}


def _occurrences(sentence: str, script: Script) -> list[Figure]:
    found = CAPTION.fullmatch(sentence)
    if found is None:
        return []
    deed = _deeds().get(found[2])
    return [one for one in script.events if one.agent.name == found[1] and (one.action, one.strength) == deed]


def is_true(caption: str, script: Script) -> bool:
    """Whether the script does what a caption says."""
    if both := COREFERENCE.fullmatch(caption):
        return bool(_doers(both[1], script) & _doers(both[2], script))
    if order := CHRONOLOGY.fullmatch(caption):
        first, then = (_occurrences(sentence, script) for sentence in order.groups())
        return any(one.slot < two.slot for one in first for two in then)
    return bool(_occurrences(caption, script))


def verdict(task: Mapping[str, str]) -> str:
    """The verdict on a task: a sample, or a single caption against its dictionary."""
    if not task["negative"]:
        return _says_all(task["positive"], task["event"])
    script = scripts()[task["video"]]
    is_positive, is_negative = is_true(task["positive"], script), not is_true(task["negative"], script)
    if is_positive and is_negative:
        return FIT
    return NEGATIVE_WRONG if is_positive else POSITIVE_WRONG if is_negative else BOTH_WRONG


def _says_all(caption: str, dictionary: str) -> str:
    """`positive` where a caption says who does what how; `neutral` where only the scene is left out."""
    roles = {role: text for role, text in ROLE.findall(dictionary) if role != "Verb"}
    missing = [role for role, text in roles.items() if text.lower() not in caption.lower()]
    if not missing:
        return "positive"
    return "neutral" if missing == ["Scene of the Event"] else "negative"


def write_verdicts(tasks: Path, target: Path) -> None:
    """Judge the tasks of a csv file."""
    with tasks.open(encoding="utf-8", newline="") as stream:
        rows = [[row["task_id"], row["digest"], REVIEWER, verdict(row)] for row in csv.DictReader(stream)]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *sorted(rows)])
    write_text(target, buffer.getvalue())
