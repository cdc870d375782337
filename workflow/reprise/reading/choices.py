"""How strongly a clause chooses an option: bare, after a label, after a verb of choosing."""

from collections.abc import Sequence

from reprise.reading import words as w
from reprise.reading.clauses import COPULAS, Clause, has
from reprise.reading.settle import EXPLICIT, FINAL, STATED

# Words that add nothing to the option that they surround.
BARE = frozenset().union(
    w.FILLERS, w.PICKS, w.ANSWERS, w.HEDGES, w.CONCLUDES, w.NOUNS, w.SEGMENTS, w.TURNS, w.GOOD, w.BAD, w.NEGATIONS,
    w.COMPARES, w.CAN, (":", "=", ">", "→", "/", "👉", "+", "-", "#", "&"),
)  # fmt: skip
# What a claim holds besides the option; without it an option at the head of a clause may be only its subject.
CLAIMING = w.PICKS | w.ANSWERS | w.GOOD | w.BAD | w.CONCLUDES | {"is", "be"}
PICKS_OR_IS = w.PICKS | {"is"}
ABOUT = w.words("""
    in, for, with, about, of, under, regarding, per, by, to, from, at, concerning, according to, as, like
""")
LATE_OPENERS = w.words("which, so, therefore, hence, thus, then, →, but, consequently")
OPENERS = LATE_OPENERS | frozenset(("", ",", "-", ":", ";", "(", "yet", "and", "however", "meaning"))
EXPLAINS = w.words("""
    because, since, :, -, (, as, where, given that, while, although, though, considering, ), even though
""")
CONTRASTS = frozenset((",", "while", "although", "though"))
GOES_ON = w.SAYS | w.DEPICTS | {"is", "was", "does", "has"}
NO_LABEL = w.SAYS | w.words("is, has, does, was, or, can, could, would")
OTHER_SPEAKERS = w.words("he, she, they, man, woman, one, people, you, someone, caption")
SPEAKERS = w.words("i, we, would, must, me, my")
LEAVES = w.words("leaves, leaving, leaves us with")


def is_bare(words: Sequence[str]) -> bool:
    """Do the words around an option add nothing to it?"""
    return all(word in BARE or word[0].isdigit() for word in words)


def bare_level(clause: Clause, found: Sequence[Clause], head: Sequence[str], words: Sequence[str], mark: str) -> int:
    """How strongly a clause chooses that is nothing but an option and words that add nothing."""
    whole = clause.is_first and clause.is_last
    claims = has(words, CLAIMING)
    topical = has(head[:1], ABOUT) and not whole and not has(head, PICKS_OR_IS)
    if topical or (clause.opener == "and" and not claims) or clause.opener not in OPENERS:
        return 0
    if claims and has(head, w.FINALS):
        return FINAL
    if whole:
        cut_off = "+" in mark and not claims and not clause.ended
        return EXPLICIT if clause.leads or clause.fills_line else 0 if cut_off else STATED
    following = found[clause.place + 1] if not clause.is_last else None
    if clause.leads and following is not None:
        goes_on = following.opener in (",", "(") and has(following.tokens[:1], GOES_ON)
        if following.opener == ":" and "+" in mark and not claims:
            return STATED  # "First segment: a dog barks."
        return 0 if goes_on and not claims else EXPLICIT
    explained = following is not None and following.opener in EXPLAINS
    if not (claims or clause.is_last or clause.opener in LATE_OPENERS or explained):
        return 0
    subject = clause.is_first and not claims and following is not None and following.opener in CONTRASTS
    return 0 if subject else STATED


def label_level(head: Sequence[str], tail: Sequence[str]) -> int:
    """How strongly an option is named as the answer, as in "the caption that best describes this video is B"."""
    if COPULAS.isdisjoint(head[-3:]) or has(tail[:1], NO_LABEL):
        return 0
    last = max(at for at, word in enumerate(head) if word in COPULAS)
    subject = head[:last]
    if not is_bare(head[last + 1 :]) or not has(subject if len(subject) < 10 else subject[:6], w.ANSWERS):
        return 0
    return FINAL if has(subject, w.FINALS) else EXPLICIT


def is_picked(head: Sequence[str]) -> bool:
    """Does somebody choose what follows: "I would go with"?"""
    for at in range(len(head) - 1, max(len(head) - 5, -1), -1):
        if head[at] in w.PICKS:
            speaker = head[max(0, at - 5) : at]
            chooses = at == 0 or head[at] in LEAVES or has(speaker, SPEAKERS)
            return chooses and not has(speaker, OTHER_SPEAKERS)
        if head[at] not in BARE:
            return False
    return False
