"""Options whose text an answer gives in other words: the same events, in the same order, with what tells them apart.

Captions of one question differ in little: a word, an order, who does it to whom. So words are compared as stems in
their order, "X after Y" is put as "Y X", and where a statement tells nothing that sets them apart, nothing is read.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from reprise.reading import words as w
from reprise.reading.normalise import KEPT, normalise
from reprise.reading.restated import words_of

SMALL = w.words("""
    a, an, the, then, and, is, are, was, were, be, been, being, he, she, they, it, that, this, s, their, his, her, its,
    him, them, there, who, which, in, at, into, onto, with, as, while, so, first, next, finally, afterwards,
    subsequently, one, some, very, just, now, video, clip, shows, showing, show, see, seen, can, will, has, have, do,
    does, did, of, i, we, scene, depicts, describes, shown, answer, caption, option, before, after, until, time, times,
    to, from, use, uses, used, using, gets, correct, matches, match, where, wearing, dressed, wears, herself, himself,
    because
""")
# What turns a statement round, so that equal words no longer mean the same.
TURNING = w.words("""
    by, receive, receives, received, from, or, either, neither, nor, if
""")
DENIED = re.compile(
    r"\b(?:(?:and |but )?not|never|no|without|rather than|instead of)\b(?! only)(?:(?!\bbut\b)[^,.;:])*", re.I
)
JUDGED_RIGHT = re.compile(r"\b(?:that|this|it) is right\b", re.I)
PASSIVE = re.compile(r"^(.*?)\b(?:is|are|was|were|gets)\b(.*?)\bby ((?:the|an?|his|her) \w+)", re.I)
PARTICLES = w.words("on, down, up, off, out, away, over, back")
VOICES = w.words("by, from, receive, receives, received")  # which matter only where captions differ in who does it
ALIKE = """
    give hand pass offer | put place set lay | throw toss | take grab pick get | walk go step | start begin |
    stop finish end | man guy gentleman | woman lady | boy kid child | leave exit | enter come | close shut |
    turn rotate spin | person someone somebody people | big large | small little | fast quick | jump leap hop
    | look watch | talk speak | gray grey | sofa couch | once 1 | twice two 2 | thrice three 3 | four 4 | five
    5 | car automobile | push shove | drop fall | lift raise | forward forwards | backward backwards | chase
    follow | cut slice chop | gentle gently | angry angrily anger
"""
PAST = {
    "gave": "giv", "given": "giv", "threw": "throw", "took": "tak", "taken": "tak", "went": "walk", "ran": "run",
    "ate": "eat", "eaten": "eat", "blew": "blow", "blown": "blow", "sat": "sit", "held": "hold", "left": "left",
    "fell": "fall", "spilt": "spil",
}  # fmt: skip
REVERSING = re.compile(r"\bafter\b(?! (?:which|that|this)\b)|\bonce(?= (?:the|a|an|he|she|they|it|his|her)\b)")
PARTING = re.compile(
    r"\b(?:before|after which|after that|after this|whereupon|then|afterwards|followed by|until|prior to|precedes)\b|"
    r"\bfirst (?:and|but)\b|[,;:]|\band\b(?= (?:then|afterwards|finally))"
)
AT_ONCE = re.compile(r"\b(?:while|when|as)\b", re.I)
IS_FIRST = re.compile(r"\bfirst\W*$|^\W*first\b")
LONGEST = 60  # content words of a statement
SHORTEST = 2  # content words of a caption; `short_options` reads shorter ones
SHORT = 5  # letters; a longer word in -ly is an adverb
ENOUGH, NEARLY_ALL = 0.75, 0.8  # of the words are in common, in their order
Told = tuple[str, ...]


def bare_stem(word: str) -> str:
    """A word without its ending."""
    if len(word) > SHORT and word.endswith("ly"):
        word = f"{word[:-3]}y" if word.endswith("ily") else word[:-2]
    short = re.sub(r"(?<=[aeiouy])([^aeiouy]{1,3})(?:ing|ed|es)$|(?:s|e)$", r"\1", word) if len(word) > 3 else word
    return re.sub(r"y$", "i", re.sub(r"([^aeiou])\1$", r"\1", short))


HEADS = {
    bare_stem(word): bare_stem(group.split()[0])
    for group in ALIKE.split("|") for word in group.split()
}  # fmt: skip


@lru_cache(KEPT)
def stem(word: str) -> str:
    """One stem for a word and all that mean the same."""
    short = PAST.get(word) or bare_stem(word)
    return HEADS.get(short, short) if word not in PAST else short


PEOPLE = frozenset(map(stem, ("man", "woman", "person", "boy", "girl", "child")))
NUMERALS = frozenset(map(stem, ("once", "twice", "thrice", "four", "five", "six", "several", "many")))


@lru_cache(KEPT)
def told_parts(text: str) -> tuple[Told, ...]:
    """The stems of what a text tells, part by part, in the order in which it happens."""
    text = text.lower().replace("-", "")
    after = REVERSING.search(text)
    if after:
        before, later = text[: after.start()], text[after.end() :]
        parts = [later, before] if before.strip(" .,\"'") else list(later.partition(",")[::2])
    elif text.startswith("before ") and "," in text:
        parts = list(text[7:].partition(",")[::-2])
    else:
        parts = PARTING.split(text)
    stems = (tuple(stem(word) for word in words_of(part) if word not in SMALL) for part in parts)
    return tuple(part for part in stems if part)


def events(text: str) -> Told:
    """The stems of what a text tells, in the order in which it happens."""
    return tuple(word for part in told_parts(text) for word in part)[:LONGEST]


def paraphrased(statement: str, captions: Mapping[str, str], near: bool = False) -> str:
    """The one caption that a statement gives in other words; with `near` only one that it nearly restates."""
    shown = {option: events(normalise(caption)) for option, caption in captions.items()}
    active = PASSIVE.sub(r"\3 \2 \1", statement) if "by" not in words_of(" ".join(captions.values())) else statement
    denies = not any(map(DENIED.search, captions.values()))
    stated = JUDGED_RIGHT.sub(" ", DENIED.sub(" ", active) if denies else active)
    told = in_words_of(events(stated), shown)
    if "?" in statement or min(map(len, shown.values())) < SHORTEST or len(told) >= LONGEST:
        return ""
    orders = [sorted(own) for own in shown.values()]
    is_swap = any(order == orders[0] for order in orders[1:])
    told_apart = is_swap or any(_tells_apart(told, option, shown) for option in shown)
    if stated != active and not near and not told_apart:
        return _left_when_denied(in_words_of(events(active), shown), shown)
    turning = TURNING.intersection(words_of(stated)) - set(words_of(" ".join(captions.values())))
    at_once = is_swap and AT_ONCE.search(stated) and not any(map(AT_ONCE.search, captions.values()))
    if len(told) < 1 + near or at_once or (turning if is_swap else turning - VOICES):
        return ""
    if is_swap and not near:
        by_order = in_order(stated, captions)
        if by_order is not None:
            return by_order
    parts = {option: told_parts(normalise(caption)) for option, caption in captions.items()}
    return _best(told, shown, parts, near)


def in_words_of(told: Told, shown: Mapping[str, Told]) -> Told:
    """What is told in the words of the captions: misspelt ones right, idle people and particles gone."""
    known = {word for own in shown.values() for word in own}
    told = tuple(word if word in known else next((own for own in known if same(word, own)), word) for word in told)
    idle = PARTICLES | (PEOPLE if PEOPLE.isdisjoint(known) else frozenset())
    return tuple(word for word in told if word in known or word not in idle)


def _left_when_denied(denied: Told, shown: Mapping[str, Told]) -> str:
    """The one of two options that is left where a statement denies what sets the other apart."""
    apart = [option for option in shown if _tells_apart(denied, option, shown)]
    left = set(shown).difference(apart)
    return left.pop() if len(apart) == 1 and len(left) == 1 and len(denied) > 1 else ""


def _best(told: Told, shown: Mapping[str, Told], parts: Mapping[str, tuple[Told, ...]], near: bool) -> str:
    """The option whose words are told, and what tells it apart from the others; empty where that is not sure."""
    if list(shown.values()).count(told) == 1:
        return next(option for option, own in shown.items() if own == told)
    scores = {option: common(told, own) for option, own in shown.items()}
    best = max(scores, key=scores.__getitem__)
    own, rivals = shown[best], [words for option, words in shown.items() if option != best]
    swapped = [words for words in rivals if sorted(words) == sorted(own)]
    if not swapped:
        whole = [o for o, words in shown.items() if set(words) <= set(told) and scores[o] >= len(words) - 1]
        if len(whole) == 1 and not near:
            return whole[0]  # it is told in full, with something added
        apart = [option for option in shown if _tells_apart(told, option, shown)]
        if len(apart) != 1:
            return ""
        if set(told) <= set(shown[apart[0]]):
            if _out_of_order(told, parts[apart[0]]):
                return ""
            return apart[0] if _tells_it_alike(told, apart[0], shown) else ""
    theirs = {word for words in rivals for word in words} - set(own)
    if list(scores.values()).count(scores[best]) > 1 or theirs.intersection(told):
        return ""
    if scores[best] == len(told) and len(told) > 1 + near:  # all that is told is the caption's, in its order
        return best if all(_tells_whose(told, own, words) for words in swapped) else ""
    return best if _is_close(told, own, scores[best], near) else ""


def _out_of_order(told: Told, parts: tuple[Told, ...]) -> bool:
    """Is the second of a caption's two events told before the first?"""
    if len(parts) != 2:
        return False
    first, second = set(parts[0]).difference(parts[1], PEOPLE), set(parts[1]).difference(parts[0], PEOPLE)
    places = [at for at, word in enumerate(told) if word in first]
    later = [at for at, word in enumerate(told) if word in second]
    return bool(places and later) and min(places) > max(later)


def _tells_apart(told: Told, option: str, shown: Mapping[str, Told]) -> bool:
    """Does a statement hold words that a caption has and the others have not, and none that only they have?"""
    own = set(shown[option])
    rivals = [set(words) for other, words in shown.items() if other != option]
    if any(not (words - own).isdisjoint(told) for words in rivals):
        return False
    return not any((own - words - PARTICLES or own - words).isdisjoint(told) for words in rivals)


def _tells_it_alike(told: Told, option: str, shown: Mapping[str, Told]) -> bool:
    """Is what tells a caption apart told of the same thing and of the same person?"""
    own, beside = shown[option], Told()
    theirs = set.intersection(*(set(words) for other, words in shown.items() if other != option))
    for word in set(own) - theirs:
        if word in told:
            at = own.index(word)
            beside += own[max(0, at - 1) : at] + own[at + 1 : at + 2]
            whose, told_whose = _last_person(own[:at]), _last_person(told[: told.index(word)])
            if whose and told_whose and whose != told_whose:
                return False
    return len(told) <= 2 or not theirs.isdisjoint(set(told) - PEOPLE) or not set(beside).isdisjoint(told)


def _last_person(words: Told) -> str:
    """The last person that words speak of."""
    return next((word for word in reversed(words) if word in PEOPLE), "")


def _tells_whose(told: Told, own: Told, other: Told) -> bool:
    """Is it told who does what to whom, or what comes first, where two captions hold the same words?"""
    for first, one in enumerate(told):
        for last in range(first + 1, len(told)):
            start, end = own.index(one), own.index(told[last])
            between = any(start < own.index(word) < end for word in told[first + 1 : last])
            turned = start < end and other.index(told[last]) < other.index(one)
            if turned and (between or _is_pivot(one, told[last], own, other)):
                return True
    return False


def _is_pivot(one: str, pivot: str, own: Told, other: Told) -> bool:
    """Does a word stand between two that change places, as the verb does between who does it and to whom?"""
    behind, ahead = own[own.index(pivot) + 1 :], other[: other.index(pivot)]
    return any(word in ahead for word in behind if word != one)


def _is_close(told: Told, own: Told, score: int, near: bool) -> bool:
    """Is a statement nearly a caption, with a word or two of its own at most?"""
    if score < 2 or score < ENOUGH * len(told) or score < (NEARLY_ALL if near else ENOUGH) * len(own):
        return False
    strange = [word for word in told if word not in own]
    if strange and not set(own) <= set(told):
        return False  # something stands in the place of something else
    return len(strange) <= max(1, len(told) // 6) and not any(word.isdigit() or word in NUMERALS for word in strange)


def in_order(statement: str, captions: Mapping[str, str]) -> str | None:
    """The caption whose two events come in the statement's order; None where captions do not only swap two events."""
    told = told_parts(statement)
    shown = {option: told_parts(normalise(caption)) for option, caption in captions.items()}
    if len(shown) != 2 or any(len(parts) != 2 for parts in shown.values()):
        return None
    first, second = map(set, next(iter(shown.values())))
    if any(set(parts[0]) <= first for parts in list(shown.values())[1:]):
        return None
    if len(told) > 2:
        return ""
    only = (first - second - PEOPLE, second - first - PEOPLE)
    places = [_event_of(part, only, first) for part in told]
    if -1 in places or places.count(places[0]) > 1 or (len(places) == 1 and not IS_FIRST.search(statement.lower())):
        return ""
    lead = (first, second)[places[0]]
    fits = [option for option, parts in shown.items() if lead.intersection(parts[0]) >= only[places[0]]]
    return fits[0] if len(fits) == 1 else ""


def _event_of(part: Told, only: tuple[set[str], set[str]], first: set[str]) -> int:
    """Which of two events a part of a statement tells; -1 for neither or both."""
    hits = [len(words.intersection(part)) for words in only]
    strange = set(part) - only[0] - only[1] - first - PEOPLE
    return -1 if len(strange) > 1 or min(hits) or hits[0] == hits[1] else int(hits[1] > hits[0])


# --- words -----------------------------------------------------------------------------------------------------------


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for a in one:
        diagonal = 0
        for at, b in enumerate(other, 1):
            above = row[at]
            row[at] = diagonal + 1 if a == b else max(above, row[at - 1])
            diagonal = above
    return row[-1]


def same(one: str, other: str) -> bool:
    """Equal, give or take a letter."""
    if one == other:
        return True
    if min(len(one), len(other)) < 5 or one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    lacks_one = len(short) < len(long) and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    return lacks_one or sorted(one) == sorted(other)
