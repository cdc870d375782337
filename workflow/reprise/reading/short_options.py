"""Options of a word or two ("left", "3", "the dog") that an answer names inside a sentence."""

import re
from collections.abc import Mapping, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import TOKEN, join_phrases
from reprise.reading.paraphrase import SMALL, bare_stem

FEW = 3  # words of an option that is looked for inside sentences
ARTICLES = w.words("the, a, an, in, at, on")
NUMBER_WORDS = {
    "zero": "0", "never": "0", "one": "1", "once": "1", "two": "2", "twice": "2", "three": "3", "thrice": "3",
    "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
COUNTING, TIMES = w.words("once, twice, thrice, never"), w.words("times, time, ×, x")
BOUNDS = w.words("least, most, between, than")
# "left" and "right" are sides only where something goes or is there.
BEFORE_SIDE = w.words("""
    a, to, the, her, his, their, its, turns, turn, turning, turned, goes, moves, moving, facing, face, faces, towards,
    toward, on, from, is, looks, heads, first, slides, slid, leans, far, steps, then, bottom, top, upper, lower, my,
    your, swings, it, went, ran, walked, moved, looked, stepped, swung, headed, pointed, not, leaned, drove, jumps,
    jumped, :, =, answer, was, be, definitely, probably, walks, runs, drives
""") | {""}
AFTER_SIDE = w.words("""
    turn, turning, hand, side, first, then, and, of, direction, ., !, ;, before, in, :, (, ), at, with, -, as, arm,
    to, foot, leg, again, when, because, once, while, instead, one
""") | {"", ","}
JUDGED_RIGHT = (["that"], ["this"], ["it"])  # before "is right"
PHRASAL = w.words("""
    pick, picks, picked, picking, puts, put, sits, sit, stands, stand, gets, wakes, sets, shuts, slows, slowed,
    speeds, cleans, holds, lies, ends, starts, blows, gives, takes, warms, breaks, brings
""")
DENYING = w.NEGATIONS | w.words("rather than, instead, than, unlike, rather")
REACH = 6  # words behind a negation that it denies
BREAKS = frozenset((",", ";", ".", ":", "but"))
ENDINGS = frozenset(("", "s", "es", "ed", "d", "ing", "wards", "ward", "ly", "er", "ish", "like"))
LAST = w.words("last, finally, lastly")
ENDS = w.words("and, then, before, but, while, who, .") | {",", ";"}


def named_option(text: str, captions: Mapping[str, str]) -> str:
    """The one short option that a text names; of several the one that is said to be the first, or the last."""
    own = {option: [word for word in _words(caption) if word not in ARTICLES] for option, caption in captions.items()}
    if any(len(words) > FEW for words in own.values()):
        own = {option: [word for word in words if word not in SMALL] for option, words in own.items()}
    if not all(0 < len(words) <= FEW for words in own.values()) or "?" in text:
        return ""
    said = [word.lower() for word in TOKEN.findall(re.sub(r"\brather than\b", "rather_than", text))]
    if not w.OPEN_QUESTIONS.isdisjoint(join_phrases(said)):
        return ""
    counts = {option: [word for word in words if word not in TIMES] for option, words in own.items()}
    numbers = {option: NUMBER_WORDS.get(words[0], words[0]) for option, words in counts.items() if len(words) == 1}
    if len(numbers) == len(own) and all(number.isdigit() for number in numbers.values()):
        return _counted(said, numbers)
    chosen, denied, possible = set[str](), set[str](), set[str]()
    for option, words in own.items():
        rivals = {word for other, theirs in own.items() if other != option for word in theirs}
        for at in _places(said, words, rivals):
            (denied if _within(DENYING, said, at) else possible if _within(w.CAN, said, at) else chosen).add(option)
    chosen = chosen or possible
    if len(chosen) > 1:
        return _cued(said, own)
    if chosen:
        return "" if chosen <= denied else chosen.pop()
    left = set(own) - denied
    return left.pop() if denied and len(left) == 1 else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _cued(said: Sequence[str], own: Mapping[str, Sequence[str]]) -> str:
    """Of several named options the one beside "last", or beside "first" where nothing is last."""
    last, first = LAST.intersection(said), {"first"}.intersection(said)
    if bool(last) == bool(first):
        return ""
    cue = next(iter(last or first))
    pieces = [list[str]()]
    for word in said:
        if word in ENDS:
            pieces.append([])
        else:
            pieces[-1].append(word)
    found = {
        option
        for option, words in own.items()
        for piece in pieces
        if cue in piece and any(not _within(DENYING, piece, at) for at in _places(piece, words, set()))
    }
    return found.pop() if len(found) == 1 else ""


def _places(said: Sequence[str], words: Sequence[str], rivals: set[str]) -> list[int]:
    """Where a text names an option: by all its words, or by one that no other option has."""
    size = len(words)
    whole = [
        at
        for at in range(len(said) - size + 1)
        if all(map(_is_form, said[at : at + size], words)) and (size > 1 or _is_meant(said, at))
    ]
    if size == 1:
        return whole
    joined = [at for at, word in enumerate(said) if word.replace("-", "") == "".join(words)]
    telling = [word for word in words if word not in rivals and len(word) > 3] if not (whole or joined) else []
    return whole + joined + [at for at, word in enumerate(said) if any(_is_form(word, own) for own in telling)]


def _is_form(found: str, word: str) -> bool:
    """Is this the word, with an ending at most?"""
    if bare_stem(found) == bare_stem(word) or found in (f"{word}-hand", f"{word}-most", f"{word}-sized"):
        return True
    return len(word) > 1 and found.startswith(word) and found[len(word) :] in ENDINGS


def _is_meant(said: Sequence[str], at: int) -> bool:
    """Is "left", "right", "up" or "down" a direction here?"""
    word, before = said[at], said[at - 1] if at else ""
    if word in ("up", "down"):
        return before not in PHRASAL
    if word not in ("left", "right"):
        return True
    if word == "right" and before == "is" and said[max(0, at - 2) : at - 1] in JUDGED_RIGHT:
        return False
    return before in BEFORE_SIDE and (said[at + 1] if at + 1 < len(said) else "") in AFTER_SIDE


def _within(kind: frozenset[str], said: Sequence[str], at: int) -> bool:
    """Does a word of a kind, such as a negation, stand before the option, within its clause?"""
    for word in reversed(said[max(at - REACH, 0) : at]):
        if word in kind:
            return True
        if word in BREAKS:
            return False
    return False


def _counted(said: Sequence[str], numbers: Mapping[str, str]) -> str:
    """The option that says how often; where nothing is counted in times, the one number among the options."""
    if not BOUNDS.isdisjoint(said):
        return ""
    often, plain = set[str](), set[str]()
    for at, word in enumerate(said):
        value, after = NUMBER_WORDS.get(word, word), said[at + 1] if at + 1 < len(said) else ""
        ranged = after in ("-", "or") or (at > 1 and said[at - 1] in ("-", "or") and said[at - 2].isdigit())
        pronoun = word == "one" and after[:1].isalpha() and after not in TIMES
        if not value.isdigit() or pronoun or (ranged and after == "-") or (ranged and said[at - 1] == "-"):
            continue
        if (
            after == "or"
            and NUMBER_WORDS.get(said[min(at + 2, len(said) - 1)], said[min(at + 2, len(said) - 1)]).isdigit()
        ):
            return ""
        (often if word in COUNTING or after in TIMES else plain).add(value)
    found = often or plain
    options = [option for option, number in numbers.items() if number in found]
    return options[0] if len(found) == 1 and len(options) == 1 else ""
