"""Options of a word or two ("left", "3", "the dog") that an answer names inside a sentence."""

import re
from collections.abc import Mapping, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import TOKEN

FEW = 3
ARTICLES = frozenset(("the", "a", "an", "in", "at", "on"))
NUMBER_WORDS = {
    "zero": "0", "never": "0", "one": "1", "once": "1", "two": "2", "twice": "2", "three": "3", "thrice": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
COUNTING = frozenset(("once", "twice", "thrice", "never"))
# "left" and "right" are sides only where something goes or is there.
BEFORE_SIDE = frozenset(
    """to the her his their its turns turn turning turned goes moves moving facing face faces towards toward on from is
    looks heads first slides slid leans far steps then bottom top upper lower my your swings walks runs drives it went ran walked moved looked stepped swung headed pointed not leaned slid drove jumps jumped
    : = answer was be definitely probably""".split()
) | {""}
AFTER_SIDE = frozenset(("hand", "side", "first", "then", "and", "of", "direction", "", ".", ",", "!", ";", "before", "in", ":", "(", ")", "at", "with", "-", "as", "arm", "to", "foot", "leg", "again", "when", "because", "once", "while", "instead", "one"))
DENYING = w.NEGATIONS | frozenset(("rather_than", "instead", "than", "unlike", "rather"))
ENDINGS = ("", "s", "es", "ed", "d", "ing", "wards", "ward", "ly", "er", "ish", "like")
PHRASAL = frozenset("pick picks picked picking puts put sits sit stands stand gets wakes sets shuts slows slowed speeds cleans holds lies ends starts blows gives takes warms breaks brings first".split())
LAST = frozenset(("last", "finally", "lastly"))
ENDS = frozenset((",", ";", ".", "and", "then", "before", "but", "while", "who"))
TIMES = frozenset(("times", "time", "×", "x"))


def named_option(text: str, captions: Mapping[str, str]) -> str:
    """The one short option that a text names; empty where it names none or several."""
    own = {option: [word for word in _words(caption) if word not in ARTICLES] for option, caption in captions.items()}
    if not all(0 < len(words) <= FEW for words in own.values()) or "?" in text:
        return ""
    tokens = [token.lower() for token in TOKEN.findall(re.sub(r"\brather than\b", "rather_than", text))]
    if all(len(words) == 1 and NUMBER_WORDS.get(words[0], words[0]).isdigit() for words in own.values()):
        return _counted(tokens, {option: NUMBER_WORDS.get(words[0], words[0]) for option, words in own.items()})
    chosen, denied = set[str](), set[str]()
    for option, words in own.items():
        rivals = {word for other, theirs in own.items() if other != option for word in theirs}
        for at in _places(tokens, words, rivals):
            (denied if _denied(tokens, at) else chosen).add(option)
    if len(chosen) > 1:
        return _cued(tokens, own)
    chosen -= {option for option in denied if len(chosen) > 1}
    if len(chosen) == 1:
        return "" if chosen <= denied else chosen.pop()
    left = set(own) - denied
    return left.pop() if not chosen and denied and len(left) == 1 else ""


def _cued(tokens: Sequence[str], own: Mapping[str, Sequence[str]]) -> str:
    """Of several named options the one that is said to be the first or the last, if only one of the two is said."""
    cues = {"last": LAST.intersection(tokens), "first": {"first"}.intersection(tokens)}
    cue = next(iter(cues["last"] or cues["first"]), "") if bool(cues["last"]) != bool(cues["first"]) else ""
    pieces, piece = list[list[str]](), list[str]()
    for token in tokens:
        if token in ENDS:
            pieces, piece = [*pieces, piece], []
        else:
            piece.append(token)
    near = [piece for piece in [*pieces, piece] if cue and cue in piece]
    found = {
        option for option, words in own.items() for piece in near
        if any(not _denied(piece, at) for at in _places(piece, words, set()))
    }  # fmt: skip
    return found.pop() if len(found) == 1 else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _places(tokens: Sequence[str], words: Sequence[str], rivals: set[str]) -> list[int]:
    """Where a text names an option: all its words, or one that no other option has."""
    whole = [
        at for at in range(len(tokens) - len(words) + 1)
        if all(_inflected(token, word) for token, word in zip(_split(tokens[at : at + len(words)]), words, strict=False))
        and (len(words) > 1 or _is_meant(tokens, at))
    ]  # fmt: skip
    if whole or len(words) == 1:
        joined = [at for at, token in enumerate(tokens) if "-" in token and token.split("-") == list(words)]
        return whole + joined
    key = [word for word in words[:1] if word not in rivals and len(word) > 3]
    return [at for at, token in enumerate(tokens) if token.replace("-", "") == "".join(words) or (key and _inflected(token, key[0]))]


def _split(tokens: Sequence[str]) -> list[str]:
    return list(tokens)


def _inflected(token: str, word: str) -> bool:
    """Is a token the word, with an ending at most?"""
    return token == word or token in (f"{word}-hand", f"{word}-most") or (len(word) > 1 and token.startswith(word) and token[len(word) :] in ENDINGS)


def _is_meant(tokens: Sequence[str], at: int) -> bool:
    """Is "left" or "right" a side here?"""
    if tokens[at] in ("up", "down"):
        return at == 0 or tokens[at - 1] not in PHRASAL
    if tokens[at] not in ("left", "right"):
        return True
    before = tokens[at - 1] if at else ""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    if tokens[at] == "right" and before == "is" and tokens[max(0, at - 2) : at - 1] in (["that"], ["this"], ["it"]):
        return False
    return before in BEFORE_SIDE and after in AFTER_SIDE


def _denied(tokens: Sequence[str], at: int) -> bool:
    """Does a negation stand before the option, within its clause?"""
    for place in range(at - 1, max(at - 6, -1), -1):
        if tokens[place] in DENYING:
            return True
        if tokens[place] in (",", ";", ".", ":", "but"):
            return False
    return False


def _counted(tokens: Sequence[str], numbers: Mapping[str, str]) -> str:
    """The option that says how often; where nothing is counted in times, the one number among the options."""
    if not {"least", "most", "between", "than"}.isdisjoint(tokens):
        return ""
    often, plain = set[str](), set[str]()
    for at, token in enumerate(tokens):
        value = NUMBER_WORDS.get(token, token)
        if not value.isdigit() or (token == "one" and tokens[at + 1 : at + 2] and tokens[at + 1] not in TIMES):  # noqa: S105
            continue
        following = tokens[at + 1 : at + 3]
        if following[:1] == ["-"] or (at > 1 and tokens[at - 1] == "-" and tokens[at - 2].isdigit()):
            continue
        if following[:1] == ["or"] and NUMBER_WORDS.get(following[-1], following[-1]).isdigit():
            return ""
        (often if token in COUNTING or (following and following[0] in TIMES) else plain).add(value)
    found = often or plain
    options = [option for option, number in numbers.items() if number in found]
    return options[0] if len(found) == 1 and len(options) == 1 else ""
