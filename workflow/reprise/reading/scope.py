"""What makes a clause claim nothing: a condition, a first impression, something that cannot be told."""

from collections.abc import Sequence
from dataclasses import dataclass

from reprise.reading import words as w
from reprise.reading.clauses import Clause, has, is_mark

RESETS = w.words("but, so, however, therefore, hence, thus, yet")
ABLE = w.words("no way, can, could, able, possible, unable, way, impossible, difficult, hard")
HARD = w.words("impossible, difficult, hard")
SPEAKERS = w.words("i, we, so")
LOOKS = w.words("ask, look, watch")
IGNORES = w.words("ignore, ignores, disregard, exclude, excludes, overlook, accept, count, discount, forget, neglect")


@dataclass
class Scope:
    """How far a condition or a doubt reaches: to the end of its sentence, or to a word such as "but"."""

    void_sentence: int = -1
    unknown: bool = False  # void because something cannot be told, which a semicolon ends too

    def is_void(self, clause: Clause, found: Sequence[Clause]) -> bool:
        """Does nothing that a clause says count? To be asked of all clauses in their order."""
        tokens = clause.tokens
        resets = clause.opener in RESETS or has(tokens, w.TURNS) or clause.opener == ";"
        resets = resets or (self.unknown and clause.opener in (":", "-"))
        if resets and clause.sentence == self.void_sentence:
            self.void_sentence = -1
        unknown = not_known(tokens)
        if unknown and clause.opener in w.CONCEDES:
            return True  # "although I can not be certain, A"
        if unknown or has(tokens, w.DRAFTS) or conditional(tokens) or _condition_follows(clause, found):
            self.void_sentence, self.unknown = clause.sentence, unknown
        return clause.sentence == self.void_sentence


def _condition_follows(clause: Clause, found: Sequence[Clause]) -> bool:
    """Is this the first clause of "B, if the clip is mirrored"?"""
    if not clause.is_first or clause.is_last or clause.place + 1 >= len(found):
        return False
    following = found[clause.place + 1]
    is_condition = following.tokens[:1] and following.tokens[0] in w.CONDITIONS and conditional(following.tokens)
    return bool(is_condition) and following.opener not in RESETS


def conditional(tokens: Sequence[str]) -> bool:
    """Is this a condition? "If I had to choose" is none."""
    if w.CONDITIONS.isdisjoint(tokens):
        return False
    for at, word in enumerate(tokens):
        if word in w.CONDITIONS:
            following = tokens[at + 1 : at + 3]
            polite = (word == "if" and has(following[:1], SPEAKERS)) or has(following[-1:], LOOKS)
            if not polite or has(tokens[at + 1 : at + 5], IGNORES):
                return True
    return False


def not_known(tokens: Sequence[str]) -> bool:
    """Does a clause say that something cannot be told, or ask which?"""
    if "whether" in tokens:
        return True
    if ABLE.isdisjoint(tokens):
        return False
    able = next(at for at, word in enumerate(tokens) if word in ABLE)
    for at, word in enumerate(tokens[able:], able):
        says_option = word == "say" and at + 1 < len(tokens) and (is_mark(tokens[at + 1]) or tokens[at + 1] == "that")
        if word in w.KNOWS and not says_option:
            return has(tokens[:at], w.NEGATIONS) or has(tokens[:at], HARD)
    return False
