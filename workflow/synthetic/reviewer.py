"""A reviewer that knows the toy world's scripts: its verdicts on the tasks of a construction stand in for people's.

    python -m synthetic.reviewer TASKS.csv VERDICTS.csv

It reads the words of the captions alone, and nothing of how they were made.
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
from synthetic.toyworld.captions import SURFACES, deed_words, doing_words
from synthetic.toyworld.counterfactuals import counterfactual_sources, counterfactuals
from synthetic.toyworld.generate import evaluation_sources
from synthetic.toyworld.script import ACTION_NAMES, STRENGTHS, Figure, Scene, Script
from synthetic.toyworld.temporalbench import BLINKS

REVIEWER = "script of the toy world"
COLUMNS = ("task_id", "digest", "reviewer", "verdict")
FIT, POSITIVE_WRONG, NEGATIVE_WRONG, BOTH_WRONG = "both fit", "positive is wrong", "negative is wrong", "both are wrong"
COREFERENCE = re.compile(r"The (?:person|thing) (?:who|that) (?:is )?(.+) is also the one (?:who|that) (?:is )?(.+)\.")
CHRONOLOGY = re.compile(r"First, (.+)\. Then, (.+)\.")
CAPTION = re.compile(r"[Tt]he (\w+ \w+) (.+?)\.?")
BACKGROUND = re.compile(r"the background is (\w+ \w+)")
CLIP = re.compile(r".+/(.+)\.short-(\d+)-(\d+)")
VIDEO = re.compile(r"(.+)_(\d+)_(\d+)")
ROLE = re.compile(r"'([^']+)': '([^']*)'")


@cache
def scripts() -> dict[str, Script]:
    """The scripts of all evaluation clips and of their counterfactuals, by clip id."""
    sources = (*evaluation_sources(), *counterfactual_sources())
    return {clip: script for source in sources for clip, script in source.clips().items()}


@cache
def _deeds() -> dict[str, tuple[str, str]]:
    found = {words(*deed): deed for deed in product(ACTION_NAMES, STRENGTHS) for words in (deed_words, doing_words)}
    return found | {words: ("blink", strength) for strength, words in BLINKS.items()}


def _doers(words: str, script: Script) -> set[str]:
    """Who does what these words say; nobody where they say nothing that the toy world knows."""
    deed = _deeds().get(words)
    return {figure.agent.name for figure in script.events if (figure.action, figure.strength) == deed}


def _occurrences(sentence: str, script: Script) -> Sequence[Figure | Scene]:
    if background := BACKGROUND.fullmatch(sentence):
        return [one for one in script.scenes if f"{SURFACES[one.pattern]} {one.tone}" == background[1]]
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
    """The verdict on a task of any benchmark; none on what is to be searched for."""
    if "option" in task:
        return _verdict_on_option(task)
    if "question" in task:
        return annotators.verdict(task)
    if "caption" in task:
        return _verdict_on_video(task)
    if not task["negative"]:
        return _says_all(task["positive"], task["event"])
    script = scripts()[task["video"]]
    is_positive, is_negative = is_true(task["positive"], script), not is_true(task["negative"], script)
    if is_positive and is_negative:
        return FIT
    return NEGATIVE_WRONG if is_positive else POSITIVE_WRONG if is_negative else BOTH_WRONG


def _verdict_on_option(task: Mapping[str, str]) -> str:
    """Whether a caption is true of a clip of TemporalBench; none on a clip that nobody has described."""
    clip = CLIP.fullmatch(task["video"])
    if clip is None or not task["option"]:
        return ""
    script = scripts()["v_{}_seg_{}_{}".format(*clip.groups())]
    return "fits" if is_true(task["option"], script) else "does not fit"


def _says_all(caption: str, dictionary: str) -> str:
    """`positive` where a caption says who does what how; `neutral` where only the scene is left out."""
    roles = {role: text for role, text in ROLE.findall(dictionary) if role != "Verb"}
    missing = [role for role, text in roles.items() if text.lower() not in caption.lower()]
    if not missing:
        return "positive"
    return "neutral" if missing == ["Scene of the Event"] else "negative"


def _verdict_on_video(task: Mapping[str, str]) -> str:
    """Whether a video shows a caption and not its counterfactual; the category of a pair."""
    if task["task_id"].startswith("category/"):
        known = {frozenset((one.pos, one.neg)): one for one in counterfactuals().values()}
        pair = known.get(frozenset(task["text"].split(" / ")))
        return ";".join((pair.major, *pair.minors)) if pair else ""
    found, order = VIDEO.fullmatch(task["video"]), CHRONOLOGY.fullmatch(task["text"])
    if found is None or order is None:
        return ""
    script = scripts()[f"v_{found[1]}_seg_{int(found[2])}_{int(found[3])}"]
    if not is_true(task["text"], script):
        return "does not show it"
    return "is ambiguous" if is_true(f"First, {order[2]}. Then, {order[1]}.", script) else "shows it"


def write_verdicts(tasks: Path, target: Path) -> None:
    """Judge the tasks of a csv file."""
    with tasks.open(encoding="utf-8", newline="") as stream:
        said = [(row, verdict(row)) for row in csv.DictReader(stream)]
    rows = [[row["task_id"], row["digest"], REVIEWER, one] for row, one in said if one]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *sorted(rows)])
    write_text(target, buffer.getvalue())


if __name__ == "__main__":
    write_verdicts(*map(Path, sys.argv[1:]))
