"""Options whose text an answer gives in other words: the same events, in the same order, with what tells them apart.

Captions of one question differ in little: a word, an order, who does it to whom. So words are compared as stems in
their order, "X after Y" is put as "Y X", and where a statement holds what neither or both captions say, nothing is read.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from reprise.reading.normalise import KEPT, normalise
from reprise.reading.restated import words_of

SMALL = frozenset(
    """a an the then and is are was were be been being he she they it that this s their his her its him them there who which in
    at into onto with as while so first next finally afterwards subsequently one some very just now video clip shows
    showing show see seen can will has have do does did of i we scene depicts describes shown answer caption option before after until time times correct matches match where when first""".split()
)
# What turns a statement round, so that equal words no longer mean the same.
TURNING = frozenset("by not never no without instead rather receive receives received from or either neither nor if".split())
VOICES = frozenset(("by", "from", "receive", "receives", "received"))  # which matter where the captions differ in who does it
SAME = {
    same: group[0]
    for group in (
        ("give", "hand", "pass", "offer"), ("put", "place", "set", "lay"), ("throw", "toss"),
        ("take", "grab", "pick", "get"), ("walk", "go", "step"), ("start", "begin"), ("stop", "finish", "end"),
        ("man", "guy", "gentleman"), ("woman", "lady"), ("boy", "kid", "child"), ("leave", "exit"), ("enter", "come"),
        ("close", "shut"), ("turn", "rotate", "spin"), ("person", "someone", "somebody", "people"), ("big", "large"),
        ("small", "little"), ("fast", "quick"), ("jump", "leap", "hop"), ("look", "watch"), ("talk", "speak"),
        ("gray", "grey"), ("sofa", "couch"), ("once", "1"), ("twice", "two", "2"), ("thrice", "three", "3"),
        ("four", "4"), ("five", "5"), ("car", "automobile"), ("push", "shove"), ("drop", "fall"), ("lift", "raise"),
        ("forward", "forwards"), ("backward", "backwards"), ("chase", "follow"), ("cut", "slice", "chop"),
    )
    for same in group
}  # fmt: skip
REVERSING = re.compile(r"\bafter\b(?! (?:which|that|this)\b)|\bonce(?= (?:the|a|an|he|she|they|it|his|her)\b)", re.I)
LONGEST = 60  # content words
SHORTEST = 2  # content words of a caption; `short_options` reads shorter ones
PARTS = re.compile(r"\b(?:before|after which|after that|after this|whereupon|then|and then|afterwards|followed by|until|prior to)\b|[,;:]|\band\b(?= (?:then|afterwards|finally))")
FIRST = re.compile(r"\bfirst\W*$")
ENOUGH = 0.75  # of a statement's words are the caption's, in its order


def bare_stem(word: str) -> str:
    """A word without its ending."""
    short = re.sub(r"(?<=[aeiouy])([^aeiouy]{1,3})(?:ing|ed|es)$|(?:s|e)$", r"\1", word) if len(word) > 3 else word
    return re.sub(r"y$", "i", re.sub(r"([^aeiou])\1$", r"\1", short))


SAME_STEMS = {bare_stem(word): bare_stem(head) for word, head in SAME.items()}


@lru_cache(KEPT)
def stem(word: str) -> str:
    """One stem for a word and all that mean the same."""
    short = bare_stem(word)
    return SAME_STEMS.get(short, short)


IRREGULAR = {"gave": "giv", "given": "giv", "threw": "throw", "took": "tak", "taken": "tak", "went": "walk", "ran": "run", "ate": "eat",
             "eaten": "eat", "blew": "blow", "blown": "blow", "sat": "sit", "held": "hold", "left": "left", "fell": "fall", "spilt": "spil"}  # fmt: skip


@lru_cache(KEPT)
def told_parts(text: str) -> tuple[tuple[str, ...], ...]:
    """The stems of what a text tells, part by part, in the order in which it happens."""
    text = text.lower()
    after = REVERSING.search(text)
    if after and after[0] in ("after", "once"):
        before, later = text[: after.start()], text[after.end() :]
        if before.strip(" .,\"'"):
            parts = [later, before]
        else:
            first, _, second = later.partition(",")
            parts = [first, second]
    elif text.startswith("before ") and "," in text:
        second, _, first = text[7:].partition(",")
        parts = [first, second]
    else:
        parts = PARTS.split(text)
    stems = (tuple(IRREGULAR.get(word, stem(word)) for word in words_of(part) if word not in SMALL) for part in parts)
    return tuple(part for part in stems if part)


def events(text: str) -> tuple[str, ...]:
    """The stems of what a text tells, in the order in which it happens."""
    return tuple(word for part in told_parts(text) for word in part)[:LONGEST]


def in_order(statement: str, captions: Mapping[str, str]) -> str:
    """The caption whose two events come in the order of the statement's, where captions differ in that order only."""
    told = told_parts(statement)
    shown = {option: told_parts(normalise(caption)) for option, caption in captions.items()}
    if any(len(parts) != 2 for parts in shown.values()) or not 0 < len(told) <= 2:
        return ""
    (first, second), *others = shown.values()
    if any(set(parts[0]) - set(first) == set() for parts in others):
        return ""
    only = [set(first) - set(second), set(second) - set(first)]
    places = []
    for part in told:
        hits = [len(only[0].intersection(part)), len(only[1].intersection(part))]
        if len(set(part) - only[0] - only[1] - set(first)) > 1 or hits[0] == hits[1] or min(hits):
            return ""
        places.append(int(hits[1] > hits[0]))
    lower = statement.lower()
    if len(places) == 1 and not FIRST.search(lower):
        return ""
    if len(places) == 2 and places[0] == places[1]:
        return ""
    lead = shown_first = (first, second)[places[0]]
    fits = [option for option, parts in shown.items() if set(parts[0]) & set(lead) >= only[places[0]] & set(shown_first)]
    return fits[0] if len(fits) == 1 else ""


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for a in one:
        diagonal = 0
        for at, b in enumerate(other, 1):
            above = row[at]
            row[at] = diagonal + 1 if same(a, b) else max(above, row[at - 1])
            diagonal = above
    return row[-1]


def same(one: str, other: str) -> bool:
    """Equal, give or take a misspelling."""
    if one == other:
        return True
    if min(len(one), len(other)) < 5 or one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    return sorted(one) == sorted(other) or _one_edit(one, other)


def _one_edit(one: str, other: str) -> bool:
    """Do two words differ by one letter that one of them lacks?"""
    short, long = sorted((one, other), key=len)
    return len(short) < len(long) and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def paraphrased(statement: str, captions: Mapping[str, str], near: bool = False) -> str:
    """The one caption that a statement gives in other words; with `near` only one that it nearly restates."""
    told = events(normalise(statement))
    shown = {option: events(normalise(caption)) for option, caption in captions.items()}
    turning = TURNING.intersection(words_of(statement))
    said = set(words_of(" ".join(captions.values())))
    first, *others = map(sorted, shown.values())
    turning -= said if any(other == first for other in others) else said | VOICES
    if not told or len(told) >= LONGEST or "?" in statement or turning or min(map(len, shown.values())) < SHORTEST:
        return ""
    if not PEOPLE.intersection(word for own in shown.values() for word in own):
        told = tuple(word for word in told if word not in PEOPLE)
    by_order = "" if near else in_order(statement, captions)
    if by_order:
        return by_order
    scores = {option: common(told, own) for option, own in shown.items()}
    best = max(scores, key=scores.__getitem__)
    own, rivals = shown[best], [words for option, words in shown.items() if option != best]
    theirs = {word for words in rivals for word in words}
    swapped = [words for words in rivals if sorted(words) == sorted(own)]
    whole = [option for option, words in shown.items() if set(words) <= set(told) and common(told, words) >= len(words) - 1]
    if not swapped and not near and len(whole) == 1:  # it is told in full, with something added
        return whole[0]
    if not swapped:  # a word tells the captions apart: it must be told, and no other caption's
        found = [option for option, words in shown.items() if _tells_apart(told, words, [o for p, o in shown.items() if p != option])]
        if len(found) == 1 and set(told) <= set(shown[found[0]]) and scores[found[0]] >= len(told) - 1:
            return found[0]
    if any(score >= scores[best] for option, score in scores.items() if option != best) or (theirs - set(own)).intersection(told):
        return ""
    if scores[best] == len(told) and len(told) > 1 + near:  # all that is told is the caption's, in its order
        return best if all(_told_whose(told, own, words) for words in swapped) else ""
    return best if _close(told, own, scores[best], near) else ""


def _tells_apart(told: Sequence[str], own: Sequence[str], rivals: Sequence[Sequence[str]]) -> bool:
    """Does a statement hold a word that only one caption has, and none that only others have?"""
    theirs = {word for words in rivals for word in words}
    return bool((set(own) - theirs).intersection(told)) and not (theirs - set(own)).intersection(told)


def _told_whose(told: Sequence[str], own: Sequence[str], other: Sequence[str]) -> bool:
    """Is it told who does what to whom, or what comes first, where two captions hold the same words?"""
    for first, one in enumerate(told):
        for last in range(first + 2, len(told)):
            swapped = other.index(told[last]) < other.index(one)
            if swapped and any(own.index(one) < own.index(word) < own.index(told[last]) for word in told[first + 1 : last]):
                return True
    return False


def _close(told: Sequence[str], own: Sequence[str], score: int, near: bool) -> bool:
    """Is a statement nearly a caption, with a word or two of its own at most?"""
    if score < 2 or score < ENOUGH * len(told) or score < (0.8 if near else ENOUGH) * len(own):
        return False
    strange = [word for word in told if not any(same(word, other) for other in own)]
    return len(strange) <= max(1, len(told) // 6) and not any(word.isdigit() or word in NUMERALS for word in strange)


PEOPLE = frozenset(map(stem, ("man", "woman", "person", "boy", "girl", "child")))
NUMERALS = frozenset(map(stem, ("once", "twice", "thrice", "four", "five", "six", "several", "many")))
