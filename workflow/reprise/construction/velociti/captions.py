"""Reading the writer's captions, and putting them together as the tests need them."""

import re
from collections.abc import Mapping

from reprise.construction.filters import Row
from reprise.construction.replies import PROBLEMS as OF_REPLIES
from reprise.construction.replies import read_parts
from reprise.construction.velociti.dictionaries import CAPTION
from reprise.construction.velociti.vidsitu import plain_name
from reprise.construction.velociti.world import words
from reprise.construction.writing import FAILED, Reading

FLUENT, TARGET = "Fluent Caption", "Target"
ENDINGS = ("ing", "ed", "es", "s", "d")
CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
WRITTEN_FILTERS = (
    FAILED, *OF_REPLIES, "no_agent", "foreign_name", "target_in_video", "target_unchanged", "unchanged",
)  # fmt: skip


class CaptionReader:
    """Reads replies to Figs. 10 to 12; knows who is named anywhere in the data, so that a stranger is noticed."""

    def __init__(self, agents: set[str], prompts: Mapping[str, str]) -> None:
        self._agents = {name for name in map(plain_name, agents) if " " in name}
        self._prompts = prompts

    def read(self, text: Row, reply: str, written: Mapping[str, str]) -> Reading:
        """The fluent caption of a reply, or what is wrong with it."""
        labels = [FLUENT] if text["kind"] == CAPTION else [TARGET, FLUENT]
        parts = read_parts(reply, labels, self._prompts[text["kind"]])
        if parts.problem:
            return Reading(problem=parts.problem, why=parts.why)
        caption, target = parts.found[FLUENT], parts.found.get(TARGET, "")
        problem, why = self._wrong(text, caption, target, written)
        return Reading(problem=problem, why=why) if problem else Reading(caption, target)

    def _wrong(self, text: Row, caption: str, target: str, written: Mapping[str, str]) -> tuple[str, str]:
        named = _words(caption)
        missing = sorted(words(text["agent"]) - named)
        if missing:
            return "no_agent", f"'{missing[0]}' of the agent '{text['agent']}' is not in '{caption}'"
        stranger = self._stranger(text, caption)
        if stranger:
            return "foreign_name", f"'{stranger}' is not in the dictionary, but in '{caption}'"
        if text["kind"] == "action_adv":
            same = [one for one in text["known"] if stems(one) & stems(target)]
            if same:
                return "target_in_video", f"'{target}' is '{same[0]}', which happens in the video"
        if text["kind"] == "action_manner" and plain(target) in map(plain, text["known"]):
            return "target_unchanged", f"'{target}' is the manner that it should replace"
        if plain(caption) == plain(written.get(text["instead_of"], "")):
            return "unchanged", f"'{caption}' is the true caption"
        return "", ""

    def _stranger(self, text: Row, caption: str) -> str:
        """A name that the dictionary lacks: one of another video's agents, or a proper name."""
        shown = text["values"][0]["text"].lower()
        spaced = f" {' '.join(re.findall(r'[a-z0-9]+', caption.lower()))} "
        others = (name for name in sorted(self._agents) if name not in plain_name(shown) and f" {name} " in spaced)
        proper = (name for name in CAPITALISED.findall(caption) if name.lower() not in shown)
        return next(others, "") or next(proper, "")


def plain(text: str) -> str:
    """A text without case and punctuation."""
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\s,.;:!?\"]+", text.lower()))


def stems(text: str) -> set[str]:
    """What the words of a verb have in common with its other forms: `sliding`, `slides` and `slide` share one."""
    found = set()
    for word in re.findall(r"[a-z]+", text.lower()):
        bare = {word, *(word.removesuffix(ending) for ending in ENDINGS)}
        found |= {stem.removesuffix("e") for stem in bare if len(stem) > 2}
        found |= {stem[:-1] for stem in bare if len(stem) > 3 and stem[-1] == stem[-2]}  # spinning
    return found


def predicate(caption: str, agent: str) -> str:
    """What a caption says of its agent; empty where the agent is not found in it."""
    wanted = [re.escape(word) for word in plain_name(agent).split()]
    pattern = r"\b" + r"\W+(?:\w+\W+)?".join(wanted) + r"\b\s*,?\s*"
    found = re.search(pattern, caption, re.IGNORECASE) if wanted else None
    return caption[found.end() :].strip().rstrip(".").strip() if found else ""


def in_order(first: str, second: str) -> str:
    """As the released captions are."""
    one, two = (text if text.endswith(".") else f"{text}." for text in (first, second))
    return f"First, {one} Then, {two}"
