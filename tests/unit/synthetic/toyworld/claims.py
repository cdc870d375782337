"""A second opinion on captions: reads the words alone and says what a script makes of them."""

import re

from synthetic.toyworld.script import Figure, Script

VERBS = {
    "slides left": "slide_left", "slides right": "slide_right", "floats up": "float", "sinks down": "sink",
    "grows": "grow", "shrinks": "shrink", "stretches": "stretch", "jumps": "jump", "spins": "spin", "blinks": "blink",
    "sliding left": "slide_left", "sliding right": "slide_right", "floating up": "float", "sinking down": "sink",
    "growing": "grow", "shrinking": "shrink", "stretching": "stretch", "jumping": "jump", "spinning": "spin",
    "blinking": "blink",
}  # fmt: skip
MANNERS = {"quickly": "strong", "slowly": "weak", "high": "strong", "low": "weak"}
DEED = rf"(?P<verb>{'|'.join(VERBS)}) (?P<manner>{'|'.join(MANNERS)})"
EVENT = re.compile(rf"[Tt]he (?P<colour>\w+) (?P<shape>\w+) {DEED}")
COREFERENCE = re.compile(r"The thing that is (.+) is also the one that is (.+)\.")
CHRONOLOGY = re.compile(r"First, (.+)\. Then, (.+)\.")


def _doers(deed: str, script: Script) -> set[str]:
    match = re.fullmatch(DEED, deed)
    assert match, deed
    wanted = (VERBS[match["verb"]], MANNERS[match["manner"]])
    return {figure.agent.name for figure in script.figures if (figure.action, figure.strength) == wanted}


def _occurrences(sentence: str, script: Script) -> list[Figure]:
    match = EVENT.fullmatch(sentence.removesuffix("."))
    assert match, sentence
    wanted = (match["colour"], match["shape"], VERBS[match["verb"]], MANNERS[match["manner"]])
    return [f for f in script.figures if (f.agent.colour, f.agent.shape, f.action, f.strength) == wanted]


def is_true(caption: str, script: Script) -> bool:
    """Whether the script does what the caption says."""
    if match := COREFERENCE.fullmatch(caption):
        return bool(_doers(match[1], script) & _doers(match[2], script))
    if match := CHRONOLOGY.fullmatch(caption):
        first, then = (_occurrences(sentence, script) for sentence in match.groups())
        return any(one.slot + 2 <= two.slot for one in first for two in then)
    return bool(_occurrences(caption, script))
